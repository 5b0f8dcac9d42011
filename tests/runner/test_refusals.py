"""What must hold before a run may write: each refusal has its code, its exit and leaves everything as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from migrator.config import ControlConfig
from migrator.core.ports import Replica
from migrator.core.schema import KeyAttribute, Table
from migrator.errors import MigratorError
from migrator.operations import (
    AddIndex,
    Backfill,
    DeleteItems,
    PutItems,
    RenameAttribute,
    RunPython,
    SetTimeToLive,
)
from migrator.runner.runner import Runner
from tests.simulation.world import TABLE, Site, chain, migration, person

PEOPLE = tuple(person(number) for number in range(4))
FIRST = migration("001", Backfill(set={"first": "x"}))
SECOND = migration("002", Backfill(set={"second": "x"}))


def applied(*migrations: Any) -> Site:
    site = Site(chain(*migrations)).with_table(*PEOPLE)
    site.runner().upgrade(from_base=True)
    return site


def refused(site: Site, call: Callable[[Runner], Any], code: str, exit_code: int = 1) -> MigratorError:
    before = site.standing()
    with pytest.raises(MigratorError) as caught:
        call(site.runner())
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert caught.value.hint, "what to type next"
    assert site.standing() == before
    return caught.value


def test_a_table_without_history_is_refused_and_both_ways_are_named() -> None:
    site = Site(chain(FIRST)).with_table(*PEOPLE)
    error = refused(site, lambda runner: runner.upgrade(), "no-history")
    assert "stamp" in str(error.hint)
    assert "--from-base" in str(error.hint)
    assert site.runner().status().state == "no-history"


def test_an_edited_applied_file_is_refused_until_it_is_accepted() -> None:
    site = applied(FIRST)
    site.migrations = chain(migration("001", Backfill(set={"first": "y"}), content="2"), SECOND)
    for call in (
        lambda runner: runner.upgrade(),
        lambda runner: runner.downgrade("base"),
        lambda runner: runner.rollback("001"),
    ):
        error = refused(site, call, "checksum-mismatch", 3)
        assert "001" in error.message
    assert site.runner().check().exit_code == 3
    status = site.runner().status()
    assert ("001" in status.blocked_by, status.next) == (True, "migrator check"), "status tells as well"
    plan = site.runner().plan()
    assert (plan.state, plan.exit_code) == ("refused", 3), "as the upgrade"
    assert "checksum-mismatch" in plan.blocked_by
    nothing_more = site.runner().plan("001")
    assert (nothing_more.revisions, nothing_more.exit_code) == ((), 3), "nor where nothing is pending"
    assert site.runner().repair(checksum="001").state == "repaired"
    assert "accepted" in site.history["001"].notes[0]
    assert site.runner().upgrade().state == "applied"


def test_a_history_with_revisions_that_no_file_has_is_not_written_by_an_older_checkout() -> None:
    site = applied(FIRST, SECOND)
    site.migrations = chain(FIRST)
    error = refused(site, lambda runner: runner.upgrade(), "missing-file", 3)
    assert "002" in error.message
    assert [one.status for one in site.runner().status().revisions] == ["applied", "missing-file"]
    assert "missing-file" in {finding.rule for finding in site.runner().check().findings}


@pytest.mark.parametrize(
    "call",
    [
        lambda runner: runner.upgrade(),
        lambda runner: runner.plan(),
        lambda runner: runner.downgrade("base"),
        lambda runner: runner.rollback("001"),
        lambda runner: runner.contract("001", yes=True),
        lambda runner: runner.stamp("head"),
        lambda runner: runner.repair(checksum="001"),
        lambda runner: runner.repair(drift=True),
        lambda runner: runner.failed_retry(),
        lambda runner: runner.failed_skip("001", [], "archived"),
    ],
)
def test_a_restored_table_stops_every_command_that_writes(call: Callable[[Runner], Any]) -> None:
    site = applied(FIRST, migration("002", Backfill(set={"x": "{nick}"})))
    assert site.history["002"].status == "incomplete"
    site.world.tables.alter(TABLE, table_id="another")
    refused(site, call, "restored-table")


def test_a_restored_table_can_still_be_looked_at_and_be_accepted() -> None:
    site = applied(FIRST)
    site.world.tables.alter(TABLE, table_id="another")
    assert site.runner().status().revisions[0].status == "applied"
    assert site.runner().check().exit_code == 3
    assert site.runner().repair(restored=True).state == "repaired"
    assert site.runner().upgrade().state == "up-to-date"


def test_a_revision_at_its_gate_stands_before_what_builds_on_it() -> None:
    site = Site(chain(migration("001", RenameAttribute("name", "title")), SECOND)).with_table(*PEOPLE)
    result = site.runner().upgrade(from_base=True)
    assert (result.state, result.exit_code) == ("at-gate", 9)
    assert "contract 001" in result.next
    refused(site, lambda runner: runner.upgrade(), "at-gate", 9)
    refused(site, lambda runner: runner.downgrade("base"), "not-applied")
    refused(site, lambda runner: runner.contract("001"), "needs-yes", 2)
    assert site.runner().contract("001", yes=True).state == "applied"
    assert site.runner().upgrade().state == "applied"


def test_a_gate_may_be_allowed_and_is_then_exit_0() -> None:
    site = Site(chain(migration("001", RenameAttribute("name", "title")))).with_table(*PEOPLE)
    assert site.runner().upgrade(from_base=True, allow_gate=True).exit_code == 0
    assert site.runner().upgrade(allow_gate=True).exit_code == 0
    assert site.runner().upgrade().exit_code == 9


def test_past_the_gate_there_is_no_way_back() -> None:
    site = Site(chain(migration("001", RenameAttribute("name", "title")))).with_table(*PEOPLE)
    site.runner().upgrade(from_base=True)
    site.runner().contract("001", yes=True)
    refused(site, lambda runner: runner.downgrade("base"), "irreversible")


def test_rollback_and_downgrade_each_refuse_the_others_case_and_name_it() -> None:
    site = applied(FIRST)
    assert "downgrade" in str(refused(site, lambda runner: runner.rollback("001"), "is-applied").hint)
    refused(site, lambda runner: runner.rollback(None), "nothing-to-roll-back")
    site.migrations = chain(FIRST, migration("002", Backfill(set={"x": "{nick}"})))
    assert site.runner().upgrade().exit_code == 6
    assert "rollback 002" in str(refused(site, lambda runner: runner.downgrade("base"), "not-applied").hint)
    assert site.runner().rollback("002").state == "rolled-back"
    refused(site, lambda runner: runner.rollback("002"), "nothing-to-roll-back")


def test_a_way_back_that_was_interrupted_is_finished_before_anything_else() -> None:
    site = applied(FIRST, SECOND)
    runner = site.runner(lambda call: runner.stop(15) if call.operation == "items.write" else None)
    assert runner.downgrade("001").exit_code == 143
    error = refused(site, lambda runner: runner.upgrade(), "unfinished-revision")
    assert "rollback 002" in str(error.hint)
    assert site.runner().downgrade("001").state == "downgraded"
    assert site.items == [{**one, "first": "x"} for one in PEOPLE]


def test_a_downgrade_to_where_the_table_is_does_nothing() -> None:
    site = applied(FIRST)
    before = site.records
    assert site.runner().downgrade("001").state == "up-to-date"
    assert site.records == before


def test_an_irreversible_revision_is_refused_before_the_first_write() -> None:
    site = applied(migration("001", Backfill(set={"first": "x"}, undo="none")))
    refused(site, lambda runner: runner.downgrade("base"), "irreversible")


def test_expect_one_refuses_a_release_of_two() -> None:
    site = Site(chain(FIRST, SECOND)).with_table(*PEOPLE)
    refused(site, lambda runner: runner.upgrade(from_base=True, expect_one=True), "expected-one", 2)
    assert site.runner().upgrade("+1", from_base=True, expect_one=True).exit_code == 0


def test_a_lint_error_stops_before_the_first_write() -> None:
    site = Site(chain(migration("001", Backfill(set={"PK": "new"})))).with_table(*PEOPLE)
    refused(site, lambda runner: runner.upgrade(from_base=True), "table-key", 3)
    assert site.runner().plan().state == "refused"


@pytest.mark.parametrize(
    ("shape", "stream"),
    [
        (Table("app", KeyAttribute("PK")), None),
        (Table("app", KeyAttribute("PK"), KeyAttribute("SK", "N")), None),
        (Table("app", KeyAttribute("PK", "B"), KeyAttribute("SK")), None),
        (Table("app", KeyAttribute("PK"), KeyAttribute("SK")), "NEW_IMAGE"),
    ],
    ids=["partition key only", "number", "binary", "stream"],
)
def test_a_table_that_cannot_hold_control_records_asks_for_a_control_table(shape: Table, stream: str | None) -> None:
    site = Site(chain(migration("001", SetTimeToLive("expires"))))
    site.world.tables.add(TABLE, shape)
    site.world.tables.alter(TABLE, stream=stream)
    error = None
    with pytest.raises(MigratorError) as caught:
        site.runner().upgrade(from_base=True)
    error = caught.value
    assert (error.code, error.exit_code) == ("control-table-needed", 2)
    assert f'[control] name = "{TABLE}-migrator"' in (error.hint or "")
    site.control = ControlConfig(name="test-migrator")
    assert site.runner().upgrade(from_base=True).state == "applied"
    assert site.world.tables.as_another().describe("test-migrator") is not None


def test_a_table_that_is_not_there_and_that_no_file_creates_is_named() -> None:
    site = Site(chain(migration("001", AddIndex("by-team", partition_key="team"))))
    with pytest.raises(MigratorError) as caught:
        site.runner().upgrade()
    assert caught.value.code == "table-missing"
    assert TABLE in caught.value.message


def by_lookup(item: Any, lookup: Any) -> dict[str, Any]:
    return {"first": "x"}


def by_guarded_writes(table: Any) -> None:
    table.update({"PK": "P#0", "SK": "person"}, expected={"first": None}, set={"first": "x"})


IN_ANOTHER_REGION = (Replica("eu-central-1", "ACTIVE"),)


@pytest.mark.parametrize(
    "operation",
    [
        PutItems([{"PK": "P#9", "SK": "person"}]),
        DeleteItems(where={"name": "n0"}),
        Backfill(set={"first": "x"}, undo="journal"),
        Backfill(set={"first": "x"}, once=True),
        Backfill(transform=by_lookup, undo="none"),
    ],
    ids=["put", "delete", "journal", "once", "lookup"],
)
def test_a_step_that_needs_transactions_is_refused_where_no_single_region_decides(operation: Any) -> None:
    site = Site(chain(migration("001", operation)), control=ControlConfig(name="test-migrator")).with_table(*PEOPLE)
    site.world.tables.alter(TABLE, replicas=IN_ANOTHER_REGION)
    refused(site, lambda runner: runner.upgrade(from_base=True, yes=True), "several-writer-regions", 3)
    site.world.tables.alter(TABLE, multi_region_consistency="STRONG")
    refused(site, lambda runner: runner.upgrade(from_base=True, yes=True), "no-transactions", 3)
    assert "[no-transactions]" in site.runner().plan(from_base=True).blocked_by


@pytest.mark.parametrize("operation", [Backfill(set={"first": "x"}), RunPython(by_guarded_writes)])
def test_single_guarded_writes_do_on_a_global_table(operation: Any) -> None:
    site = Site(chain(migration("001", operation)), control=ControlConfig(name="test-migrator")).with_table(*PEOPLE)
    site.world.tables.alter(TABLE, replicas=IN_ANOTHER_REGION, multi_region_consistency="STRONG")
    assert site.runner().upgrade(from_base=True).state == "applied"
