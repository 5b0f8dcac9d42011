"""Which index is looked at, what is counted, and that a look neither writes nor keeps what it saw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from migrator import N
from migrator.config import parse_budget
from migrator.core.events import SegmentProgress
from migrator.core.schema import Index, KeyAttribute
from migrator.errors import MigratorError, Throttled, UsageError
from migrator.operations import AddIndex, Backfill, CreateTable, DropIndex
from migrator.runner.results import Violator
from migrator.runner.violations import SHOWN
from migrator.testing.memory import Call
from tests.simulation.world import Site, chain, migration, person

BY_SCORE = AddIndex("by-score", partition_key=N("score"))
LIVE = Index("by-score", (KeyAttribute("score", "S"),))


def site(*migrations: Any, **options: Any) -> Site:
    return Site(chain(*migrations)).with_table(*(person(n, score=str(n)) for n in range(4)), **options)


def test_a_pending_declaration_is_what_counts_even_where_another_index_is_live() -> None:
    here = site(migration("001", DropIndex("by-score"), BY_SCORE), indexes=[LIVE])
    found = here.runner().violations("by-score")
    assert (found.violating, found.revision, found.is_pending) == (4, "001", True)


def test_a_live_index_is_looked_at_as_it_is_and_belongs_to_no_revision() -> None:
    here = site(migration("001", Backfill(set={"x": "y"})), indexes=[LIVE])
    found = here.runner().violations("by-score")
    assert (found.state, found.exit_code, found.indexable, found.revision) == ("clean", 0, 4, "")


def test_an_index_that_was_built_belongs_to_the_revision_that_declares_it() -> None:
    here = site(migration("001", AddIndex("by-score", partition_key="score")))
    here.runner().upgrade(from_base=True)
    found = here.runner().violations("by-score")
    assert (found.revision, found.is_pending, found.next) == ("001", False, "")


def test_an_index_that_was_dropped_is_not_known_any_longer() -> None:
    here = site(migration("001", AddIndex("by-score", partition_key="score")), migration("002", DropIndex("by-score")))
    here.runner().upgrade(from_base=True, yes=True)
    with pytest.raises(UsageError) as refused:
        here.runner().violations("by-score")
    assert refused.value.code == "unknown-index"


def test_the_same_name_on_two_tables_asks_which_one() -> None:
    here = site(migration("001", BY_SCORE, AddIndex("by-score", partition_key="score", table="log")))
    here.tables = {"app": "test-app", "log": "test-log"}
    here.world.tables.add("test-log", here.world.tables.as_another().describe("test-app").shape)  # type: ignore[union-attr]
    here.world.items.add_table("test-log", ("PK", "SK"))
    with pytest.raises(UsageError) as refused:
        here.runner().violations("by-score")
    assert refused.value.code == "ambiguous-index"
    assert "--table app" in str(refused.value.hint)
    assert here.runner().violations("by-score", "log").violating == 0
    assert here.runner().violations("by-score", "app").violating == 4
    with pytest.raises(UsageError) as unknown:
        here.runner().violations("by-score", "lgo")
    assert unknown.value.code == "unknown-table"


def test_a_table_that_does_not_exist_has_no_items_to_look_at() -> None:
    here = Site(chain(migration("001", CreateTable(partition_key="PK", sort_key="SK"), BY_SCORE)))
    with pytest.raises(MigratorError) as refused:
        here.runner().violations("by-score")
    assert refused.value.code == "table-missing"
    assert "migrator upgrade" in str(refused.value.hint)


def test_nothing_is_written_and_control_records_are_not_items() -> None:
    here = site(migration("001", Backfill(set={"x": "y"})), migration("002", BY_SCORE))
    here.runner().upgrade("001", from_base=True)
    calls: list[str] = []

    def watch(call: Call) -> None:
        calls.append(call.operation)

    before = here.standing()
    found = here.runner(watch).violations("by-score")
    assert here.standing() == before
    assert (found.scanned, found.violating) == (4, 4)
    assert {call for call in calls if call.split(".")[1] not in ("scan", "query", "describe", "get")} == set()


def test_the_result_holds_the_first_violators_and_the_listing_gets_every_one_while_the_scan_goes_on() -> None:
    here = Site(chain(migration("001", BY_SCORE))).with_table(*(person(n, score="x") for n in range(SHOWN + 30)))
    seen: list[Violator] = []
    scanned_at_first: list[int] = []

    def listing(violator: Violator) -> None:
        if not seen:
            scanned_at_first.append(sum(isinstance(event, SegmentProgress) for event in here.events))
        seen.append(violator)

    found = here.runner().violations("by-score", listing=listing)
    assert len(found.violators) == SHOWN
    assert (found.violating, len(seen)) == (SHOWN + 30, SHOWN + 30)
    assert seen[:SHOWN] == list(found.violators)
    pages = sum(isinstance(event, SegmentProgress) for event in here.events)
    assert scanned_at_first == [0], "the first page was listed before the second one was asked for"
    assert pages > 5


def test_the_read_budget_is_kept() -> None:
    here = Site(chain(migration("001", BY_SCORE))).with_table(*(person(n, score="x") for n in range(300)))
    here.limits = replace(here.limits, read_units=parse_budget(2))
    began = here.world.clock.monotonic()
    found = here.runner().violations("by-score")
    assert found.read_units > 10
    assert here.world.clock.monotonic() - began >= (found.read_units - 4) / 2


def test_throttling_is_waited_out() -> None:
    here = site(migration("001", BY_SCORE))
    left = [1, 1, 1]

    def throttle(call: Call) -> None:
        if call.operation == "items.scan" and call.moment == "before" and left:
            left.pop()
            raise Throttled("slow down")

    assert here.runner(throttle).violations("by-score").violating == 4
    assert left == []


def test_a_segment_that_fails_ends_the_look_with_its_own_error() -> None:
    here = site(migration("001", BY_SCORE))
    here.limits = replace(here.limits, workers=4, segments=8)
    calls = iter(range(100))

    def deny(call: Call) -> None:
        if call.operation == "items.scan" and call.moment == "before" and next(calls) == 2:
            raise MigratorError("access-denied", "no")

    with pytest.raises(MigratorError) as caught:
        here.runner(deny).violations("by-score")
    assert caught.value.code == "access-denied"
