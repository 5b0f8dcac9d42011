"""Small inputs drawn from public reports, each with its right outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from migrator.core.events import IndexPolled
from migrator.core.ports import Busy
from migrator.core.schema import N, Throughput
from migrator.errors import AnswerLost, MigratorError
from migrator.operations import AddIndex, Backfill, CreateTable, DropIndex, UpdateIndex
from migrator.operations.index_spec import Index
from migrator.testing.memory import Call, Crash, CrashAt, Once, raising
from tests.simulation.disturb import NthCall
from tests.simulation.scenarios import exclaim, upper
from tests.simulation.world import TABLE, Effects, Site, chain, migration, person, quick_world, wire

BY_TEAM = AddIndex("by-team", partition_key="team")
BY_NAME = AddIndex("by-name", partition_key="name")
PEOPLE = tuple(person(number) for number in range(8))


def site_of(*operations: Any, **table: Any) -> Site:
    return Site(chain(migration("001", *operations))).with_table(*PEOPLE, **table)


def error_of(call: Callable[[], Any]) -> MigratorError:
    with pytest.raises(MigratorError) as caught:
        call()
    return caught.value


# --- two-indexes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "migrations",
    [
        chain(migration("001", BY_TEAM), migration("002", BY_NAME)),
        chain(migration("001", BY_TEAM, BY_NAME)),
    ],
    ids=["two revisions", "one revision"],
)
def test_two_indexes_are_built_one_after_the_other(migrations: Any) -> None:
    site = Site(migrations).with_table(*PEOPLE)
    standing: list[dict[str, str]] = []

    def note(call: Call) -> None:
        if call.operation == "tables.create_index" and call.moment == "before":
            standing.append(site.indexes)

    effects = Effects(site)
    assert site.runner(effects, note).upgrade(from_base=True).exit_code == 0
    assert standing == [{}, {"by-team": "ACTIVE"}]
    assert effects.accepted == {"tables.create_index by-team": 1, "tables.create_index by-name": 1}


def test_a_refusal_because_another_index_is_in_motion_is_waited_out_with_its_reason() -> None:
    site = site_of(BY_TEAM)
    errors = iter([Busy("Only 1 online index can be created or deleted"), Busy("ResourceInUse")])

    def busy(call: Call) -> None:
        if call.operation == "tables.create_index" and call.moment == "before":
            error = next(errors, None)
            if error is not None:
                raise error

    assert site.runner(busy).upgrade(from_base=True).exit_code == 0
    reasons = [event.reason for event in site.events if hasattr(event, "reason")]
    assert "Only 1 online index can be created or deleted" in reasons
    assert "ResourceInUse" in reasons


def test_a_new_table_with_two_indexes_is_one_request() -> None:
    created = CreateTable("app", partition_key="PK", sort_key="SK", indexes=[BY_TEAM, BY_NAME])
    site = Site(chain(migration("001", created)))
    effects = Effects(site)
    assert site.runner(effects).upgrade().exit_code == 0
    assert effects.accepted == {"tables.create test-app": 1}
    assert site.indexes == {"by-team": "ACTIVE", "by-name": "ACTIVE"}


# --- active-too-soon --------------------------------------------------------------------------------------------------


def test_a_revision_is_applied_only_when_its_index_is_active_listed_and_done_backfilling() -> None:
    site = site_of(BY_TEAM)
    live_at: list[tuple[str, Any]] = []

    def note(call: Call) -> None:
        if call.operation == "records.write" and call.moment == "before":
            for action in call.arguments["actions"]:
                record = getattr(action, "record", None)
                if record is not None and record.body.get("status") == "applied":
                    live = site.world.tables.as_another().describe(TABLE)
                    assert live is not None
                    live_at.append((live.indexes["by-team"].status, live.indexes["by-team"].backfilling))

    site.runner(note).upgrade(from_base=True)
    assert live_at[0] == ("ACTIVE", None)
    polled = [(one.index_status, one.backfilling) for one in site.events if isinstance(one, IndexPolled)]
    assert ("CREATING", False) in polled
    assert ("CREATING", True) in polled
    assert polled[-1] == ("ACTIVE", None)


def test_an_index_that_is_accepted_and_not_listed_yet_is_not_taken_for_ready() -> None:
    site = site_of(BY_TEAM)
    world = site.world

    runner = site.runner()
    tables = runner.session.ports.tables
    describe, late = tables.describe, {"left": 3}

    def eventually(name: str) -> Any:
        live = describe(name)
        if live is not None and "by-team" in live.indexes and late["left"]:
            late["left"] -= 1
            return replace(live, indexes={}, status="ACTIVE")
        return live

    tables.describe = eventually  # type: ignore[method-assign]
    effects = Effects(site)
    runner.session.ports.tables.on_call.append(effects)  # type: ignore[attr-defined]
    assert runner.upgrade(from_base=True).exit_code == 0
    assert late["left"] == 0
    assert effects.accepted["tables.create_index by-team"] == 1
    assert world.tables.as_another().describe(TABLE).indexes["by-team"].status == "ACTIVE"  # type: ignore[union-attr]


def test_a_dropped_index_is_waited_for_until_it_has_vanished() -> None:
    site = site_of(DropIndex("by-team"), indexes=[Index("by-team", partition_key="team")])
    assert site.runner().upgrade(from_base=True, yes=True).exit_code == 0
    assert site.indexes == {}


# --- killed-while-building, no-wait -----------------------------------------------------------------------------------


def test_a_build_that_outlives_its_run_is_adopted_by_the_next_one() -> None:
    site = site_of(BY_TEAM)
    effects = Effects(site)
    with pytest.raises(Crash):
        site.runner(effects, Once("tables.create_index", raising(Crash("killed")), "after")).upgrade(from_base=True)
    assert site.runner().status().state == "building"
    result = site.runner(effects).upgrade(from_base=True)
    assert result.exit_code == 0
    assert effects.accepted == {"tables.create_index by-team": 1}
    assert site.history["001"].objects["index:by-team@app"]["fate"] == "created"


def test_no_wait_ends_with_exit_5_while_the_build_goes_on_and_the_next_run_adopts_it() -> None:
    site = site_of(BY_TEAM)
    result = site.runner().upgrade(from_base=True, no_wait=True)
    assert (result.state, result.exit_code) == ("building", 5)
    assert site.runner().status().state == "building"
    site.world.clock.advance(600)
    assert site.runner().upgrade().state == "applied"


def test_a_wait_timeout_ends_with_exit_5() -> None:
    site = site_of(BY_TEAM)
    assert site.runner().upgrade(from_base=True, wait_timeout=20.0).exit_code == 5


# --- adopt-or-refuse, same-in-another-order, projection-change --------------------------------------------------------


def test_an_index_that_stands_there_as_wanted_is_adopted_without_a_call() -> None:
    site = site_of(BY_TEAM, indexes=[Index("by-team", partition_key="team")])
    effects = Effects(site)
    assert site.runner(effects).upgrade(from_base=True).exit_code == 0
    assert not effects.accepted
    assert site.history["001"].objects["index:by-team@app"]["fate"] == "adopted"


def test_an_index_of_the_same_name_with_another_key_is_refused_field_by_field_before_the_first_write() -> None:
    site = site_of(BY_TEAM, indexes=[Index("by-team", partition_key="name")])
    error = error_of(lambda: site.runner().upgrade(from_base=True))
    assert (error.code, error.exit_code) == ("index-differs", 3)
    assert "name" in error.message
    assert "team" in error.message
    assert site.records == []


def test_an_index_that_is_being_deleted_is_waited_for_and_then_created() -> None:
    site = site_of(BY_TEAM, indexes=[Index("by-team", partition_key="team")])
    site.world.tables.as_another().delete_index(TABLE, "by-team")
    effects = Effects(site)
    assert site.runner(effects).upgrade(from_base=True).exit_code == 0
    assert effects.accepted == {"tables.create_index by-team": 1}
    assert site.indexes == {"by-team": "ACTIVE"}


def test_projected_attributes_in_another_order_or_with_a_key_among_them_are_no_difference() -> None:
    wanted = AddIndex("by-team", partition_key="team", projection=["b", "a", "PK"])
    site = site_of(wanted, indexes=[Index("by-team", partition_key="team", projection=["a", "b"])])
    effects = Effects(site)
    assert site.runner(effects).upgrade(from_base=True).exit_code == 0
    assert not effects.accepted
    assert site.runner().check().exit_code == 0


def test_a_wider_projection_under_the_same_name_is_refused_and_never_passes_with_zero_calls() -> None:
    wanted = AddIndex("by-team", partition_key="team", projection=["a", "b"])
    site = site_of(wanted, indexes=[Index("by-team", partition_key="team", projection=["a"])])
    assert error_of(lambda: site.runner().upgrade(from_base=True)).code == "index-differs"


def test_a_change_of_throughput_alone_is_one_update() -> None:
    site = site_of(UpdateIndex("by-team", on_demand_maximum=(50, 50)), indexes=[Index("by-team", partition_key="team")])
    effects = Effects(site)
    assert site.runner(effects).upgrade(from_base=True).exit_code == 0
    assert effects.accepted == {"tables.update_index by-team": 1}


def test_an_on_demand_maximum_is_lifted_and_comes_back() -> None:
    capped = Index("by-team", partition_key="team", on_demand_maximum=(50, 50))
    site = site_of(UpdateIndex("by-team", on_demand_maximum=(-1, -1)), indexes=[capped])
    assert site.runner().upgrade(from_base=True).exit_code == 0

    def maximum() -> Throughput | None:
        live = site.world.tables.as_another().describe(TABLE)
        assert live is not None
        return live.indexes["by-team"].definition.on_demand_maximum

    assert maximum() is None
    assert site.runner().downgrade("base").exit_code == 0
    assert maximum() == Throughput(50, 50)


# --- unindexable, refused-later ---------------------------------------------------------------------------------------


def _scores() -> Site:
    site = Site(chain(migration("001", AddIndex("by-score", partition_key=N("score"), unindexable="refuse"))))
    site.with_table(
        person(1, score=5), person(2, score="high"), person(3), person(4, score=7), {**person(5), "score": None}
    )
    return site


def test_items_that_could_not_be_indexed_are_named_by_key_and_reason_before_the_first_call() -> None:
    site = _scores()
    effects = Effects(site)
    result = site.runner(effects).upgrade(from_base=True)
    assert result.exit_code == 3
    assert "P#2" in result.blocked_by
    assert "P#5" in result.blocked_by
    assert "P#3" not in result.blocked_by, "an item that merely lacks the attribute is sparse"
    assert "2 items" in result.blocked_by
    assert not effects.accepted
    assert site.history["001"].status == "failed"


def test_after_the_repair_the_same_command_looks_again_and_builds() -> None:
    site = _scores()
    site.runner().upgrade(from_base=True)
    site.update(2, score=9)
    site.put(person(5))
    assert site.runner().upgrade().exit_code == 0
    assert site.indexes == {"by-score": "ACTIVE"}


def test_unindexable_items_may_be_allowed_and_are_then_said() -> None:
    site = _scores()
    site.migrations = chain(migration("001", AddIndex("by-score", partition_key=N("score"), unindexable="allow")))
    assert site.runner().upgrade(from_base=True).exit_code == 0
    assert any("2 items" in str(getattr(event, "message", "")) for event in site.events)


@pytest.mark.parametrize(("value", "is_bad"), [("", True), ("x" * 2049, True), ("x" * 2048, False)])
def test_an_empty_or_too_long_partition_key_is_unindexable(value: str, is_bad: bool) -> None:
    site = Site(chain(migration("001", AddIndex("by-email", partition_key="email")))).with_table(person(1, email=value))
    assert (site.runner().upgrade(from_base=True).exit_code == 3) is is_bad


def blank_owner(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"owner": item["owner"] or None} if "owner" in item else {}


def test_a_transform_that_returns_none_removes_the_attribute_so_that_the_index_can_be_built() -> None:
    operations = (Backfill(transform=blank_owner), AddIndex("by-owner", partition_key="owner"))
    people = [person(n, owner=("" if n % 2 else "ann")) for n in range(10)]
    site = Site(chain(migration("001", *operations))).with_table(*people)
    assert site.runner().upgrade(from_base=True).exit_code == 0
    assert [item.get("owner") for item in site.items] == ["ann", None] * 5


def test_plan_says_that_writers_of_such_values_will_be_refused() -> None:
    site = _scores()
    plan = site.runner().plan()
    assert any("refuses every write" in note for note in plan.revisions[0].notes)


# --- empty-page -------------------------------------------------------------------------------------------------------


def test_pages_without_a_match_and_pages_without_an_item_are_read_on() -> None:
    big = "x" * 90_000
    people = [person(n, big=big, kind=("last" if n == 29 else "other")) for n in range(30)]
    site = Site(
        chain(migration("001", Backfill(where={"kind": "last"}, set={"found": "yes"}))),
        world=quick_world(page_bytes=1_048_576),
    ).with_table(*people)
    assert site.runner().upgrade(from_base=True).exit_code == 0
    assert [item["PK"] for item in site.items if "found" in item] == ["P#29"]
    assert site.history["001"].counts.scanned == 30


# --- older-id ---------------------------------------------------------------------------------------------------------


def _chain_of_four() -> Site:
    steps = [migration(f"00{n}", Backfill(set={f"a{n}": "x"})) for n in range(1, 5)]
    site = Site(chain(*steps)).with_table(*PEOPLE)
    # 003 was written first, on top of 001; 002 came in between from another branch.
    early = chain(steps[0], steps[2])
    assert site.runner(migrations=early).upgrade(from_base=True).exit_code == 0
    return site


def test_an_unapplied_ancestor_of_an_applied_revision_is_refused_and_named() -> None:
    site = _chain_of_four()
    error = error_of(lambda: site.runner().upgrade())
    assert (error.code, error.exit_code) == ("out-of-order", 3)
    assert "002" in error.message
    assert set(site.history) == {"001", "003"}, "004 does not slip past"
    assert [one.status for one in site.runner().status().revisions] == ["applied", "out-of-order", "applied", "pending"]


def test_an_older_id_runs_when_it_is_allowed() -> None:
    site = _chain_of_four()
    assert site.runner().upgrade(allow_out_of_order=True).exit_code == 0
    assert {entry.status for entry in site.history.values()} == {"applied"}
    assert set(site.history) == {"001", "002", "003", "004"}


def test_two_heads_are_refused_by_name_and_a_merge_is_not_out_of_order() -> None:
    one = migration("001", Backfill(set={"a": "x"}))
    left = migration("002", Backfill(set={"b": "x"}), after=["001"])
    right = migration("003", Backfill(set={"c": "x"}), after=["001"])
    site = Site((one, left, right)).with_table(*PEOPLE)
    error = error_of(lambda: site.runner().upgrade(from_base=True))
    assert (error.code, error.exit_code) == ("multiple-heads", 2)
    site.runner(migrations=(one, right)).upgrade(from_base=True)
    site.migrations = (one, left, right, migration("004", after=["002", "003"]))
    assert site.runner().upgrade().exit_code == 0
    assert {entry.status for entry in site.history.values()} == {"applied"}


# --- half-done, orphan-lock -------------------------------------------------------------------------------------------


def test_a_run_that_died_between_started_and_the_first_write_is_finished_by_the_next() -> None:
    site = site_of(Backfill(set={"label": "L#{name}"}))
    with pytest.raises(Crash):
        site.runner(Once("items.scan", raising(Crash("killed")))).upgrade(from_base=True)
    assert site.history["001"].status == "started"
    assert site.runner().status().state == "started"
    assert site.runner().upgrade().state == "applied"


def test_a_run_that_died_between_the_last_write_and_the_record_is_finished_without_a_second_effect() -> None:
    site = site_of(Backfill(transform=exclaim, once=True))
    effects = Effects(site)

    def die(call: Call) -> None:
        for action in call.arguments.get("actions", ()):
            if (
                call.moment == "before"
                and getattr(getattr(action, "record", None), "body", {}).get("status") == "applied"
            ):
                raise Crash("killed")

    with pytest.raises(Crash):
        site.runner(effects, die).upgrade(from_base=True)
    assert site.runner(effects).upgrade().state == "applied"
    assert effects.most_changed == 1
    assert effects.applied == {"001": 1}


def test_a_failed_step_stays_visible_with_its_error_and_the_command_that_resumes_it() -> None:
    site = _scores()
    site.runner().upgrade(from_base=True)
    status = site.runner().status()
    assert (status.state, status.next) == ("failed", "migrator upgrade")
    assert "could not be indexed" in status.blocked_by


def test_the_lock_of_a_dead_run_is_shown_and_taken_over_after_a_lease_of_silence() -> None:
    site = site_of(Backfill(set={"label": "L#{name}"}))
    with pytest.raises(Crash):
        site.runner(CrashAt(150), name="dead").upgrade(from_base=True)
    shown = site.runner().lock_show(12.0)
    assert shown.state == "held"
    assert (shown.lock.name, shown.lock.host, shown.lock.lease_seconds) == ("dead", "host", 60.0)
    assert shown.lock.silent_seconds == pytest.approx(12.0, abs=1.0)
    before = site.world.clock.true_seconds
    assert site.runner().upgrade().state == "applied"
    assert 59.9 <= site.world.clock.true_seconds - before <= 80


def test_a_crash_right_after_the_lock_leaves_a_new_table_that_needs_no_from_base() -> None:
    """The table that the run created holds nothing but its control records: it is nobody else's."""
    created = CreateTable("app", partition_key="PK", sort_key="SK")
    site = Site(chain(migration("001", created)))
    world = site.world
    with pytest.raises(Crash):
        site.runner(Once("records.write", raising(Crash("killed")), "after")).upgrade()
    # In memory control records stand apart; a table of the service's shows them to every scan.
    world.items.put(TABLE, wire({"PK": "__migrator__lock", "SK": "lock"}), wire({"PK": "__migrator__beat", "SK": "b"}))
    assert site.runner().upgrade().state == "applied"
    other = Site(chain(migration("001", created))).with_table(person(1))
    assert error_of(lambda: other.runner().upgrade()).code == "no-history"


# --- edited-midway, old-writer, adopted -------------------------------------------------------------------------------


def _killed_midway(operation: Any) -> Site:
    site = Site(chain(migration("001", operation))).with_table(*PEOPLE)
    with pytest.raises(Crash):
        site.runner(NthCall(5, Crash("killed"), "after", ("items.write", "items.transact"))).upgrade(from_base=True)  # type: ignore[arg-type]
    return site


def test_an_idempotent_step_that_was_edited_midway_starts_from_its_beginning() -> None:
    site = _killed_midway(Backfill(set={"label": "L#{name}"}))
    site.migrations = chain(migration("001", Backfill(set={"label": "M#{name}"}), content="2"))
    assert site.runner().upgrade().state == "applied"
    assert [item["label"] for item in site.items] == [f"M#n{n}" for n in range(8)]


def test_a_once_step_that_was_edited_midway_is_refused() -> None:
    site = _killed_midway(Backfill(transform=exclaim, once=True))
    before = site.items
    site.migrations = chain(migration("001", Backfill(transform=exclaim, once=True), content="2"))
    result = site.runner().upgrade()
    assert result.exit_code == 3
    assert "[edited-midway]" in result.outcomes[-1].error
    assert site.items == before


def test_after_an_edit_midway_a_rollback_does_not_take_away_what_may_have_been_there_before() -> None:
    site = Site(chain(migration("001", Backfill(set={"label": "L#{name}"})))).with_table(
        *(person(n, other=f"O#n{n}") for n in range(8))
    )
    with pytest.raises(Crash):
        site.runner(NthCall(5, Crash("killed"), "after", ("items.write",))).upgrade(from_base=True)  # type: ignore[arg-type]
    step = Backfill(set={"other": "O#{name}", "late": "{nick}"})
    site.migrations = chain(migration("001", step, content="2"))
    assert site.runner().upgrade().exit_code == 6
    result = site.runner().rollback("001")
    assert result.exit_code == 1
    assert "not-undoable" in result.outcomes[-1].error
    assert [item["other"] for item in site.items] == [f"O#n{n}" for n in range(8)]


def test_items_that_an_old_writer_adds_behind_the_scan_keep_the_revision_incomplete_with_their_keys() -> None:
    site = site_of(Backfill(set={"label": "L#{name}"}))
    late = iter(range(100, 200))

    def old_writer(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "after":
            site.put(person(next(late)))

    result = site.runner(old_writer).upgrade(from_base=True)
    assert (result.state, result.exit_code) == ("incomplete", 6)
    assert any("P#10" in example for example in result.outcomes[-1].examples)
    assert "old" in result.next or "writer" in result.next
    assert site.history["001"].status == "incomplete"
    assert site.runner().upgrade().state == "applied"
    assert all("label" in item for item in site.items)


def test_check_none_applies_without_a_second_look_and_says_so() -> None:
    site = site_of(Backfill(set={"label": "L#{name}"}, check="none"))
    result = site.runner().upgrade(from_base=True)
    assert result.exit_code == 0
    assert "not checked" in site.history["001"].steps["0.apply.0"]["outcome"]


def test_an_adopted_index_stays_through_a_downgrade_unless_it_is_to_be_dropped() -> None:
    for drop, left in ((False, {"by-team": "ACTIVE"}), (True, {})):
        site = site_of(BY_TEAM, indexes=[Index("by-team", partition_key="team")])
        site.runner().upgrade(from_base=True)
        assert site.runner().downgrade("base", drop_adopted=drop).exit_code == 0
        assert site.indexes == left


# --- lost-answer, kill-anywhere ---------------------------------------------------------------------------------------


def test_a_lock_whose_answer_was_lost_is_this_runs_own() -> None:
    site = site_of(Backfill(set={"label": "L#{name}"}))
    before = site.world.clock.true_seconds
    result = site.runner(NthCall(0, AnswerLost("no answer"), "after", ("records.write",))).upgrade(from_base=True)
    assert result.exit_code == 0
    assert site.world.clock.true_seconds - before < 30, "it did not wait for itself"


def test_killed_at_twenty_moments_a_run_over_many_items_goes_on_near_where_it_stopped() -> None:
    site = Site(chain(migration("001", Backfill(transform=upper))), world=quick_world(page_bytes=4000)).with_table(
        *(person(number) for number in range(600))
    )
    site.limits = replace(site.limits, segments=4)
    effects = Effects(site)

    class Slow:
        """Pages take a second, so that checkpoints are saved."""

        def __call__(self, call: Call) -> None:
            if call.operation == "items.scan":
                site.world.clock.advance(1.0)

    for kill in range(20):
        with pytest.raises(Crash):
            site.runner(effects, Slow(), CrashAt(110 + 13 * kill)).upgrade(from_base=True)
    assert site.runner(effects).upgrade(from_base=True).state == "applied"
    assert effects.most_changed == 1
    assert len(effects.changed) == 600
    assert all(item["upper"] == item["name"].upper() for item in site.items)
    assert site.history["001"].counts.scanned == 600


# --- awkward names, control records -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["State", "Date", "State#Date", "GSI1-PK", "_x", "a b", "a.b", "ümlaut", "size"])
def test_awkward_names_are_targets_conditions_and_top_level_attributes(name: str) -> None:
    site = Site(chain(migration("001", Backfill(where={name: "old"}, set={name: "new"}))))
    site.with_table(person(1, **{name: "old"}), person(2, **{name: "other"}))
    assert site.runner().upgrade(from_base=True).exit_code == 0
    assert [item[name] for item in site.items] == ["new", "other"]


def test_control_records_that_stand_in_the_table_are_neither_changed_nor_counted() -> None:
    site = site_of(Backfill(set={"label": "fix"}))
    record = {"PK": "__migrator__history", "SK": "001"}
    site.put(record)
    assert site.runner().upgrade(from_base=True).exit_code == 0
    assert record in site.items
    assert site.history["001"].counts.scanned == 8
