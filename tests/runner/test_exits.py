"""Every outcome has its exit code, and nothing but success is 0 (green-on-failure); looking never writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from migrator.core.change import TryAgain
from migrator.errors import LockHeld, MigratorError, ServiceError, Throttled
from migrator.operations import AddIndex, Backfill, CreateTable, RenameAttribute
from migrator.operations.index_spec import Index
from migrator.runner.runner import Runner
from migrator.testing.memory import Answer, Call, Crash, CrashAt
from tests.simulation.world import TABLE, Site, chain, migration, person

PEOPLE = tuple(person(number) for number in range(6))
FILL = Backfill(set={"label": "L#{name}"})


def broken(item: Mapping[str, Any]) -> Mapping[str, Any]:
    raise ZeroDivisionError(item["name"])


def site_of(*operations: Any, **table: Any) -> Site:
    return Site(chain(migration("001", *operations))).with_table(*PEOPLE, **table)


def exit_of(runner: Runner, **options: Any) -> int:
    try:
        result = runner.upgrade(from_base=True, **options)
    except MigratorError as error:
        return error.exit_code if error.hint else -1
    assert result.exit_code == 0 or (result.next and result.blocked_by)
    return result.exit_code


def test_success_is_0_and_so_is_nothing_to_do() -> None:
    site = site_of(FILL)
    assert exit_of(site.runner()) == 0
    assert exit_of(site.runner()) == 0


def test_a_transform_that_fails_is_6_not_0() -> None:
    site = site_of(Backfill(transform=broken))
    assert exit_of(site.runner()) == 6
    assert "ZeroDivisionError" in site.runner().failed_list().items[0].reason


def test_access_denied_is_1_and_stays_on_record() -> None:
    site = site_of(FILL)

    def denied(call: Call) -> None:
        if call.operation == "items.scan":
            raise ServiceError("access-denied", "dynamodb:Scan is not allowed", hint="allow it")

    assert exit_of(site.runner(denied)) == 1
    entry = site.history["001"]
    assert (entry.status, entry.error_code) == ("failed", "access-denied")
    assert site.runner().status().state == "failed"


def test_access_denied_on_the_table_is_never_taken_for_a_table_that_is_not_there() -> None:
    site = Site(chain(migration("001", CreateTable("app", partition_key="PK", sort_key="SK"))))

    def denied(call: Call) -> None:
        if call.operation == "tables.describe":
            raise ServiceError("access-denied", "dynamodb:DescribeTable is not allowed", hint="allow it")

    assert exit_of(site.runner(denied)) == 1
    assert site.world.tables.as_another().describe(TABLE) is None


def test_a_held_lock_is_4() -> None:
    site = site_of(FILL)
    with pytest.raises(Crash):
        site.runner(CrashAt(100)).upgrade(from_base=True)
    with pytest.raises(LockHeld):
        site.runner().upgrade(lock_timeout=0.0)
    assert exit_of(site.runner(), lock_timeout=0.0) == 4


def test_drift_is_3_and_pending_changes_are_8() -> None:
    site = site_of(AddIndex("by-team", partition_key="team"))
    assert site.runner().check().exit_code == 8
    assert exit_of(site.runner()) == 0
    assert site.runner().check().exit_code == 0
    site.world.tables.as_another().delete_index(TABLE, "by-team")
    site.world.clock.advance(60)
    assert site.runner().check().exit_code == 3


def test_an_index_that_differs_is_3() -> None:
    assert (
        exit_of(site_of(AddIndex("x", partition_key="team"), indexes=[Index("x", partition_key="name")]).runner()) == 3
    )


def test_an_index_that_still_builds_is_5_and_a_gate_is_9() -> None:
    assert exit_of(site_of(AddIndex("by-team", partition_key="team")).runner(), no_wait=True) == 5
    assert exit_of(site_of(RenameAttribute("name", "title")).runner()) == 9


def test_endless_throttling_is_7_at_a_checkpoint_and_the_next_run_goes_on() -> None:
    site = site_of(FILL)

    def throttled(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "before":
            raise Answer(TryAgain("ProvisionedThroughputExceededException", "too fast"))

    assert exit_of(site.runner(throttled)) == 7
    assert site.runner().failed_list().items == ()
    assert exit_of(site.runner()) == 0


def test_throttled_control_records_are_7() -> None:
    site = site_of(FILL)

    def throttled(call: Call) -> None:
        if call.operation == "records.query":
            raise Throttled("too fast")

    assert exit_of(site.runner(throttled)) == 7


@pytest.mark.parametrize(("number", "exit_code"), [(2, 130), (15, 143)])
def test_a_signal_stops_at_a_checkpoint_releases_the_lock_and_is_128_and_its_number(
    number: int, exit_code: int
) -> None:
    site = site_of(FILL)

    def signal(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "after":
            runner.stop(number)

    runner = site.runner(signal)
    assert exit_of(runner) == exit_code
    assert site.runner().lock_show().state == "free"
    assert site.history["001"].status == "started"
    assert 0 < sum("label" in item for item in site.items) < 6
    assert exit_of(site.runner()) == 0


def test_a_signal_during_a_build_leaves_within_seconds() -> None:
    site = site_of(AddIndex("by-team", partition_key="team"))
    runner = site.runner()
    site.world.clock.at(22, lambda: runner.stop(15))
    assert exit_of(runner) == 143
    assert site.world.clock.true_seconds < 27
    assert exit_of(site.runner()) == 0


def test_a_signal_while_waiting_for_the_lock_is_heard() -> None:
    site = site_of(FILL)
    with pytest.raises(Crash):
        site.runner(CrashAt(100)).upgrade(from_base=True)
    runner = site.runner()
    at = site.world.clock.true_seconds
    site.world.clock.at(10, lambda: runner.stop(2))
    assert exit_of(runner) == 130
    assert site.world.clock.true_seconds - at < 15


# --- dry-run-writes ---------------------------------------------------------------------------------------------------


def read_only(call: Call) -> None:
    verb = call.operation.partition(".")[2]
    assert verb in ("describe", "setting", "get", "query", "scan", "index_build"), f"a mutating call: {call.operation}"


def _sites() -> dict[str, Site]:
    fresh = Site(chain(migration("001", CreateTable("app", partition_key="PK", sort_key="SK"), FILL)))
    pending = site_of(FILL, AddIndex("by-team", partition_key="team"))
    applied = site_of(FILL)
    applied.runner().upgrade(from_base=True)
    failed = site_of(Backfill(set={"x": "{nick}"}))
    failed.runner().upgrade(from_base=True)
    building = site_of(AddIndex("by-team", partition_key="team"))
    building.runner().upgrade(from_base=True, no_wait=True)
    held = site_of(FILL)
    with pytest.raises(Crash):
        held.runner(CrashAt(100)).upgrade(from_base=True)
    return {
        "no table": fresh, "pending": pending, "applied": applied, "failed": failed, "building": building, "held": held,
    }  # fmt: skip


@pytest.mark.parametrize("state", ["no table", "pending", "applied", "failed", "building", "held"])
def test_looking_writes_nothing_in_any_state(state: str) -> None:
    site = _sites()[state]
    before = site.records
    runner = site.runner(read_only)
    runner.plan()
    site.runner(read_only).status()
    site.runner(read_only).check()
    site.runner(read_only).failed_list()
    site.runner(read_only).lock_show(5.0)
    assert site.records == before


def test_no_command_but_none_ever_deletes_a_table() -> None:
    """There is no way to: the port that every command goes through has no such call."""
    tables = Site(()).runner().session.ports.tables
    assert not [name for name in dir(tables) if "delete" in name and name != "delete_index"]
