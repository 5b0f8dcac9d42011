"""Whole backfills at the pace of a table that is modelled, on the virtual clock: budgets, limits, hot keys, load."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from migrator import Backfill
from migrator.config import CriticalLoad, Limits, Units
from migrator.core.events import Waiting
from migrator.core.item import fingerprint, from_python
from migrator.core.schema import Index, KeyAttribute
from migrator.errors import Throttled
from migrator.runner.results import RunResult
from migrator.testing.memory import Call, Hook
from tests.engine.table_model import ARN, Capacity, TableModel
from tests.simulation.world import TABLE, Site, chain, migration, person, quick_world, wire

LIMITS = Limits(workers=1, segments=4, lease=60.0, poll_interval=10.0, settle_time=900.0)


def site(items: int, **limits: Any) -> Site:
    made = Site(
        chain(migration("1", Backfill(set={"team_copy": "{team}"}))),
        world=quick_world(page_bytes=40_000),
        limits=replace(LIMITS, **limits),
    ).with_table()
    made.put(*(person(number) for number in range(items)))
    return made


def model(of: Site, units: float = 1e9, **more: Any) -> TableModel:
    clock = of.world.clock
    return TableModel(clock, TABLE, Capacity(clock, units, more.pop("burst", 1.0)), **more)


def upgrade(of: Site, *hooks: Hook) -> tuple[RunResult, float]:
    """The result, and the seconds it took."""
    begun = of.world.clock.true_seconds
    result = of.runner(*hooks).upgrade(from_base=True)
    return result, of.world.clock.true_seconds - begun


def reasons(of: Site) -> list[str]:
    return [event.reason for event in of.events if isinstance(event, Waiting)]


def test_a_run_keeps_a_budget_of_500_units_a_second_within_a_tenth() -> None:
    at = site(6_000, write_units=Units(500))
    table = model(at)
    result, seconds = upgrade(at, table)
    assert result.state == "applied"
    assert table.taken / seconds == pytest.approx(500, rel=0.1)
    assert any("budget of 500 write units/s on test-app" in reason for reason in reasons(at))


def test_at_its_budget_a_run_leaves_an_application_all_of_its_own_capacity() -> None:
    at = site(5_000, write_units=Units(500))
    table = model(at, 1_000)
    table.application(450)
    result, _ = upgrade(at, table)
    assert result.state == "applied"
    assert table.application_taken > 4_000
    assert table.application_refused == 0
    assert table.refused == 0


def test_without_a_budget_a_run_finds_the_limit_of_the_table_and_stays_near_it() -> None:
    at = site(12_000)
    table = model(at, 200, latency=0.001)
    result, seconds = upgrade(at, table)
    assert result.state == "applied"
    assert 0.7 * 200 <= table.taken / seconds <= 1.05 * 200
    assert table.refused < 0.05 * table.taken
    assert any(reason.startswith("throttled: ") for reason in reasons(at))


def test_a_limit_that_is_raised_midway_is_found_anew() -> None:
    at = site(8_000)
    table = model(at, 100, latency=0.001)
    at.world.clock.at(20, lambda: setattr(table.capacity, "units", 2_000.0))
    _, seconds = upgrade(at, table)
    # At the limit of before it would be 80.
    assert seconds < 20 + 40


def test_with_two_in_five_requests_throttled_a_run_still_comes_to_its_end() -> None:
    at = site(1_000, write_units=Units(500))
    chance = random.Random(7)

    def throttling(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "before" and chance.random() < 0.4:
            raise Throttled("slow down")

    result, seconds = upgrade(at, throttling)
    assert (result.state, result.outcomes[0].counts.written) == ("applied", 1_000)
    assert result.outcomes[0].counts.failed == 0
    assert seconds < 600


def test_a_hot_key_is_held_by_itself_and_the_table_keeps_its_pace() -> None:
    at = site(4_000)
    at.world.items.put(TABLE, *(wire({"PK": "HOT", "SK": f"{n:05}", "name": "n", "team": "t"}) for n in range(400)))
    clock = at.world.clock
    hot = fingerprint({"PK": from_python("HOT")})
    table = model(at, keys={hot: Capacity(clock, 60, 0.25)}, latency=0.001)
    result, seconds = upgrade(at, table)
    assert result.state == "applied"
    assert table.refused == 0
    # At 60 a second the hot items alone take more than 6 seconds, the others at their own pace 4.
    assert seconds < 20
    # The first batch, and what the key's own rate is still too high for.
    assert table.refused_by_key < 200
    assert not any("throttled: " in reason for reason in reasons(at))
    assert any(reason.startswith("hot partition key") for reason in reasons(at))


def test_items_of_other_keys_are_written_while_a_hot_key_is_held() -> None:
    at = site(0)
    at.world.items.put(TABLE, *(wire({"PK": "HOT", "SK": f"{n:05}", "name": "n", "team": "t"}) for n in range(60)))
    at.put(*(person(number) for number in range(30)))
    at = replace(at, limits=replace(at.limits, segments=1))
    clock = at.world.clock
    last: dict[bool, float] = {}

    def noting(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "after":
            last[call.arguments["write"].key["PK"] == from_python("HOT")] = clock.true_seconds

    table = model(at, keys={fingerprint({"PK": from_python("HOT")}): Capacity(clock, 20, 0.5)}, latency=0.001)
    upgrade(at, table, noting)
    assert last[False] < 1 < last[True]


def test_a_critical_load_pauses_the_run_until_a_minute_was_calm() -> None:
    at = site(3_000, write_units=Units(60), critical_load=CriticalLoad(throttle_events=100))
    throttles, clock = at.world.metrics.throttles, at.world.clock
    throttles[TABLE] = 0.0
    written: list[float] = []

    def noting(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "after":
            written.append(clock.true_seconds)

    clock.at(3, lambda: throttles.update({TABLE: 150.0}))
    clock.at(100, lambda: throttles.update({TABLE: 60.0}))
    clock.at(200, lambda: throttles.update({TABLE: 20.0}))
    result, _ = upgrade(at, noting)
    assert result.state == "applied"
    # Not critical any more at 100, calm only after 200, for a minute then.
    assert [moment for moment in written if 40 < moment < 255] == []
    assert any("paused: 150 throttle events a minute on test-app, critical at 100" in one for one in reasons(at))


def test_a_critical_load_stops_the_run_at_a_checkpoint_with_exit_7() -> None:
    at = site(2_500, write_units=Units(60), critical_load=CriticalLoad(throttle_events=100, action="stop"))
    at.world.clock.at(10, lambda: at.world.metrics.throttles.update({TABLE: 100.0}))
    result, _ = upgrade(at)
    assert (result.exit_code, result.state) == (7, "stopped")
    assert "critical load: 100 throttle events a minute on test-app" in result.blocked_by
    assert 0 < sum("team_copy" in item for item in at.items) < 2_500
    at.world.metrics.throttles[TABLE] = 0.0
    again, _ = upgrade(at)
    assert again.state == "applied"


def test_slow_answers_are_critical_load_too() -> None:
    at = site(2_000, write_units=Units(500), critical_load=CriticalLoad(latency=1.0, action="stop"))
    table = model(at, latency=0.02)
    result, _ = upgrade(at, table)
    assert result.exit_code == 7
    assert "write requests take" in result.blocked_by


def test_half_of_a_critical_load_halves_the_pace_and_pauses_nothing() -> None:
    calm, heavy = (
        site(2_000, write_units=Units(60), critical_load=CriticalLoad(throttle_events=100)) for _ in range(2)
    )
    heavy.world.metrics.throttles[TABLE] = 60.0
    _, usual = upgrade(calm)
    _, slowed = upgrade(heavy)
    assert slowed > 1.2 * usual
    assert not any("paused" in reason for reason in reasons(heavy))


def test_an_unknown_load_is_no_reason_to_wait() -> None:
    at = site(1_000, write_units=Units(500), critical_load=CriticalLoad(throttle_events=1, action="stop"))
    at.world.metrics.throttles[TABLE] = None
    result, _ = upgrade(at)
    assert result.state == "applied"


def test_a_hot_partition_of_an_index_holds_its_own_items() -> None:
    at = Site(
        chain(migration("1", Backfill(set={"team_copy": "{team}"}))),
        world=quick_world(page_bytes=40_000),
        limits=replace(LIMITS, segments=1),
    ).with_table(indexes=(Index("by-team", (KeyAttribute("team"),), (KeyAttribute("PK"),)),))
    at.put(*(person(number, team="big" if number < 60 else f"t{number}") for number in range(90)))
    clock, last = at.world.clock, {True: 0.0, False: 0.0}
    big = Capacity(clock, 20, 0.5)

    def hot(call: Call) -> None:
        if call.operation != "items.write":
            return
        is_big = int(call.arguments["write"].key["PK"]["S"][2:]) < 60
        if call.moment == "before" and is_big and not big.takes(1):
            raise Throttled("hot", (("IndexWriteKeyRangeThroughputExceeded", f"{ARN}{TABLE}/index/by-team"),))
        if call.moment == "after":
            last[is_big] = clock.true_seconds

    result, _ = upgrade(at, hot)
    assert result.state == "applied"
    assert last[False] < 1 < last[True]
    assert any(reason.startswith("hot partition key") for reason in reasons(at))
    assert not any("throttled: " in reason for reason in reasons(at))


def test_writes_whose_guard_was_lost_count_against_the_budget_too() -> None:
    at = site(1_000, write_units=Units(100))
    touched: set[str] = set()

    def meddling(call: Call) -> None:
        """The application changes what was read, just before each item's first write."""
        if call.operation == "items.write" and call.moment == "before":
            key = str(call.arguments["write"].key["PK"]["S"])
            if key not in touched:
                touched.add(key)
                at.update(int(key[2:]), team="moved")

    result, seconds = upgrade(at, meddling)
    assert result.outcomes[0].counts.conflicts == 1_000
    assert seconds == pytest.approx(2 * 1_000 / 100, rel=0.1)


def test_a_busy_partition_that_is_read_does_not_slow_the_other_segments() -> None:
    busy, slow = (site(600, read_units=Units(100)) for _ in range(2))

    def refusing(reason: str) -> Hook:
        once = [True]

        def hook(call: Call) -> None:
            if call.operation == "items.scan" and call.moment == "before" and once:
                once.clear()
                raise Throttled("busy", ((reason, ARN + TABLE),))

        return hook

    upgrade(busy, refusing("TableReadKeyRangeThroughputExceeded"))
    upgrade(slow, refusing("TableReadProvisionedThroughputExceeded"))
    assert not any("throttled: " in reason for reason in reasons(busy))
    assert any("throttled: 50 read units/s" in reason for reason in reasons(slow))
