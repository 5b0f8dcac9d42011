"""What a plan says of items, step by step, on tables in memory; and that an upgrade does just that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from migrator import Exists
from migrator.cli.render.amounts import UNKNOWN
from migrator.cli.render.estimate import totals
from migrator.config import ControlConfig, Limits, Units
from migrator.core.schema import Index, KeyAttribute, Throughput
from migrator.core.settings import Stream
from migrator.operations import (
    AddIndex,
    Backfill,
    DeleteItems,
    PutItems,
    RenameAttribute,
    RunPython,
    SetStream,
)
from migrator.runner.estimates.figures import StepEstimate
from migrator.runner.results import PlanResult
from migrator.testing.memory import Call
from tests.simulation.world import TABLE, Site, chain, migration, person

PEOPLE = tuple(person(number) for number in range(40))


def site(*operations: Any, items: Any = PEOPLE, **options: Any) -> Site:
    return Site(chain(migration("001", *operations))).with_table(*items, **options)


def plan(here: Site, **options: Any) -> PlanResult:
    return here.runner().plan(**{"from_base": True, "full": True, **options})


def steps(result: PlanResult) -> list[StepEstimate]:
    found = [step.estimate for one in result.revisions for step in one.all_steps]
    assert all(found)
    return [one for one in found if one is not None]


def rules(result: PlanResult) -> list[str]:
    return [finding.rule for one in result.revisions for finding in one.findings]


def nothing(_table: Any) -> None:
    """Does nothing, and no plan can know."""


def initials(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"initial": item["name"][0], "boss": item["missing"] if item["PK"] == "P#7" else "b"}


# --- items ------------------------------------------------------------------------------------------------------------


def test_items_are_counted_by_what_will_come_of_them() -> None:
    items = [*PEOPLE[:10], *(person(n, label="L#t1", team="t1") for n in range(10, 14)), person(20, team=None)]
    items = [{k: v for k, v in item.items() if v is not None} for item in items]
    here = site(Backfill(where={"SK": "person"}, set={"label": "L#{team}"}, missing="skip"), items=items)
    (one,) = steps(plan(here))
    assert one.items is not None
    shown = [
        getattr(one.items, name).value for name in ("scanned", "matched", "changed", "unchanged", "skipped", "failed")
    ]
    assert shown == [15, 15, 10, 4, 1, 0]
    outcome = here.runner().upgrade(from_base=True).outcomes[0]
    assert (outcome.counts.written, outcome.counts.unchanged, outcome.counts.skipped) == (10, 4, 1)


def test_items_that_would_fail_are_counted_by_reason_with_the_key_of_one() -> None:
    (one,) = steps(result := plan(site(Backfill(transform=initials))))
    (failure,) = one.failures
    assert (failure.code, failure.seen, failure.key) == ("transform-error", 1, 'PK="P#7" SK="person"')
    assert rules(result) == ["items-would-fail"]


def test_a_step_is_judged_on_items_as_the_steps_before_it_leave_them() -> None:
    here = site(
        Backfill(set={"label": "L#{name}"}),
        Backfill(where={"label": Exists()}, set={"copy": "{label}!"}),
        AddIndex("by-copy", partition_key="copy"),
    )
    first, second, index = steps(plan(here))
    assert [one.items.changed.value for one in (first, second) if one.items] == [40, 40]
    assert index.index is not None
    assert index.index.entries.value == 40


def test_items_that_a_revision_brings_and_takes_away_pass_through_the_steps_after_it() -> None:
    here = site(
        PutItems({"PK": "P#new", "SK": "person", "name": "n", "team": "t9"}),
        DeleteItems(where={"team": "t0"}),
        AddIndex("by-team", partition_key="team"),
    )
    put, delete, index = steps(plan(here))
    assert put.items is not None
    assert delete.items is not None
    assert index.index is not None
    gone = sum(item["team"] == "t0" for item in PEOPLE)
    assert (put.items.changed.value, delete.items.changed.value) == (1, gone)
    assert index.index.entries.value == 41 - gone


def test_a_put_over_another_item_is_foretold_as_failing() -> None:
    (one,) = steps(plan(site(PutItems({"PK": "P#1", "SK": "person", "name": "someone else"}))))
    assert [(failure.code, failure.seen) for failure in one.failures] == [("item-exists", 1)]


def test_what_contract_will_do_is_shown_and_estimated_too() -> None:
    result = plan(site(RenameAttribute("team", "squad")))
    (revision,) = result.revisions
    assert [step.id for step in revision.all_steps] == ["0.apply.0", "0.complete.0"]
    before, after = steps(result)
    assert [one.items.changed.value for one in (before, after) if one.items] == [40, 40]
    sample = revision.stages[0].steps[0].samples[0]
    assert (sample["before"].keys(), sample["after"]) == ({"team"}, {})


def test_what_a_function_of_yours_does_is_said_to_be_unknown_and_nothing_is_foretold_after_it() -> None:
    result = plan(site(RunPython(nothing), Backfill(transform=initials)))
    first, _ = steps(result)
    assert first.items is None
    assert any("what the function reads and writes" in line for line in result.unknown)
    assert "items-would-fail" not in rules(result)
    assert result.data_findings == {}
    assert result.estimate is not None
    # Not free, as where capacity is provisioned: nobody knows.
    assert dict(totals(result.estimate))["cost"] == UNKNOWN


# --- indexes ----------------------------------------------------------------------------------------------------------


def test_values_that_cannot_be_keys_are_told_from_items_that_merely_lack_them() -> None:
    items = [*PEOPLE[:5], person(5, owner="ada"), person(6, owner=None), person(7, owner=7), person(8, owner="")]
    result = plan(site(AddIndex("by-owner", partition_key="owner"), items=items))
    (one,) = steps(result)
    assert one.index is not None
    assert (one.index.entries.value, one.index.sparse.value, one.index.unindexable.value) == (1, 5, 3)
    assert {(p.code, p.attribute, p.seen) for p in one.index.problems} == {
        ("index-key-null", "owner", 1),
        ("index-key-type", "owner", 1),
        ("index-key-empty", "owner", 1),
    }
    assert rules(result) == ["items-not-indexable"]


def test_writers_are_told_what_they_may_no_longer_store_unless_another_index_forbids_it_already() -> None:
    here = site(
        AddIndex("by-owner", partition_key="owner", sort_key="team"),
        items=[person(1, owner=None), person(2, owner="ada")],
        indexes=[Index("by-team", (KeyAttribute("team"),))],
    )
    (one,) = steps(plan(here))
    assert one.index is not None
    assert one.index.constraints == (
        "owner must be a string of 1 to 2048 bytes, or absent; among the items read: 1 null",
    )


def test_an_index_that_stands_there_is_adopted_and_costs_nothing() -> None:
    here = site(AddIndex("by-team", partition_key="team"), indexes=[Index("by-team", (KeyAttribute("team"),))])
    (one,) = steps(plan(here))
    assert (one.index, one.writes, one.reads) == (None, (), ())
    assert "adopted" in one.unknown[0]


def test_each_index_has_its_own_write_amplification() -> None:
    by_name = Index("by-name", (KeyAttribute("name"),))
    by_label = Index("by-label", (KeyAttribute("label"),))
    here = site(Backfill(set={"label": "L#{team}", "team": "x"}, once=True, undo="none"), indexes=[by_name, by_label])
    (one,) = steps(plan(here))
    assert {part.resource: (part.units.value, part.amplification) for part in one.writes} == {
        # A transaction doubles the table's units, not those of an index.
        TABLE: (80, None),
        f"{TABLE}/by-name": (40, 0.5),
        f"{TABLE}/by-label": (40, 0.5),
    }


# --- hot keys ---------------------------------------------------------------------------------------------------------


def test_a_key_that_one_partition_could_not_take_is_named_with_the_rate_that_is_safe() -> None:
    items = [person(n, team="all" if n % 5 else f"t{n}") for n in range(100)]
    result = plan(site(AddIndex("by-team", partition_key="team"), items=items))
    (spread,) = steps(result)[0].keys
    assert (spread.top[0].key, spread.hottest_share, spread.distinct) == ("team=all", 0.8, 21)
    assert (spread.rate, spread.hottest_rate, spread.is_hot, spread.safe_rate) == (4_000, 3_200, True, 1_250)
    assert [(one.least, one.most, one.keys) for one in spread.histogram] == [(1, 1, 20), (2, 9, 0), (10, 99, 1)]
    assert rules(result) == ["hot-key"]


def test_a_small_budget_makes_no_key_hot() -> None:
    items = [person(n, team="all") for n in range(30)]
    here = site(Backfill(set={"club": "{team}"}), items=items, indexes=[Index("by-club", (KeyAttribute("club"),))])
    here.limits = replace(here.limits, write_units=Units(900))
    (spread,) = steps(result := plan(here))[0].keys
    assert (spread.hottest_share, spread.rate, spread.is_hot) == (1.0, 900, False)
    assert rules(result) == []


def test_of_a_handful_of_entries_none_is_called_hot() -> None:
    (spread,) = steps(plan(site(AddIndex("by-team", partition_key="team"), items=PEOPLE[:3])))[0].keys
    assert not spread.is_hot


# --- streams, time, money ---------------------------------------------------------------------------------------------


def test_stream_records_are_counted_where_consumers_will_see_them() -> None:
    assert steps(plan(site(Backfill(set={"a": "x"}))))[0].stream_records is None
    here = site(Backfill(set={"a": "x"}), settings=[Stream("NEW_IMAGE")])
    here.control = ControlConfig(allow_stream=True)
    seen = steps(plan(here))[0].stream_records
    assert seen is not None
    assert seen.value == 40
    later = steps(plan(site(Backfill(set={"a": "x"}), SetStream("NEW_IMAGE"), Backfill(set={"b": "x"}))))
    assert [one.stream_records and one.stream_records.value for one in later] == [None, None, 40]


def test_the_budget_sets_the_time_and_a_job_that_is_too_short_is_told() -> None:
    here = site(Backfill(set={"a": "x"}))
    here.limits = Limits(workers=1, segments=2, write_units=Units(2), read_units=Units(1000))
    result = plan(here, job_limit=10.0)
    (one,) = steps(result)
    assert one.duration is not None
    assert (one.duration.seconds.value, one.duration.bound_by) == (20.0, "the write budget")
    assert result.estimate is not None
    assert result.estimate.limit is not None
    assert result.estimate.limit.exceeded
    longer = plan(here, job_limit=30.0).estimate
    assert longer is not None
    assert longer.limit is not None
    assert not longer.limit.exceeded


def test_an_index_build_takes_minutes_and_more_than_a_short_wait() -> None:
    here = site(AddIndex("by-team", partition_key="team"))
    here.limits = replace(here.limits, wait_timeout=300.0)
    whole = plan(here).estimate
    assert whole is not None
    limit = whole.limit
    assert limit is not None
    assert (limit.source, limit.exceeded) == ("wait_timeout", True)
    assert "exit code 5" in limit.advice


def test_provisioned_capacity_costs_nothing_on_top_and_sets_the_pace() -> None:
    here = site(Backfill(set={"a": "x"}))
    live = here.world.tables.as_another().describe(TABLE)
    assert live is not None
    shape = replace(live.shape, billing_mode="PROVISIONED", provisioned=Throughput(100, 1))
    here.world.tables.alter(TABLE, shape=shape)
    (one,) = steps(result := plan(here))
    assert one.duration is not None
    assert (one.duration.seconds.value, one.duration.bound_by) == (40.0, "provisioned capacity")
    assert (one.cost, result.estimate and result.estimate.cost) == (None, None)


def test_prices_are_named_with_their_region_and_date() -> None:
    whole = plan(site(AddIndex("by-team", partition_key="team"))).estimate
    assert whole is not None
    assert whole.prices is not None
    assert (whole.prices.region, whole.prices.currency) == ("us-east-1", "USD")
    assert "no prices of eu-west-1" in whole.prices.note
    assert whole.cost is not None
    assert whole.cost.value is not None
    assert whole.cost.value > 0


# --- samples ----------------------------------------------------------------------------------------------------------


def test_a_sample_is_scaled_to_the_table_and_says_how_far_off_it_may_be() -> None:
    items = [person(n, **({"old": "x"} if n % 4 == 0 else {})) for n in range(3_000)]
    here = site(Backfill(where={"old": Exists()}, set={"a": "x"}), items=items)
    here.world.tables.alter(TABLE, item_count=3_000)
    result = plan(here, full=False)
    (one,) = steps(result)
    assert one.items is not None
    assert result.estimate is not None
    assert result.estimate.looked_at < 1_500
    changed = one.items.changed
    assert changed.value is not None
    assert 0 < changed.error < 300
    assert abs(changed.value - 750) <= 2 * changed.error


def test_where_nobody_knows_how_many_items_there_are_nothing_is_scaled() -> None:
    here = site(Backfill(set={"a": "x"}), items=[person(n) for n in range(3_000)])
    here.world.tables.alter(TABLE, item_count=0)
    (one,) = steps(result := plan(here, full=False))
    assert one.items is not None
    assert one.items.changed.value is None
    assert any("nothing is scaled up" in line for line in result.unknown)


def test_a_table_that_fits_into_the_sample_is_counted() -> None:
    (one,) = steps(plan(site(Backfill(set={"a": "x"})), full=False))
    assert one.items is not None
    assert (one.items.changed.value, one.items.changed.error) == (40, 0)


def test_without_samples_no_item_is_read_and_nothing_is_estimated() -> None:
    calls: list[str] = []

    def watch(call: Call) -> None:
        calls.append(call.operation)

    result = site(Backfill(set={"a": "x"})).runner(watch).plan(from_base=True, samples=0)
    assert result.estimate is None
    assert not [one for one in calls if one.startswith("items.")]


def test_a_plan_of_every_kind_only_reads() -> None:
    here = site(Backfill(transform=initials), AddIndex("by-team", partition_key="team"), DeleteItems(where={"SK": "x"}))
    before = here.standing()
    calls: list[str] = []

    def watch(call: Call) -> None:
        calls.append(call.operation)

    for full in (True, False):
        here.runner(watch).plan(from_base=True, full=full)
    assert here.standing() == before
    assert set(calls) <= {
        "tables.describe",
        "tables.setting",
        "items.scan",
        "items.get",
        "items.query",
        "records.get",
        "records.query",
    }


def test_a_sample_too_keeps_to_the_read_budget() -> None:
    here = site(Backfill(set={"a": "x"}), items=[person(n, text="x" * 3_000) for n in range(400)])
    here.limits = replace(here.limits, read_units=Units(10))
    began = here.world.clock.monotonic()
    whole = plan(here, full=False).estimate
    assert whole is not None
    # A bucket may go into debt for one page.
    assert here.world.clock.monotonic() - began > (whole.read_units - 10) / 10 > 2


def test_what_is_deleted_is_not_read_again_by_the_check_pass() -> None:
    items = [person(n, text="x" * 9_000) for n in range(10)]
    (one,) = steps(plan(site(DeleteItems(where={"SK": "person"}), items=items)))
    # Three units for a page of one item, then one for none; and each of two segments ends with an empty page.
    assert [part.units.value for part in one.reads] == [10 * (3 + 1) + 2 * (1 + 1)]
