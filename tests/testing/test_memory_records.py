from __future__ import annotations

from datetime import timedelta
from threading import Thread

import pytest

from migrator.core.ports import Address, CheckRecord, DeleteRecord, Expect, PutRecord, Record
from migrator.errors import RecordConflict, ServiceError
from migrator.testing.memory import MemoryRecords, Once, SeededEntropy, VirtualClock

HERE = Address("p", "s")


def record(token: int = 1, **body: object) -> Record:
    return Record(HERE, token, body)


def test_each_write_gives_a_fresh_version_that_the_next_can_expect() -> None:
    records = MemoryRecords()
    records.write(PutRecord(record(), Expect(absent=True)))
    first = records.get(HERE)
    assert first is not None
    records.write(PutRecord(record(), Expect(absent=False, version=first.version)))
    second = records.get(HERE)
    assert second is not None
    assert second.version not in ("", first.version)
    with pytest.raises(RecordConflict) as caught:
        records.write(PutRecord(record(), Expect(version=first.version)))
    assert caught.value.current == second


@pytest.mark.parametrize(
    ("expect", "on_stored", "on_absent"),
    [
        (Expect(), True, True),
        (Expect(absent=True), False, True),
        (Expect(absent=False), True, False),
        (Expect(token=5), True, True),
        (Expect(token=4), False, True),
        (Expect(most_token=5), True, True),
        (Expect(most_token=4), False, True),
        (Expect(absent=False, most_token=9), True, False),
    ],
)
def test_an_expectation_asks_all_it_names_and_nothing_of_an_absent_record_unless_told(
    expect: Expect, on_stored: bool, on_absent: bool
) -> None:
    for stored, holds in ((True, on_stored), (False, on_absent)):
        records = MemoryRecords()
        if stored:
            records.write(PutRecord(record(5), Expect()))
        if holds:
            records.write(CheckRecord(HERE, expect))
        else:
            with pytest.raises(RecordConflict):
                records.write(CheckRecord(HERE, expect))


def test_several_actions_happen_all_or_none() -> None:
    records = MemoryRecords()
    other = Address("p", "t")
    with pytest.raises(RecordConflict):
        records.write(PutRecord(record(), Expect()), CheckRecord(other, Expect(absent=False)))
    assert records.all() == []
    records.write(PutRecord(record(), Expect()), CheckRecord(other, Expect(absent=True)))
    records.write(DeleteRecord(HERE, Expect(absent=False)))
    assert records.get(HERE) is None


def test_one_record_twice_in_a_transaction_is_refused() -> None:
    with pytest.raises(ServiceError):
        MemoryRecords().write(PutRecord(record(), Expect()), CheckRecord(HERE, Expect()))


def test_a_body_holds_json_without_floats() -> None:
    for body in ({"x": 1.5}, {"x": (1,)}, {"x": {1: "y"}}):
        with pytest.raises(TypeError):
            MemoryRecords().write(PutRecord(record(**body), Expect()))


def test_a_query_gives_the_records_under_a_prefix_in_order() -> None:
    records = MemoryRecords()
    for partition, sort in (("p", "b2"), ("p", "b1"), ("p", "c"), ("q", "b0")):
        records.write(PutRecord(Record(Address(partition, sort), 1, {}), Expect()))
    assert [found.address.sort for found in records.query("p", "b")] == ["b1", "b2"]
    assert [found.address.sort for found in records.query("p")] == ["b1", "b2", "c"]


def test_another_process_has_the_same_records_and_hooks_of_its_own() -> None:
    records = MemoryRecords()
    other = records.as_another()
    other.on_call.append(Once("records.get", lambda: records.write(PutRecord(record(), Expect()))))
    assert other.get(HERE) is not None


def test_virtual_time_passes_in_sleep_and_runs_what_is_due_at_its_moment() -> None:
    clock = VirtualClock()
    seen: list[float] = []
    clock.at(10, lambda: seen.append(clock.true_seconds))
    clock.at(5, lambda: (seen.append(clock.true_seconds), clock.at(1, lambda: seen.append(clock.true_seconds)))[0])
    start = clock.now(), clock.monotonic()
    clock.sleep(8)
    assert seen == [5, 6]
    clock.advance(2)
    assert seen == [5, 6, 10]
    assert clock.now() - start[0] == timedelta(seconds=10)
    assert clock.monotonic() - start[1] == 10


def test_what_was_due_while_the_machine_slept_runs_late() -> None:
    clock = VirtualClock()
    seen: list[float] = []
    clock.at(10, lambda: seen.append(clock.true_seconds))
    clock.suspend(100)
    assert seen == [100]


def test_another_machine_shares_true_time_but_not_its_clock_settings() -> None:
    clock = VirtualClock()
    other = clock.as_seen_by(wall=timedelta(minutes=10), monotonic=7)
    clock.advance(60)
    assert other.now() - clock.now() == timedelta(minutes=10)
    assert other.monotonic() - clock.monotonic() == 7
    assert other.true_seconds == 60


def test_threads_may_sleep_at_once_and_none_wakes_early() -> None:
    clock = VirtualClock()
    woke: list[float] = []

    def nap() -> None:
        begun = clock.true_seconds
        clock.sleep(1.0)
        woke.append(clock.true_seconds - begun)

    threads = [Thread(target=nap) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(woke) == 4
    assert min(woke) >= 1.0


def test_the_same_seed_gives_the_same_randomness() -> None:
    def draw(seed: int) -> tuple[object, ...]:
        entropy = SeededEntropy(seed)
        return entropy.nonce(), entropy.integer(48), entropy.uniform(1, 2), entropy.shuffled(range(9))

    assert draw(3) == draw(3)
    assert draw(3) != draw(4)
    assert len(SeededEntropy(1).nonce()) == 32
