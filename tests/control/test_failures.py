from __future__ import annotations

import pytest

from migrator.control.failures import FailedItemRecord, Failures
from migrator.control.layout import failure
from migrator.core.ports import Expect, PutRecord, Record
from migrator.errors import AnswerLost, LeaseLost, MigratorError, RecordConflict
from migrator.testing.memory import Once, raising
from tests.control.processes import Process

REV, STEP = "20261130172204", "0.apply.1"
KEY = {"PK": {"S": "TENANT#1"}, "SK": {"B": b"\x00\xff"}}


def key(name: str) -> dict[str, dict[str, str]]:
    return {"PK": {"S": name}}


def of(process: Process) -> Failures:
    return Failures(process.records, process.clock)


def test_a_failed_item_is_kept_with_its_whole_key_and_reason(a: Process) -> None:
    lease = a.acquire()
    failed = of(a).record(REV, STEP, KEY, "missing-attribute", "no assignee", lease)
    assert failed == FailedItemRecord(
        REV, STEP, KEY, "missing-attribute", "no assignee", 1, "2026-01-01T12:00:00+00:00"
    )  # fmt: skip
    assert of(a).get(REV, STEP, KEY) == failed
    assert list(of(a).pending(REV)) == [failed]


def test_each_attempt_is_counted_with_its_newest_reason_and_time(a: Process) -> None:
    lease = a.acquire()
    for reason in ("one", "two", "three"):
        a.clock.advance(10)
        failed = of(a).record(REV, STEP, KEY, "x", reason, lease)
    assert (failed.attempts, failed.reason, failed.at) == (3, "three", "2026-01-01T12:00:30+00:00")
    assert of(a).count(REV) == 1


def test_an_attempt_whose_answer_was_lost_is_counted_once(a: Process) -> None:
    lease = a.acquire()
    of(a).record(REV, STEP, KEY, "x", "one", lease)
    a.clock.advance(1)
    a.on_call.append(Once("records.write", raising(AnswerLost("timed out")), "after"))
    assert of(a).record(REV, STEP, KEY, "x", "two", lease).attempts == 2
    stored = of(a).get(REV, STEP, KEY)
    assert stored is not None
    assert stored.attempts == 2


def test_pending_items_of_all_partitions_are_found_by_revision_and_step(a: Process) -> None:
    lease = a.acquire()
    for number in range(50):
        of(a).record(REV, f"0.apply.{number % 2}", key(f"item-{number}"), "x", "y", lease)
        of(a).record(REV + "0", STEP, key(f"item-{number}"), "x", "y", lease)
    assert of(a).count(REV) == 50
    assert {failed.key["PK"]["S"] for failed in of(a).pending(REV, "0.apply.1")} == {
        f"item-{number}" for number in range(1, 50, 2)
    }


def test_a_resolved_item_is_forgotten(a: Process) -> None:
    lease = a.acquire()
    of(a).record(REV, STEP, KEY, "x", "y", lease)
    for _ in range(2):
        of(a).resolve(REV, STEP, KEY, lease)
    assert of(a).count(REV) == 0


def test_a_skipped_item_keeps_its_reason_and_is_no_longer_pending_even_if_it_fails_again(a: Process) -> None:
    lease = a.acquire()
    of(a).record(REV, STEP, KEY, "x", "y", lease)
    skipped = of(a).skip(REV, STEP, KEY, "a test tenant", lease)
    assert skipped.skipped_because == "a test tenant"
    again = of(a).record(REV, STEP, KEY, "x", "z", lease)
    assert (again.attempts, again.skipped_because) == (2, "a test tenant")
    assert of(a).count(REV) == 0
    assert list(of(a).all(REV)) == [again]


def test_a_skip_needs_a_failed_item_and_a_reason(a: Process) -> None:
    lease = a.acquire()
    with pytest.raises(MigratorError, match='PK="TENANT#1"') as caught:
        of(a).skip(REV, STEP, KEY, "why not", lease)
    assert caught.value.code == "no-such-failed-item"
    of(a).record(REV, STEP, KEY, "x", "y", lease)
    with pytest.raises(MigratorError) as caught:
        of(a).skip(REV, STEP, KEY, "  ", lease)
    assert caught.value.code == "reason-missing"


def test_clear_forgets_one_revision_only(a: Process) -> None:
    lease = a.acquire()
    for number in range(20):
        of(a).record(REV, STEP, key(str(number)), "x", "y", lease)
    of(a).record("other", STEP, KEY, "x", "y", lease)
    of(a).clear(REV, lease)
    assert (of(a).count(REV), of(a).count("other")) == (0, 1)


def test_a_frozen_worker_cannot_record_over_its_successor(a: Process, b: Process) -> None:
    old = a.acquire()
    of(a).record(REV, STEP, KEY, "x", "old", old)
    a.on_call.append(Once("records.write", lambda: of(b).record(REV, STEP, KEY, "x", "new", b.acquire()) and None))
    with pytest.raises(LeaseLost):
        of(a).record(REV, STEP, KEY, "x", "late", old)
    stored = of(b).get(REV, STEP, KEY)
    assert stored is not None
    assert (stored.reason, stored.attempts) == ("new", 2)


def test_a_record_above_the_lock_s_own_token_is_a_conflict_not_an_endless_loop(a: Process) -> None:
    lease = a.acquire()
    of(a).record(REV, STEP, KEY, "x", "y", lease)
    stored = a.records.get(failure(REV, STEP, KEY))
    assert stored is not None
    a.records.write(PutRecord(Record(stored.address, 2**60, stored.body, stored.items), Expect()))
    with pytest.raises(RecordConflict):
        of(a).record(REV, STEP, KEY, "x", "z", lease)


@pytest.mark.parametrize(
    ("body", "items"), [({}, {"key": KEY}), ({"revision": REV, "step": STEP, "code": "x", "reason": "y"}, {})]
)
def test_a_damaged_record_is_an_error_that_names_it(
    a: Process, body: dict[str, object], items: dict[str, dict[str, object]]
) -> None:
    of(a).record(REV, STEP, KEY, "x", "y", a.acquire())
    a.records.write(PutRecord(Record(failure(REV, STEP, KEY), 1, body, items), Expect()))  # type: ignore[arg-type]
    with pytest.raises(MigratorError, match="failures#") as caught:
        of(a).count(REV)
    assert caught.value.code == "damaged-record"


def test_a_revision_without_failed_items_costs_one_read(a: Process) -> None:
    asked: list[str] = []
    a.on_call.append(lambda call: asked.append(call.operation) if call.moment == "before" else None)
    assert of(a).count(REV) == 0
    assert asked == ["records.get"]


def test_a_failed_item_is_found_though_the_run_died_right_after_it_was_kept(a: Process) -> None:
    lease = a.acquire()
    a.on_call.append(Once("records.write", raising(LeaseLost("x", "died")), "after", nth=1))
    with pytest.raises(LeaseLost):
        of(a).record(REV, STEP, KEY, "x", "y", lease)
    assert [failed.key for failed in of(a).pending(REV)] == [KEY]
