from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta

import pytest

from migrator.control.layout import BEAT, LOCK
from migrator.control.lease import Lease
from migrator.control.lock import LockView
from migrator.core.events import Waiting
from migrator.core.ports import Expect, PutRecord, Record
from migrator.errors import AnswerLost, Interrupted, LockHeld, MigratorError, ServiceError, Throttled
from migrator.testing.memory import Crash, CrashAt, Once, World, raising
from tests.control.processes import LEASE, Process, holds

TINY = 1e-6
"""Seconds lost in rounding."""


def stored_token(world: World) -> int:
    record = world.records.get(LOCK)
    assert record is not None
    return record.token


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_the_first_token_is_random_and_below_48_bits() -> None:
    tokens = {Process(World(seed=seed), "x").acquire().token for seed in range(5)}
    assert len(tokens) == 5
    assert all(0 < token <= 2**48 for token in tokens)
    assert max(tokens) > 2**40


def test_acquire_release_and_break_all_raise_the_token_and_nothing_deletes_the_lock(a: Process, b: Process) -> None:
    lease = a.acquire()
    assert stored_token(a.world) == lease.token
    assert lease.release()
    assert stored_token(a.world) == lease.token + 1
    second = b.acquire()
    assert second.token == lease.token + 2
    b.lock.break_lock(b.holder.owner)
    assert stored_token(a.world) == lease.token + 3


def test_a_lock_record_that_was_deleted_by_hand_is_made_again_above_the_last_token_known(a: Process) -> None:
    lease = a.acquire()
    a.world.records.store.records.pop((LOCK.partition, LOCK.sort))
    beat = a.records.get(BEAT)
    assert beat is not None
    a.records.write(PutRecord(Record(BEAT, 2**50, beat.body), Expect()))
    assert Process(a.world, "next").acquire().token > 2**50 > lease.token


def test_the_lock_names_owner_host_run_start_and_lease(a: Process) -> None:
    a.acquire()
    view = a.lock.show()
    assert view.record is not None
    assert view.record.holder == a.holder
    assert (view.is_held, view.holder, view.record.lease_seconds) == (True, "ci-7 (run 41, host host-ci-7)", LEASE)
    assert view.record.acquired_at == "2026-01-01T12:00:00+00:00"


# --- waiting and taking over ------------------------------------------------------------------------------------------


def test_a_held_lock_is_refused_at_once_with_timeout_zero_naming_the_holder_and_what_to_type(
    a: Process, b: Process
) -> None:
    a.acquire()
    with pytest.raises(LockHeld) as caught:
        b.acquire(0)
    assert caught.value.exit_code == 4
    assert str(caught.value) == (
        "error[lock-held]: `orders` is locked by ci-7 (run 41, host host-ci-7) since 12:00:00 UTC; its lease is 60 s"
    )
    assert caught.value.hint == (
        f"wait with --lock-timeout 120, or `migrator lock release --owner {a.holder.owner}` if that run is dead"
    )


def test_a_wait_that_times_out_says_for_how_long_no_beat_was_seen(a: Process, b: Process) -> None:
    a.acquire()
    with pytest.raises(LockHeld, match=re.escape("no beat for 12 s of 60 s")):
        b.acquire(12)
    assert next(event for event in b.events if isinstance(event, Waiting)).reason == (
        "the lock is held by ci-7 (run 41, host host-ci-7); no beat for 0 s of 60 s"
    )


def test_a_start_on_another_day_is_shown_with_its_date(a: Process, b: Process) -> None:
    a.acquire()
    a.clock.advance(86_400)
    with pytest.raises(LockHeld, match="since 2026-01-01 12:00:00 UTC"):
        b.acquire(0)


def test_a_run_after_a_crash_takes_over_by_itself_with_the_default_timeout(a: Process, b: Process) -> None:
    dead = a.acquire()
    begun = b.clock.true_seconds
    lease = b.acquire()
    assert LEASE - TINY <= b.clock.true_seconds - begun <= LEASE + 3
    assert lease.token == dead.token + 1
    assert lease.is_unclean


def test_a_lock_long_silent_is_still_watched_for_a_whole_lease_before_it_is_taken(a: Process, b: Process) -> None:
    a.acquire()
    b.clock.advance(3600)
    begun = b.clock.true_seconds
    b.acquire()
    assert b.clock.true_seconds - begun >= LEASE - TINY


def test_each_beat_begins_the_silence_anew(a: Process, b: Process) -> None:
    lease = a.acquire()
    for delay in (20, 40):
        a.clock.at(delay, lease.beat_if_due)
    begun = b.clock.true_seconds
    b.acquire(200)
    assert b.clock.true_seconds - begun >= 40 + LEASE - TINY


def test_a_holder_that_beats_is_never_taken_over(a: Process, b: Process) -> None:
    lease = a.acquire()
    a.keep_beating(lease, 400)
    with pytest.raises(LockHeld):
        b.acquire(300)
    assert holds(lease)


def test_the_lease_that_counts_is_the_one_written_in_the_lock(world: World) -> None:
    slow, quick = Process(world, "slow", lease=120), Process(world, "quick", lease=10)
    slow.acquire()
    begun = quick.clock.true_seconds
    quick.acquire()
    assert 120 - TINY <= quick.clock.true_seconds - begun <= 123


@pytest.mark.parametrize("minutes", [-10, 10])
def test_wall_clocks_ten_minutes_apart_change_nothing(world: World, minutes: int) -> None:
    first = Process(world, "first")
    other = Process(world, "other", wall=timedelta(minutes=minutes), monotonic=-900 * minutes)
    lease = first.acquire()
    first.keep_beating(lease, 100)
    with pytest.raises(LockHeld):
        other.acquire()
    begun = other.clock.true_seconds
    other.clock.advance(40)
    other.acquire()
    assert other.clock.true_seconds - begun >= LEASE - TINY


def test_of_two_waiters_one_takes_over_and_the_other_waits_for_it(world: World, a: Process, b: Process) -> None:
    third = Process(world, "third")
    a.acquire()
    taken = []
    # Both have watched for a lease; the third one's request overtakes.
    b.on_call.append(Once("records.write", lambda: taken.append(third.acquire(65))))
    with pytest.raises(LockHeld, match="third"):
        b.acquire(70)
    assert stored_token(world) == taken[0].token
    assert holds(taken[0])


def test_a_beat_that_arrives_just_before_the_takeover_holds_it_off(a: Process, b: Process) -> None:
    lease = a.acquire()
    a.clock.at(39, lease.beat_if_due)
    a.clock.advance(1)

    def late() -> None:
        a.records.write(PutRecord(Record(BEAT, lease.token, {"owner": a.holder.owner}), Expect(token=lease.token)))

    b.on_call.append(Once("records.write", late))
    begun = b.clock.true_seconds
    b.acquire(400)
    assert b.clock.true_seconds - begun >= 38 + LEASE + LEASE - TINY


# --- two acquirers, interleaved at every call -------------------------------------------------------------------------


def count_moments(process: Process) -> int:
    seen = []
    process.on_call.append(seen.append)
    process.acquire()
    return len(seen)


@pytest.mark.parametrize("start", ["absent", "released", "dead"])
def test_of_two_acquirers_that_meet_at_any_call_exactly_one_holds(start: str) -> None:
    def prepared() -> World:
        world = World()
        if start != "absent":
            earlier = Process(world, "earlier").acquire()
            if start == "released":
                earlier.release()
        return world

    moments = count_moments(Process(prepared(), "count"))
    assert moments >= 6
    for moment in range(moments):
        world = prepared()
        one, two = Process(world, "one"), Process(world, "two")
        leases: list[Lease] = []
        left = [moment]

        def meet(_: object, left: list[int] = left, two: Process = two, leases: list[Lease] = leases) -> None:
            left[0] -= 1
            if left[0] == -1:
                with suppress(LockHeld):
                    leases.append(two.acquire())

        one.on_call.append(meet)
        with suppress(LockHeld):
            leases.append(one.acquire())
        held = [lease for lease in leases if holds(lease)]
        assert len(held) == 1, (start, moment)
        assert stored_token(world) == held[0].token


@pytest.mark.parametrize("start", ["absent", "released", "dead"])
def test_an_acquire_that_crashes_at_any_call_delays_the_next_run_by_a_lease_at_most(start: str) -> None:
    def prepared() -> World:
        world = World()
        if start != "absent":
            earlier = Process(world, "earlier").acquire()
            if start == "released":
                earlier.release()
        return world

    for moment in range(count_moments(Process(prepared(), "count"))):
        world = prepared()
        one, two = Process(world, "one"), Process(world, "two")
        one.on_call.append(CrashAt(moment))
        with pytest.raises(Crash):
            one.acquire()
        begun = world.clock.true_seconds
        assert holds(two.acquire())
        assert world.clock.true_seconds - begun <= LEASE + 3


# --- lost answers and giving up ---------------------------------------------------------------------------------------


def test_an_acquire_whose_answer_was_lost_is_mine_if_it_was_applied(a: Process, b: Process) -> None:
    a.on_call.append(Once("records.write", raising(AnswerLost("timed out")), "after"))
    lease = a.acquire(0)
    assert holds(lease)
    with pytest.raises(LockHeld):
        b.acquire(0)


def test_an_acquire_whose_answer_was_lost_before_it_was_applied_is_tried_again(a: Process) -> None:
    a.on_call.append(Once("records.write", raising(AnswerLost("timed out")), "before"))
    assert holds(a.acquire())


def test_the_lease_of_a_lost_answer_counts_from_when_the_request_was_sent(a: Process) -> None:
    def slow() -> None:
        a.clock.advance(30)
        raise AnswerLost("timed out")

    a.on_call.append(Once("records.write", slow, "after"))
    lease = a.acquire()
    a.clock.advance(9)
    assert holds(lease)
    a.clock.advance(1)
    assert not holds(lease)


def test_a_request_that_arrives_after_its_answer_was_given_up_is_still_mine(a: Process) -> None:
    delayed: list[tuple[PutRecord, ...]] = []

    def capture(call) -> None:  # type: ignore[no-untyped-def]
        if call.operation == "records.write" and call.moment == "before" and not delayed:
            delayed.append(call.arguments["actions"])
            a.clock.at(0.5, lambda: a.world.as_another().records.write(*delayed[0]))
            raise AnswerLost("timed out")

    a.on_call.append(capture)
    # Other tries find the service throttled until the first one has arrived.
    a.on_call.append(Once("records.write", raising(Throttled("slow")), nth=0))
    lease = a.acquire()
    assert holds(lease)
    assert lease.token == stored_token(a.world)


def test_a_lease_found_too_late_is_given_back_and_taken_anew(a: Process) -> None:
    delayed: list[tuple[PutRecord, ...]] = []

    def capture(call) -> None:  # type: ignore[no-untyped-def]
        if call.operation == "records.write" and call.moment == "before" and not delayed:
            delayed.append(call.arguments["actions"])
            a.clock.advance(50)
            a.world.as_another().records.write(*delayed[0])
            raise Throttled("slow")

    a.on_call.append(capture)
    lease = a.acquire()
    assert holds(lease)
    assert lease.token == delayed[0][0].record.token + 2
    assert not lease.is_unclean


def test_giving_up_releases_what_a_request_of_ours_may_have_taken(a: Process, b: Process) -> None:
    def applied_but_dark() -> None:
        a.on_call.append(Once("records.get", raising(ServiceError("service-unavailable", "503"))))
        raise AnswerLost("timed out")

    a.on_call.append(Once("records.write", applied_but_dark, "after"))
    with pytest.raises(ServiceError, match="503"):
        a.acquire()
    assert not a.lock.show().is_held
    assert holds(b.acquire(0))


def test_an_interrupted_acquire_releases_what_it_took(a: Process) -> None:
    a.on_call.append(Once("records.write", raising(KeyboardInterrupt()), "after"))
    with pytest.raises(KeyboardInterrupt):
        a.acquire()
    assert not a.lock.show().is_held


def test_a_wait_for_the_lock_may_be_ended_between_two_looks(a: Process, b: Process) -> None:
    holder = b.acquire()
    waits: list[float] = []

    def interrupted(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise Interrupted("interrupted", "SIGTERM")
        a.clock.sleep(seconds)

    with pytest.raises(Interrupted):
        a.lock.acquire(wait=interrupted)
    assert max(waits) <= 3
    assert stored_token(a.world) == holder.token


def test_giving_up_never_touches_the_lock_of_another_run(a: Process, b: Process) -> None:
    holder = b.acquire()
    with pytest.raises(LockHeld):
        a.acquire(5)
    assert stored_token(a.world) == holder.token


def test_an_error_of_the_giving_up_does_not_hide_why(a: Process) -> None:
    def dark() -> None:
        a.on_call.append(lambda _: raising(ServiceError("service-unavailable", "503"))())
        raise ServiceError("access-denied", "no PutItem")

    a.on_call.append(Once("records.write", dark))
    with pytest.raises(ServiceError, match="no PutItem"):
        a.acquire()


def test_throttled_acquires_go_on_until_the_timeout(a: Process) -> None:
    for _ in range(3):
        a.on_call.append(Once("records.write", raising(Throttled("slow"))))
    assert holds(a.acquire())


def test_a_free_lock_that_others_keep_winning_is_contended_not_held_by_nobody(a: Process) -> None:
    a.on_call.append(lambda call: raising(Throttled("slow"))() if call.operation == "records.write" else None)
    with pytest.raises(LockHeld, match="other runs took the lock first") as caught:
        a.acquire(3)
    assert caught.value.code == "lock-contended"


# --- show and break ---------------------------------------------------------------------------------------------------


def test_show_tells_for_how_long_it_saw_no_beat_and_writes_nothing(a: Process, b: Process) -> None:
    lease = a.acquire()
    a.clock.at(20, lease.beat_if_due)
    writes = []
    b.on_call.append(lambda call: writes.append(call) if call.operation == "records.write" else None)
    view = b.lock.show(watch_seconds=30)
    assert view.silent_seconds == pytest.approx(10, abs=1.1)
    assert view.silence in ("no beat for 9 s of 60 s", "no beat for 10 s of 60 s")
    assert writes == []


def test_show_of_a_lock_that_nobody_holds(a: Process) -> None:
    assert a.lock.show(5) == LockView(None)
    a.acquire().release()
    view = a.lock.show(5)
    assert (view.is_held, view.holder, view.silence) == (False, "", "")


def test_show_stops_watching_once_the_lock_is_released(a: Process, b: Process) -> None:
    lease = a.acquire()
    a.clock.at(3, lambda: lease.release() and None)
    assert not b.lock.show(30).is_held
    assert b.clock.true_seconds < 5


def test_break_refuses_the_nonce_of_another_run(a: Process, b: Process) -> None:
    a.acquire()
    with pytest.raises(MigratorError) as caught:
        b.lock.break_lock(b.holder.owner)
    assert caught.value.code == "lock-owner-differs"
    assert a.holder.owner in caught.value.message
    assert a.lock.show().is_held


def test_break_of_a_free_lock_is_an_error(a: Process) -> None:
    for _ in range(2):
        with pytest.raises(MigratorError) as caught:
            a.lock.break_lock("x")
        assert caught.value.code == "lock-not-held"
        a.acquire().release()


def test_a_broken_lock_is_free_at_once_unclean_and_its_old_holder_stops_at_its_next_beat(
    a: Process, b: Process
) -> None:
    old = a.acquire()
    was = b.lock.break_lock(a.holder.owner)
    assert was.holder == a.holder
    new = b.acquire(0)
    assert new.is_unclean
    assert not old.beat()
    assert not holds(old)
    assert holds(new)


def test_break_of_a_lock_that_changes_meanwhile_changes_nothing(a: Process, b: Process) -> None:
    lease = a.acquire()
    b.on_call.append(Once("records.write", lambda: lease.release() and None))
    with pytest.raises(MigratorError) as caught:
        b.lock.break_lock(a.holder.owner)
    assert caught.value.code == "lock-changed"
    assert stored_token(a.world) == lease.token + 1


def test_break_whose_answer_was_lost_reads_what_became_of_it(a: Process, b: Process) -> None:
    a.acquire()
    b.on_call.append(Once("records.write", raising(AnswerLost("timed out")), "after"))
    b.lock.break_lock(a.holder.owner)
    assert not b.lock.show().is_held


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [{"owner": None}, {"owner": 5}, {"lease_ms": "60"}, {"lease_ms": 0}, {"lease_ms": True}, {"released": "no"}],
)
def test_a_damaged_lock_record_is_an_error_that_names_it(a: Process, change: dict[str, object]) -> None:
    a.acquire()
    record = a.records.get(LOCK)
    assert record is not None
    a.records.write(PutRecord(Record(LOCK, record.token, {**record.body, **change}), Expect()))
    with pytest.raises(MigratorError, match="'lock'") as caught:
        a.lock.show()
    assert caught.value.code == "damaged-record"


def test_a_start_time_that_is_no_time_is_shown_as_it_is(a: Process, b: Process) -> None:
    a.acquire()
    record = a.records.get(LOCK)
    assert record is not None
    a.records.write(PutRecord(Record(LOCK, record.token, {**record.body, "acquired_at": "noonish"}), Expect()))
    with pytest.raises(LockHeld, match="since noonish"):
        b.acquire(0)
