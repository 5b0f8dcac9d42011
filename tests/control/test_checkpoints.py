from __future__ import annotations

from dataclasses import replace

import pytest

from migrator.control.checkpoints import Checkpoint, Checkpoints, Claim
from migrator.control.layout import checkpoint, checkpoint_head, checkpoints
from migrator.control.lease import Lease
from migrator.core.change import Change, ChecksLost, Update, Written
from migrator.core.events import Counts
from migrator.core.ports import Expect, PutRecord, Record
from migrator.errors import AnswerLost, LeaseLost, MigratorError, RecordConflict
from migrator.testing.memory import Call, Crash, CrashAt, Once, World, raising
from tests.control.processes import Process

REV, STEP = "20261130172204", "0.apply.1"
KEY = {"PK": {"S": "a"}, "SK": {"N": "1.50"}, "B": {"B": b"\x00\xff"}}


def of(process: Process, lease: Lease) -> Checkpoints:
    return Checkpoints(process.records, process.clock, lease)


def claim(process: Process, lease: Lease, total: int = 4, content: str = "v1", table: str = "id-1") -> Claim:
    return of(process, lease).claim(REV, STEP, total, content, table)


def test_a_fresh_step_begins_every_segment_at_its_beginning(a: Process) -> None:
    got = claim(a, a.acquire())
    assert got == Claim(tuple(Checkpoint(REV, STEP, segment, 4) for segment in range(4)), False, False)


def test_a_step_may_begin_by_looking_before_the_first_write(a: Process) -> None:
    lease = a.acquire()
    got = of(a, lease).claim(REV, STEP, 2, "v1", "id-1", stage="before")
    assert [one.stage for one in got.checkpoints] == ["before", "before"]


def test_a_resumed_step_continues_where_each_segment_was_saved_with_its_own_number_of_segments(
    a: Process, b: Process
) -> None:
    lease = a.acquire()
    first, second, *_ = claim(a, lease).checkpoints
    saved = [
        replace(first, next=KEY, counts=Counts(scanned=5, written=3, read_units=0.1)),
        replace(second, done=True, stage="check"),
    ]
    for one in saved:
        of(a, lease).save(one)
    lease.release()
    again = claim(b, b.acquire(), total=9)
    assert (again.resumed, again.changed) == (True, False)
    assert again.checkpoints == (*saved, Checkpoint(REV, STEP, 2, 4), Checkpoint(REV, STEP, 3, 4))


def test_a_changed_content_is_reported_and_keeps_what_is_saved_until_the_step_restarts(a: Process) -> None:
    lease = a.acquire()
    first = claim(a, lease).checkpoints[0]
    of(a, lease).save(replace(first, next=KEY))
    changed = claim(a, lease, content="v2")
    assert changed.changed
    assert changed.checkpoints[0].next == KEY
    assert claim(a, lease, content="v2").changed
    restarted = of(a, lease).restart(REV, STEP, 2, "v2", "id-1")
    assert restarted.checkpoints == (Checkpoint(REV, STEP, 0, 2), Checkpoint(REV, STEP, 1, 2))
    after = claim(a, lease, total=7, content="v2")
    assert (after.resumed, after.changed, after.checkpoints) == (True, False, restarted.checkpoints)


def test_checkpoints_of_another_table_are_refused(a: Process) -> None:
    lease = a.acquire()
    claim(a, lease)
    with pytest.raises(MigratorError) as caught:
        claim(a, lease, table="id-2")
    assert caught.value.code == "restored-table"


def test_steps_keep_their_checkpoints_apart(a: Process) -> None:
    lease = a.acquire()
    mine = of(a, lease)
    mine.save(replace(claim(a, lease).checkpoints[0], next=KEY))
    assert mine.claim(REV, "0.apply.2", 1, "v1", "id-1").checkpoints[0].next is None
    mine.clear(REV, "0.apply.2")
    assert claim(a, lease).checkpoints[0].next == KEY


# --- the fence --------------------------------------------------------------------------------------------------------


def test_a_frozen_worker_cannot_save_a_checkpoint_once_its_successor_claimed(a: Process, b: Process) -> None:
    old = a.acquire()
    mine = claim(a, old).checkpoints[0]
    a.on_call.append(Once("records.write", lambda: claim(b, b.acquire()) and None))
    with pytest.raises(LeaseLost):
        of(a, old).save(replace(mine, done=True))
    assert not claim(b, Process(b.world, "third").acquire()).checkpoints[0].done


def test_a_transaction_of_a_frozen_worker_fails_from_the_claim_on(a: Process, b: Process) -> None:
    a.world.items.put("t", {"PK": {"S": "x"}})
    old = a.acquire()
    mine = of(a, old)
    segment = claim(a, old).checkpoints[2]
    update = Update({"PK": {"S": "x"}}, Change({}, {"n": {"N": "1"}}))

    class Frozen:
        """Signed while the lease was good, and only then delayed."""

        def check(self) -> None:
            old.check()

    check = mine.segment_check(segment)
    assert a.world.items.transact("t", update, [check], Frozen()).outcomes == [Written()]
    a.world.on_call.append(Once("items.transact", lambda: claim(b, b.acquire()) and None))
    (outcome,) = a.world.items.transact("t", update, [check], Frozen()).outcomes
    assert isinstance(outcome, ChecksLost)


def test_a_save_of_the_earlier_holder_that_lands_during_the_claim_is_kept(a: Process, b: Process) -> None:
    old = a.acquire()
    mine = claim(a, old, total=30).checkpoints[7]
    late = Record(
        checkpoint(REV, STEP, 7),
        old.token,
        {"stage": "pass", "done": True, "has_next": False, "counts": {"written": 5}},
    )
    new = b.acquire()
    # After the head was claimed and the segments were read, before their tokens are raised.
    b.on_call.append(
        Once(
            "records.write",
            lambda: a.world.records.as_another().write(PutRecord(late, Expect(token=old.token))),
            nth=1,
        )
    )
    got = claim(b, new).checkpoints
    assert got[7] == replace(mine, done=True, counts=Counts(written=5))
    tokens = {record.token for record in b.records.query(checkpoints(REV, STEP))}
    assert tokens == {new.token}


def test_an_earlier_holder_that_saves_again_and_again_does_not_hold_up_the_claim_for_ever(
    a: Process, b: Process
) -> None:
    old = a.acquire()
    claim(a, old, total=1)
    new = b.acquire()
    saves = [0]

    def save_again(call: Call) -> None:
        if call.operation == "records.write" and call.moment == "before" and saves[0] < most:
            body = {"stage": "pass", "done": False, "has_next": False, "counts": {"written": saves[0]}}
            record = Record(checkpoint(REV, STEP, 0), old.token, body)
            b.world.records.as_another().write(PutRecord(record, Expect()))
            saves[0] += 1

    most = 3
    b.on_call.append(save_again)
    assert claim(b, new, total=1).checkpoints[0].counts == Counts(written=2)
    saves[0], most = 0, 99
    with pytest.raises(RecordConflict):
        claim(b, new, total=1)


def test_a_claim_whose_answers_are_lost_is_made_all_the_same(a: Process, b: Process) -> None:
    lease = a.acquire()
    of(a, lease).save(replace(claim(a, lease).checkpoints[1], next=KEY))
    lease.release()
    new = b.acquire()
    for nth in range(3):
        b.on_call.append(Once("records.write", raising(AnswerLost("timed out")), "after", nth))
    got = claim(b, new)
    assert got.checkpoints[1].next == KEY
    assert {record.token for record in b.records.query(checkpoints(REV, STEP))} == {new.token}


def test_a_holder_that_lost_the_lock_cannot_claim_back(a: Process, b: Process) -> None:
    old = a.acquire()
    claim(a, old)
    a.on_call.append(Once("records.get", lambda: claim(b, b.acquire()) and None))
    with pytest.raises(LeaseLost):
        claim(a, old)


def test_a_checkpoint_changed_by_hand_is_not_overwritten(a: Process) -> None:
    lease = a.acquire()
    one = claim(a, lease).checkpoints[0]
    a.world.records.store.records.pop((checkpoints(REV, STEP), checkpoint(REV, STEP, 0).sort))
    with pytest.raises(MigratorError) as caught:
        of(a, lease).save(one)
    assert caught.value.code == "checkpoint-lost"


# --- crashes ----------------------------------------------------------------------------------------------------------


def crash_at_every_moment(prepare, act):  # type: ignore[no-untyped-def]
    """A world for each moment of `act` at which the process died."""
    moment = 0
    while True:
        world = World()
        process = Process(world, "first")
        lease = process.acquire()
        prepare(process, lease)
        process.on_call.append(CrashAt(moment))
        try:
            act(process, lease)
        except Crash:
            yield world
            moment += 1
        else:
            assert moment > 4
            return


def test_a_first_claim_that_crashes_anywhere_begins_again() -> None:
    for world in crash_at_every_moment(lambda *_: None, lambda process, lease: claim(process, lease, total=60)):
        second = Process(world, "second")
        got = claim(second, second.acquire(), total=7, content="v2")
        assert not got.changed or got.resumed
        assert all(one.next is None and not one.done for one in got.checkpoints)
        assert [one.segment for one in got.checkpoints] == list(range(len(got.checkpoints)))
        assert len(got.checkpoints) in (7, 60)
        tokens = [record.token for record in world.records.query(checkpoints(REV, STEP))]
        assert tokens == [tokens[0]] * (len(got.checkpoints) + 1)


def test_a_clear_that_crashes_anywhere_leaves_no_progress_and_no_token_of_its_own() -> None:
    def prepare(process: Process, lease: Lease) -> None:
        for one in claim(process, lease, total=60).checkpoints:
            of(process, lease).save(replace(one, done=True))

    for world in crash_at_every_moment(prepare, lambda process, lease: of(process, lease).clear(REV, STEP)):
        head = world.records.get(checkpoint_head(REV, STEP))
        second = Process(world, "second")
        got = claim(second, second.acquire(), total=7)
        if head is None:
            assert not got.resumed
            assert all(not one.done for one in got.checkpoints)
            assert len(list(world.records.query(checkpoints(REV, STEP)))) == 8
        else:
            assert all(one.done for one in got.checkpoints)


def test_a_clear_leaves_nothing_and_may_be_repeated(a: Process) -> None:
    lease = a.acquire()
    claim(a, lease, total=60)
    of(a, lease).clear(REV, STEP)
    of(a, lease).clear(REV, STEP)
    assert list(a.records.query(checkpoints(REV, STEP))) == []


def test_a_long_claim_keeps_the_lease_fresh_resumed_and_cleared(a: Process) -> None:
    lease = a.acquire()
    a.on_call.append(
        lambda call: a.clock.advance(2) if call.operation == "records.write" and call.moment == "before" else None
    )
    for resumed in (False, True):
        begun = a.clock.true_seconds
        got = claim(a, lease, total=900)
        assert (got.resumed, len(got.checkpoints)) == (resumed, 900)
        assert a.clock.true_seconds - begun > 60
    begun = a.clock.true_seconds
    of(a, lease).clear(REV, STEP)
    assert a.clock.true_seconds - begun > 60
    lease.check()


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"stage": "sideways", "done": False, "has_next": False},
        {"stage": "pass", "done": "no", "has_next": False},
        {"stage": "pass", "done": False, "has_next": True},
        {"stage": "pass", "done": False, "has_next": False, "counts": {"scanned": None}},
    ],
)
def test_a_damaged_checkpoint_is_an_error_that_names_it(a: Process, body: dict[str, object]) -> None:
    lease = a.acquire()
    claim(a, lease)
    a.records.write(PutRecord(Record(checkpoint(REV, STEP, 2), 1, body), Expect()))
    with pytest.raises(MigratorError, match="segment#0000002") as caught:
        claim(a, lease)
    assert caught.value.code == "damaged-record"


def test_a_start_key_that_is_no_key_is_damage(a: Process) -> None:
    lease = a.acquire()
    claim(a, lease)
    body = {"stage": "pass", "done": False, "has_next": True}
    for items in ({}, {"next": {"PK": {"Q": "x"}}}, {"next": {"PK": {"N": "x"}}}):
        a.records.write(PutRecord(Record(checkpoint(REV, STEP, 2), 1, body, items), Expect()))
        with pytest.raises(MigratorError) as caught:
            claim(a, lease)
        assert caught.value.code == "damaged-record"


@pytest.mark.parametrize("body", [{}, {"total": 0, "content_hash": "v1", "table_id": "id-1"}])
def test_a_damaged_head_is_an_error(a: Process, body: dict[str, object]) -> None:
    lease = a.acquire()
    a.records.write(PutRecord(Record(checkpoint_head(REV, STEP), 1, body), Expect()))
    with pytest.raises(MigratorError, match="'head'"):
        claim(a, lease)
