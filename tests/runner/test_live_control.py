"""pause, resume, throttle and cancel, asked by one process of another, in every wait of a run."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from migrator import AddIndex, Backfill, RunPython
from migrator.config import Limits, Units
from migrator.control.layout import REQUESTS
from migrator.core.events import Remark, Waiting
from migrator.core.ports import Expect, PutRecord, Record
from migrator.errors import MigratorError, Throttled
from migrator.runner.runner import Runner
from migrator.testing.memory import Call, Crash, CrashAt, Hook
from tests.simulation.world import Site, chain, migration, person, quick_world

LIMITS = Limits(workers=1, segments=2, lease=60.0, poll_interval=10.0, settle_time=900.0, write_units=Units(50))


def site(items: int = 1_000, *operations: Any) -> Site:
    made = Site(
        chain(migration("1", *(operations or (Backfill(set={"label": "L#{name}"}),)))),
        world=quick_world(page_bytes=20_000),
        limits=LIMITS,
    ).with_table()
    made.put(*(person(number) for number in range(items)))
    return made


class Ticks:
    """The moments at which items were written."""

    def __init__(self, of: Site):
        self.site = of
        self.at: list[float] = []

    def __call__(self, call: Call) -> None:
        if call.operation in ("items.write", "items.transact") and call.moment == "after":
            self.at.append(self.site.world.clock.true_seconds)

    def between(self, low: float, high: float) -> int:
        return sum(low <= moment < high for moment in self.at)


def later(of: Site, seconds: float, ask: Any) -> None:
    """Another shell asks, so many seconds from now."""
    of.world.clock.at(seconds, lambda: ask(of.runner(name="dana")))


def upgrade(of: Site, *hooks: Hook) -> Any:
    return of.runner(*hooks, name="ci-7").upgrade(from_base=True)


def reasons(of: Site) -> list[str]:
    return [event.reason for event in of.events if isinstance(event, Waiting)]


def test_a_throttle_is_obeyed_within_a_page_and_expires_by_itself() -> None:
    at = site(1_300)
    ticks = Ticks(at)
    later(at, 10, lambda runner: runner.throttle(write_units="5", seconds=60.0))
    assert upgrade(at, ticks).state == "applied"
    assert ticks.between(0, 10) == pytest.approx(500, rel=0.15)
    assert ticks.between(15, 70) == pytest.approx(5 * 55, rel=0.15)
    assert ticks.between(74, 76) == pytest.approx(100, rel=0.3)
    assert any("budget of 5, set by dana (host host) write units/s" in reason for reason in reasons(at))


def test_a_throttle_may_raise_the_pace_and_be_taken_back() -> None:
    at = site(3_000)
    ticks = Ticks(at)
    later(at, 5, lambda runner: runner.throttle(write_units="400"))
    later(at, 9, lambda runner: runner.throttle())
    upgrade(at, ticks)
    assert ticks.between(7, 9) == pytest.approx(800, rel=0.2)
    assert ticks.between(12, 20) == pytest.approx(400, rel=0.2)


def test_a_share_is_one_of_what_the_table_has() -> None:
    at = site(600)
    ticks = Ticks(at)
    later(at, 4, lambda runner: runner.throttle(write_units="0.25%"))
    upgrade(at, ticks)
    assert ticks.between(8, 20) == pytest.approx(10 * 12, rel=0.2)


def test_a_pause_holds_a_run_that_keeps_its_lock_until_it_is_resumed() -> None:
    at = site()
    ticks = Ticks(at)
    shown: dict[str, Any] = {}
    later(at, 5, lambda runner: runner.pause(because="checkout is slow"))
    later(at, 200, lambda runner: shown.update(lock=runner.lock_show(), status=runner.status()))
    later(at, 400, lambda runner: runner.resume())
    assert upgrade(at, ticks).state == "applied"
    assert ticks.between(7, 400) == 0
    assert ticks.between(400, 405) > 50
    line = "paused by dana (host host) since 12:00:05 UTC: checkout is slow"
    assert shown["lock"].lock.requests == (line,)
    assert shown["status"].lock.requests == (line,)
    assert shown["lock"].state == "held"
    assert f"{line}; `migrator resume` goes on" in reasons(at)


def test_a_pause_for_a_time_ends_by_itself_on_the_clock_of_the_run() -> None:
    at = site()
    ticks = Ticks(at)
    later(at, 5, lambda runner: runner.pause(seconds=100.0))
    upgrade(at, ticks)
    assert ticks.between(7, 104) == 0
    assert ticks.between(107, 112) > 50


def test_a_cancel_ends_a_run_at_a_checkpoint_and_does_not_hit_the_next_one() -> None:
    at = site()
    ticks = Ticks(at)
    later(at, 5, lambda runner: runner.cancel(because="wrong template"))
    result = upgrade(at, ticks)
    assert (result.state, result.exit_code) == ("stopped", 143)
    assert "cancelled by dana (host host): wrong template" in result.blocked_by
    assert ticks.at[-1] < 8
    assert at.runner().lock_show().state == "free"
    assert at.history["1"].status == "started"
    assert upgrade(at, ticks).state == "applied"
    assert len(ticks.at) == 1_000, "from its checkpoint: none is written twice"


def test_a_paused_run_can_be_cancelled() -> None:
    at = site()
    later(at, 5, lambda runner: runner.pause())
    later(at, 50, lambda runner: runner.cancel())
    assert upgrade(at).exit_code == 143
    assert at.world.clock.true_seconds < 60


@pytest.mark.parametrize("ask", ["cancel", "pause"])
def test_a_wait_for_an_index_hears_what_is_asked(ask: str) -> None:
    at = site(10, AddIndex("by-team", partition_key="team"), Backfill(set={"label": "L#{name}"}))
    ticks = Ticks(at)
    later(at, 22, lambda runner: getattr(runner, ask)())
    later(at, 500, lambda runner: runner.resume() if ask == "pause" else None)
    result = upgrade(at, ticks)
    if ask == "cancel":
        assert result.exit_code == 143
        assert at.world.clock.true_seconds < 25
    else:
        assert result.state == "applied"
        assert at.indexes == {"by-team": "ACTIVE"}
        assert ticks.between(0, 500) == 0


def test_a_wait_after_a_takeover_hears_a_cancel() -> None:
    at = site(50)
    with pytest.raises(Crash):
        upgrade(at, CrashAt(60, "items.write"))
    later(at, 200, lambda runner: runner.cancel())
    result = at.runner().rollback("1")
    assert result.exit_code == 143
    assert at.world.clock.true_seconds < 210


def test_a_back_off_hears_a_cancel() -> None:
    at = site(50)

    def refusing(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "before":
            raise Throttled("no")

    later(at, 20, lambda runner: runner.cancel())
    assert upgrade(at, refusing).exit_code == 143
    assert at.world.clock.true_seconds < 25


def _program(table: Any) -> None:
    for item in table.scan():
        if "label" not in item:
            table.update({"PK": item["PK"], "SK": item["SK"]}, expected={"label": None}, set={"label": item["name"]})


def test_a_function_of_a_migration_is_held_like_every_step() -> None:
    at = site(100, RunPython(_program))
    at.limits = replace(LIMITS, write_units=None)
    ticks = Ticks(at)
    later(at, 2, lambda runner: runner.pause(seconds=50.0))

    def slow(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "before":
            at.world.clock.sleep(0.1)

    assert upgrade(at, slow, ticks).state == "applied"
    assert ticks.between(5, 50) == 0


@pytest.mark.parametrize("ask", [Runner.pause, Runner.resume, Runner.cancel, lambda one: one.throttle(write_units="5")])
def test_nobody_is_asked_where_no_run_holds_the_lock(ask: Any) -> None:
    at = site(10)
    with pytest.raises(MigratorError) as refused:
        ask(at.runner())
    assert refused.value.code == "no-run"
    assert at.records == []
    upgrade(at)
    with pytest.raises(MigratorError):
        ask(at.runner())
    assert at.kept("requests") == []


def test_a_request_that_cannot_be_read_is_remarked_and_the_run_goes_on() -> None:
    at = site(500)

    def damage() -> None:
        owner = at.runner().lock_show().lock.owner
        record = Record(REQUESTS, 0, {"owner": owner, "pause": "yes"})
        at.world.records.write(PutRecord(record, Expect()))

    at.world.clock.at(3, damage)
    assert upgrade(at).state == "applied"
    remarks = [one.message for one in at.events if isinstance(one, Remark) and one.level == "warning"]
    assert len([one for one in remarks if "what operators ask of this run cannot be read" in one]) == 1


def test_a_paused_run_whose_lock_was_broken_notices_and_ends() -> None:
    at = site()
    later(at, 5, lambda runner: runner.pause())
    later(at, 60, lambda runner: runner.lock_release(runner.lock_show().lock.owner))
    result = upgrade(at)
    assert result.exit_code == 4
    assert at.world.clock.true_seconds < 150


def test_a_holder_reads_requests_at_most_every_two_seconds() -> None:
    at = site(1_500)
    reads: list[float] = []

    def noting(call: Call) -> None:
        if call.operation == "records.get" and call.moment == "before" and call.arguments["address"] == REQUESTS:
            reads.append(at.world.clock.true_seconds)

    upgrade(at, noting)
    assert len(reads) > 10
    assert min(later - sooner for sooner, later in itertools.pairwise(reads)) >= 2.0 - 1e-6


@pytest.mark.parametrize("dies_after", range(0, 60, 7))
def test_a_run_that_dies_while_something_is_asked_of_it_leaves_nothing_to_the_next(dies_after: int) -> None:
    at = replace(site(100), limits=replace(LIMITS, write_units=Units(20)))
    later(at, 1, lambda runner: runner.throttle(write_units="5"))
    later(at, 3, lambda runner: runner.pause())
    crash = CrashAt(10_000)

    def die() -> None:
        crash.left = dies_after

    at.world.clock.at(4, die)
    with pytest.raises(Crash):
        upgrade(at, crash)
    ticks = Ticks(at)
    begun = at.world.clock.true_seconds
    assert upgrade(at, ticks).state == "applied"
    assert at.world.clock.true_seconds - begun < 100
