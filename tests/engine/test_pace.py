"""Budgets on a virtual clock: how fast, how even, and what is said while waiting."""

from __future__ import annotations

import pytest

from migrator.core.ports import Consumed
from migrator.engine.pace import Pace
from migrator.engine.pacing.refusals import give_way
from migrator.testing.memory import VirtualClock


class Meter:
    """Sends requests as a step does, and remembers the waits and their reasons."""

    def __init__(self, **budgets: dict[str, float]):
        self.clock = VirtualClock()
        self.reasons: list[str] = []
        self.pace = Pace(self.clock, self._wait, **budgets)

    def _wait(self, seconds: float, reason: str) -> None:
        self.reasons.append(reason)
        self.clock.sleep(seconds)

    def send(self, seconds: float, units: float = 25.0, latency: float = 0.005, **resources: float) -> float:
        """Units a second over a time of requests of so many units each, one after the other."""
        begun, sent = self.clock.monotonic(), 0.0
        while self.clock.monotonic() - begun < seconds:
            self.pace.before("write")
            self.clock.sleep(latency)
            self.pace.spent(Consumed(write=resources or {"t": units}))
            sent += units
        return sent / (self.clock.monotonic() - begun)


@pytest.mark.parametrize("units", [1.0, 25.0, 400.0])
def test_a_budget_of_500_units_is_kept_within_a_tenth(units: float) -> None:
    meter = Meter(writes={"t": 500.0})
    assert meter.send(120, units, latency=0.001) == pytest.approx(500, rel=0.1)


def test_time_that_was_not_used_is_no_credit_for_a_burst() -> None:
    meter = Meter(writes={"t": 500.0})
    meter.send(5)
    meter.clock.sleep(3600)
    assert meter.send(10) == pytest.approx(500, rel=0.1)


def test_without_a_budget_what_any_table_takes_is_not_waited_for() -> None:
    meter = Meter()
    meter.send(10, 3.0, latency=0.001)
    assert meter.reasons == []


def test_the_index_with_the_smallest_budget_sets_the_pace_of_all() -> None:
    meter = Meter(writes={"t": 500.0, "t/by-team": 100.0})
    rate = meter.send(60, 10.0, **{"t": 10.0, "t/by-team": 10.0})
    assert rate == pytest.approx(100, rel=0.1)
    assert set(meter.reasons) == {"budget of 100 write units/s on t/by-team"}


def test_reads_and_writes_have_budgets_of_their_own() -> None:
    meter = Meter(reads={"t": 1.0}, writes={"t": 500.0})
    meter.pace.spent(Consumed(read={"t": 1000.0}))
    assert meter.send(20) == pytest.approx(500, rel=0.1)


def test_a_resource_that_is_not_named_takes_the_star() -> None:
    meter = Meter(writes={"*": 50.0})
    assert meter.send(60, 5.0) == pytest.approx(50, rel=0.1)


def test_throttling_halves_the_rate_and_says_so() -> None:
    meter = Meter(writes={"t": 500.0})
    meter.send(10)
    meter.pace.throttled("write", "t")
    assert meter.send(2) == pytest.approx(250, rel=0.15)
    assert "throttled: 250 write units/s on t" in meter.reasons


def test_several_throttles_within_a_second_halve_once() -> None:
    meter = Meter(writes={"t": 500.0})
    meter.send(10)
    for _ in range(20):
        meter.pace.throttled("write", "t")
    assert meter.send(2) == pytest.approx(250, rel=0.15)


def test_the_rate_recovers_slowly_and_never_above_the_budget() -> None:
    meter = Meter(writes={"t": 500.0})
    meter.send(10)
    meter.pace.throttled("write", "t")
    assert meter.send(10) < 330
    meter.send(30)
    assert meter.send(30) == pytest.approx(500, rel=0.1)


def test_endless_throttling_leaves_a_trickle_not_a_standstill() -> None:
    meter = Meter(writes={"t": 640.0})
    for _ in range(30):
        meter.send(1.5, 1.0)
        meter.pace.throttled("write", "t")
    assert meter.send(2, 1.0) == pytest.approx(10, rel=0.3)


def test_throttling_without_a_budget_gives_way_to_half_of_what_was_seen() -> None:
    meter = Meter()
    rate = meter.send(20, 5.0, latency=0.01)
    meter.pace.throttled("write", "t")
    assert meter.send(2, 5.0, latency=0.01) == pytest.approx(rate / 2, rel=0.25)


def test_the_rates_shown_are_those_since_the_first_request() -> None:
    meter = Meter(writes={"t": 500.0})
    meter.clock.sleep(1000)
    meter.send(60)
    assert meter.pace.rates()[1] == pytest.approx(500, rel=0.1)


def test_sparse_conflicts_slow_a_run_a_little_and_never_to_a_crawl() -> None:
    meter = Meter()
    rate = meter.send(10, 5.0, latency=0.01)
    for _ in range(30):
        meter.pace.conflicted("write", "t")
        meter.send(2, 5.0, latency=0.01)
    assert meter.send(5, 5.0, latency=0.01) > rate / 20


def test_throttling_right_after_the_start_is_held_against_what_was_really_seen() -> None:
    meter = Meter()
    rate = meter.send(0.6, 5.0, latency=0.01)
    meter.pace.throttled("write", "t")
    assert meter.send(1, 5.0, latency=0.01) == pytest.approx(rate / 2, rel=0.35)


def test_without_a_budget_throttling_leaves_more_than_a_crawl() -> None:
    meter = Meter()
    for _ in range(30):
        meter.send(1.5, 1.0, latency=0.01)
        meter.pace.throttled("write", "t")
    assert meter.send(2, 1.0, latency=0.01) > 20


@pytest.mark.parametrize(
    ("code", "reasons", "slower"),
    [
        ("throttled", (), True),
        ("throttled", (("TableWriteProvisionedThroughputExceeded", "arn:aws:dynamodb:r:1:table/t"),), True),
        ("throttled", (("TableWriteKeyRangeThroughputExceeded", "arn:aws:dynamodb:r:1:table/t"),), False),
        ("transaction-conflict", (), False),
    ],
)
def test_only_a_lack_of_capacity_halves_the_rate(code: str, reasons: tuple[tuple[str, str], ...], slower: bool) -> None:
    meter = Meter(writes={"t": 500.0})
    meter.send(5)
    give_way(meter.pace, "t", code, reasons)
    assert (meter.send(2) < 300) is slower


def test_without_a_budget_a_run_begins_at_what_any_table_takes_and_doubles_each_second() -> None:
    meter = Meter()
    rates = [meter.send(1, 100.0, latency=0.0005) for _ in range(4)]
    assert rates[0] < 8_000
    assert rates[3] > 5 * rates[0]
    assert any(reason.startswith("finding the limit: ") for reason in meter.reasons)


def test_a_rate_that_holds_nothing_up_is_not_raised() -> None:
    meter = Meter()
    meter.send(10, 10.0, latency=0.005)
    meter.pace.throttled("write", "t")
    before = meter.send(3, 10.0, latency=0.005)
    # Ten minutes of reading, with a write now and then, say nothing about what the table takes.
    meter.send(600, 1.0, latency=0.5)
    assert meter.send(2, 10.0, latency=0.005) < 1.3 * before


def test_a_debt_of_a_small_budget_is_not_waited_for_at_a_larger_one() -> None:
    meter = Meter(writes={"t": 1.0})
    meter.pace.spent(Consumed(write={"t": 400.0}))
    meter.pace.set_budgets({}, {"t": 500.0}, ", set by dana")
    begun = meter.clock.monotonic()
    meter.pace.before("write")
    assert meter.clock.monotonic() - begun < 1.5
    assert meter.reasons[0] == "budget of 500, set by dana write units/s on t"


def test_a_smaller_budget_counts_from_the_next_request() -> None:
    meter = Meter(writes={"t": 500.0})
    meter.send(5)
    meter.pace.set_budgets({}, {"t": 50.0})
    assert meter.send(20) == pytest.approx(50, rel=0.15)
    meter.pace.set_budgets({}, {})
    assert meter.send(5, 10.0, latency=0.005) > 500


def test_conflicts_in_a_row_slow_a_run_down() -> None:
    meter = Meter(writes={"t": 500.0})
    meter.send(5)
    for _ in range(10):
        meter.pace.conflicted("write", "t")
        meter.send(1.1)
    assert 150 < meter.send(2) < 300


def test_an_index_that_is_throttled_slows_what_is_written_to_it() -> None:
    meter = Meter(writes={"t": 500.0, "t/by-team": 500.0})
    meter.send(5, 25.0, **{"t": 25.0, "t/by-team": 25.0})
    give_way(
        meter.pace,
        "t",
        "throttled",
        (("IndexWriteProvisionedThroughputExceeded", "arn:aws:dynamodb:r:1:table/t/index/by-team"),),
    )
    assert meter.send(2, 25.0, **{"t": 25.0, "t/by-team": 25.0}) == pytest.approx(250, rel=0.15)
    assert meter.send(2, 25.0, t=25.0) == pytest.approx(500, rel=0.15)


def test_two_processes_keep_one_budget_between_them_within_a_tenth() -> None:
    clock, sent = VirtualClock(), 0.0
    paces = [Pace(clock, lambda _seconds, _reason: None, writes={"t": 500.0}, share=0.5) for _ in range(2)]
    for pace in paces:
        pace.spent(Consumed(write={"t": 1.0}))
    while clock.true_seconds < 60:
        for pace in paces:
            if not _must_wait(pace):
                pace.spent(Consumed(write={"t": 10.0}))
                sent += 10
        clock.sleep(0.002)
    assert sent / 60 == pytest.approx(500, rel=0.1)


def _must_wait(pace: Pace) -> bool:
    waits: list[float] = []

    def once(seconds: float, _reason: str) -> None:
        waits.append(seconds)
        raise InterruptedError

    pace.wait = once
    try:
        pace.before("write")
    except InterruptedError:
        return True
    return False
