from __future__ import annotations

import threading
from time import sleep

import pytest

from migrator.control.layout import BEAT, LOCK
from migrator.core.events import Remark, Waiting
from migrator.core.ports import Address, Expect, PutRecord, Record
from migrator.errors import AnswerLost, Interrupted, LeaseLost, RecordConflict, ServiceError, Throttled
from migrator.testing.memory import Call, Once, World, raising
from tests.control.processes import LEASE, Process, holds

NOTE = Address("notes", "1")


def note(token: int) -> PutRecord:
    return PutRecord(Record(NOTE, token, {}), Expect(most_token=token))


def writes_of(process: Process) -> list[Call]:
    seen: list[Call] = []
    process.on_call.append(
        lambda call: seen.append(call) if call.operation == "records.write" and call.moment == "before" else None
    )
    return seen


# --- two thirds -------------------------------------------------------------------------------------------------------


def test_a_lease_allows_writes_until_two_thirds_and_never_again(a: Process) -> None:
    lease = a.acquire()
    a.clock.advance(39.9)
    lease.check()
    a.clock.advance(0.1)
    with pytest.raises(LeaseLost, match="could not be renewed for 40 s of its 60 s") as caught:
        lease.check()
    assert caught.value.exit_code == 4
    assert not lease.beat()
    assert not holds(lease)


def test_the_lease_counts_from_when_the_acquire_was_sent_not_answered(a: Process) -> None:
    a.on_call.append(Once("records.write", lambda: a.clock.advance(25), "before"))
    lease = a.acquire()
    a.clock.advance(14.9)
    lease.check()
    a.clock.advance(0.1)
    assert not holds(lease)


def test_a_renewal_counts_from_when_it_was_sent(a: Process) -> None:
    lease = a.acquire()
    a.clock.advance(20)
    a.on_call.append(Once("records.write", lambda: a.clock.advance(15), "after"))
    assert lease.beat()
    a.clock.advance(24.9)
    lease.check()
    a.clock.advance(0.1)
    assert not holds(lease)


def test_a_renewal_answered_after_the_lease_ran_out_revives_nothing(a: Process) -> None:
    lease = a.acquire()
    a.clock.advance(20)

    def slow() -> None:
        a.clock.advance(25)
        assert not holds(lease)

    a.on_call.append(Once("records.write", slow, "after"))
    assert not lease.beat()
    assert not holds(lease)


def test_beats_are_sent_at_a_third_and_keep_the_lease(a: Process) -> None:
    lease = a.acquire()
    sent = writes_of(a)
    for _ in range(600):
        a.clock.advance(1)
        lease.beat_if_due()
        lease.check()
    assert len(sent) == 30


def test_a_suspended_machine_counts_the_time_it_slept(a: Process) -> None:
    lease = a.acquire()
    a.clock.suspend(2 * LEASE)
    assert not holds(lease)


# --- beats that fail --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        Throttled("slow"),
        AnswerLost("timed out"),
        ServiceError("internal", "500"),
        RecordConflict("transaction conflict"),
    ],
)
def test_a_beat_that_fails_in_passing_is_retried_well_inside_the_lease_and_is_no_loss(
    a: Process, error: Exception
) -> None:
    lease = a.acquire()
    for _ in range(2):
        a.on_call.append(Once("records.write", raising(error)))
    sent = writes_of(a)
    a.on_call.insert(0, a.on_call.pop())
    times = []
    for _ in range(120):
        a.clock.advance(1)
        before = len(sent)
        lease.beat_if_due()
        if len(sent) > before:
            times.append(a.clock.true_seconds)
        lease.check()
    assert times[:3] == [20, 25, 30]


def test_a_conflict_whose_cause_cannot_be_read_is_no_loss_either(a: Process) -> None:
    lease = a.acquire()
    a.on_call.append(Once("records.write", raising(RecordConflict("conflict"))))
    a.on_call.append(Once("records.get", raising(Throttled("slow"))))
    assert not lease.beat()
    lease.check()
    assert lease.beat()


def test_a_beat_that_finds_a_higher_token_is_lost_and_says_to_whom(a: Process, b: Process) -> None:
    old = a.acquire()
    a.keep_beating(old, 0)
    b.lock.break_lock(a.holder.owner)
    b.acquire()
    assert not old.beat()
    with pytest.raises(LeaseLost, match="another run took the lock from this one: ci-8"):
        old.check()


def test_a_beat_record_deleted_by_hand_is_written_again(a: Process) -> None:
    lease = a.acquire()
    a.world.records.store.records.pop((BEAT.partition, BEAT.sort))
    assert lease.beat()
    assert a.records.get(BEAT) is not None


def test_a_lock_record_damaged_meanwhile_does_not_let_a_lost_lease_live(a: Process, b: Process) -> None:
    old = a.acquire()
    b.lock.break_lock(a.holder.owner)
    stored = a.records.get(LOCK)
    assert stored is not None
    a.records.write(PutRecord(Record(LOCK, stored.token, {}), Expect()))
    assert not old.beat()
    assert not holds(old)


def test_a_renewal_under_way_is_not_waited_for_by_another(a: Process) -> None:
    lease = a.acquire()
    a.clock.advance(20)
    meanwhile: list[bool] = []
    a.on_call.append(Once("records.write", lambda: meanwhile.append(lease.beat())))
    assert lease.beat()
    assert meanwhile == [False]
    lease.check()


# --- a frozen holder --------------------------------------------------------------------------------------------------


def test_a_frozen_holder_that_wakes_sends_nothing_more(a: Process, b: Process) -> None:
    old = a.acquire()
    new = b.acquire()
    sent = writes_of(a)
    with pytest.raises(LeaseLost):
        old.check()
    with pytest.raises(LeaseLost):
        old.write(note(old.token))
    old.beat_if_due()
    assert not old.beat()
    assert not old.release()
    assert sent == []
    assert holds(new)


def test_a_holder_frozen_between_check_and_request_cannot_write_a_record_its_successor_claimed(
    a: Process, b: Process
) -> None:
    old = a.acquire()
    taken = []

    def frozen() -> None:
        taken.append(b.acquire())
        taken[0].write(note(taken[0].token))

    a.on_call.append(Once("records.write", frozen))
    with pytest.raises(LeaseLost, match="ci-8"):
        old.write(note(old.token))
    stored = a.records.get(NOTE)
    assert stored is not None
    assert stored.token == taken[0].token
    assert not holds(old)


def test_a_beat_frozen_on_its_way_does_not_disturb_the_successor(a: Process, b: Process) -> None:
    old = a.acquire()
    taken = []
    a.on_call.append(Once("records.write", lambda: taken.append(b.acquire())))
    assert not old.beat()
    assert not holds(old)
    beat = a.records.get(BEAT)
    assert beat is not None
    assert beat.token == taken[0].token


# --- fenced writes ----------------------------------------------------------------------------------------------------


def test_a_control_write_survives_throttling_and_lost_answers(a: Process) -> None:
    lease = a.acquire()
    for _ in range(3):
        a.on_call.append(Once("records.write", raising(Throttled("slow"))))
    a.on_call.append(Once("records.write", raising(AnswerLost("timed out")), "after"))
    lease.write(note(lease.token))
    assert a.records.get(NOTE) is not None
    assert holds(lease)


def test_a_control_write_that_stays_throttled_ends_as_throttled(a: Process) -> None:
    lease = a.acquire()
    a.on_call.append(lambda call: raising(Throttled("slow"))() if call.operation == "records.write" else None)
    with pytest.raises(Throttled):
        lease.write(note(lease.token))
    assert a.clock.true_seconds < LEASE / 3


def test_a_control_write_retried_past_two_thirds_is_not_sent_again(a: Process) -> None:
    lease = a.acquire()

    def slow() -> None:
        a.clock.advance(41)
        raise Throttled("slow")

    a.on_call.append(Once("records.write", slow))
    sent = writes_of(a)
    with pytest.raises(LeaseLost):
        lease.write(note(lease.token))
    assert len(sent) == 0


def test_an_expectation_that_fails_while_the_lock_is_mine_is_a_conflict(a: Process) -> None:
    lease = a.acquire()
    lease.write(note(lease.token))
    with pytest.raises(RecordConflict):
        lease.write(PutRecord(Record(NOTE, lease.token, {}), Expect(absent=True)))
    assert holds(lease)


def test_a_rare_write_checks_the_lock_in_its_transaction(a: Process, b: Process) -> None:
    old = a.acquire()
    a.on_call.append(Once("records.write", lambda: b.lock.break_lock(a.holder.owner) and None))
    with pytest.raises(LeaseLost):
        old.write(note(old.token), old.held_check())
    assert a.records.get(NOTE) is None


# --- release ----------------------------------------------------------------------------------------------------------


def test_a_release_frees_the_lock_ends_the_lease_and_may_be_repeated(a: Process, b: Process) -> None:
    lease = a.acquire()
    assert lease.release()
    assert not lease.release()
    with pytest.raises(LeaseLost, match="given up its lock"):
        lease.check()
    assert not b.acquire(0).is_unclean


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_release_whose_answer_was_lost_is_done_once(a: Process, b: Process, moment: str) -> None:
    lease = a.acquire()
    a.on_call.append(Once("records.write", raising(AnswerLost("timed out")), moment))  # type: ignore[arg-type]
    assert lease.release()
    stored = a.records.get(LOCK)
    assert stored is not None
    assert stored.token == lease.token + 1
    assert not b.acquire(0).is_unclean


def test_a_release_never_frees_the_lock_of_the_successor(a: Process, b: Process) -> None:
    old = a.acquire()
    taken = []
    a.on_call.append(Once("records.write", lambda: taken.append(b.acquire())))
    assert not old.release()
    assert holds(taken[0])
    assert b.lock.show().is_held


def test_a_release_that_the_service_refuses_is_a_warning_and_the_lease_ends(a: Process) -> None:
    lease = a.acquire()
    a.on_call.append(lambda call: raising(Throttled("slow"))() if call.operation == "records.write" else None)
    assert not lease.release()
    assert not holds(lease)
    (remark,) = [event for event in a.events if isinstance(event, Remark)]
    assert remark.level == "warning"
    assert "expires in 60 s" in remark.message


# --- settling ---------------------------------------------------------------------------------------------------------


def test_after_a_clean_release_there_is_nothing_to_wait_for(a: Process, b: Process) -> None:
    a.acquire().release()
    lease = b.acquire()
    begun = b.clock.true_seconds
    lease.settle()
    assert b.clock.true_seconds == begun


def test_after_a_takeover_settling_waits_fifteen_minutes_since_the_acquire_beating_and_saying_why(
    a: Process, b: Process
) -> None:
    a.acquire()
    lease = b.acquire()
    begun = b.clock.true_seconds
    b.clock.advance(15)
    lease.settle()
    assert b.clock.true_seconds - begun == pytest.approx(900, abs=0.01)
    assert holds(lease)
    waits = [event for event in b.events if isinstance(event, Waiting) and "requests of the run" in event.reason]
    assert waits[0].seconds == pytest.approx(885, abs=0.01)
    begun = b.clock.true_seconds
    lease.settle()
    assert b.clock.true_seconds == begun


def test_the_unclean_mark_stays_over_clean_releases_until_someone_has_waited(world: World) -> None:
    names = [Process(world, name) for name in ("dead", "hasty", "patient", "next")]
    names[0].acquire()
    hasty = names[1].acquire()
    assert hasty.is_unclean
    hasty.release()
    patient = names[2].acquire(0)
    assert patient.is_unclean
    patient.settle()
    assert patient.release()
    assert not names[3].acquire(0).is_unclean


def test_a_settling_that_is_interrupted_leaves_the_mark(a: Process, b: Process) -> None:
    a.acquire()
    lease = b.acquire()
    waits: list[float] = []

    def interrupted(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise Interrupted("interrupted", "SIGTERM")
        b.clock.sleep(seconds)

    with pytest.raises(Interrupted):
        lease.settle(wait=interrupted)
    assert max(waits) <= LEASE / 6
    assert lease.release()
    assert Process(a.world, "third").acquire(0).is_unclean


def test_a_lease_lost_while_settling_stops_and_leaves_the_mark(a: Process, b: Process) -> None:
    a.acquire()
    lease = b.acquire()
    b.on_call.append(lambda call: raising(Throttled("slow"))() if call.operation == "records.write" else None)
    with pytest.raises(LeaseLost):
        lease.settle()
    b.on_call.clear()
    third = Process(a.world, "third").acquire()
    assert third.is_unclean


# --- the thread -------------------------------------------------------------------------------------------------------


def test_a_thread_renews_until_it_is_stopped(world: World) -> None:
    process = Process(world, "threaded", lease=0.24)
    lease = process.acquire()
    lease.start_beating()
    lease.start_beating()
    for _ in range(100):
        process.clock.advance(0.02)
        sleep(0.012)
        lease.check()
    lease.stop()
    assert "migrator-beat" not in {thread.name for thread in threading.enumerate()}
    process.clock.advance(0.2)
    assert not holds(lease)


def test_a_release_ends_the_thread(world: World) -> None:
    lease = Process(world, "threaded", lease=0.24).acquire()
    lease.start_beating()
    assert lease.release()
    assert "migrator-beat" not in {thread.name for thread in threading.enumerate()}
