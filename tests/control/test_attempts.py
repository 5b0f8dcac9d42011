"""Several attempts at one segment: only the last may save, or write by transaction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migrator.control.checkpoints import Checkpoint, Checkpoints
from migrator.control.holder import Holder
from migrator.control.lease import Lease
from migrator.control.lent import LentLease
from migrator.control.lock import Lock
from migrator.core.events import Counts, Event
from migrator.errors import LeaseLost, MigratorError, RecordConflict
from migrator.testing.memory import World

STEP = ("rev", "0.apply.0:pass")
AT = Checkpoint(*STEP, 1, 4)


def nothing(_event: Event) -> None:
    """Events are for others."""


def holder(world: World, owner: str) -> tuple[Lease, Checkpoints]:
    lease = Lock(world.records, world.clock, world.entropy, Holder(owner, owner), 60.0, nothing).acquire()
    found = Checkpoints(world.records, world.clock, lease)
    found.claim(*STEP, 4, "hash", "table-1")
    return lease, found


def worker(world: World, lease: Lease) -> Checkpoints:
    lent = LentLease(world.records, world.clock, nothing, lease.lock, world.clock.monotonic())
    return Checkpoints(world.records, world.clock, lent)


def test_a_later_attempt_takes_the_segment_from_an_earlier_one_that_is_still_alive() -> None:
    world = World()
    lease, _ = holder(world, "run-1")
    first, second = worker(world, lease), worker(world, lease)
    at, _ = first.attempt(AT)
    first.save(replace(at, counts=Counts(scanned=5)))
    first.confirm_attempts()
    taken, epoch = second.attempt(AT)
    assert epoch == 2
    assert taken.counts.scanned == 5, "it goes on where the first one came to"
    with pytest.raises(MigratorError, match="not as this run left it"):
        first.save(replace(at, counts=Counts(scanned=9)))
    with pytest.raises(LeaseLost, match="another attempt"):
        first.confirm_attempts()
    with pytest.raises(RecordConflict):
        world.records.write(first.segment_check(at))
    world.records.write(second.segment_check(taken))
    second.save(replace(taken, counts=Counts(scanned=8), done=True))
    assert [one.counts.scanned for one in second.standing(*STEP)] == [0, 8, 0, 0]


def test_no_attempt_of_a_run_before_outlives_the_claim_of_the_next() -> None:
    world = World()
    lease, _ = holder(world, "run-1")
    old = worker(world, lease)
    at, _ = old.attempt(AT)
    check = old.segment_check(at)
    world.clock.advance(60)
    new_lease, _ = holder(world, "run-2")
    with pytest.raises(RecordConflict):
        world.records.write(check)
    stale = worker(world, lease)
    with pytest.raises(MigratorError):
        stale.attempt(AT)
    worker(world, new_lease).attempt(AT)


def test_attempts_of_other_segments_are_left_alone() -> None:
    world = World()
    lease, _ = holder(world, "run-1")
    first, second = worker(world, lease), worker(world, lease)
    at, _ = first.attempt(AT)
    second.attempt(replace(AT, segment=2))
    first.save(at)
    first.confirm_attempts()


def test_a_cleared_step_leaves_no_attempt() -> None:
    world = World()
    lease, checkpoints = holder(world, "run-1")
    worker(world, lease).attempt(AT)
    checkpoints.clear(*STEP)
    assert [one for one in world.records.all() if one.address.partition.startswith("checkpoints")] == []


def test_a_segment_that_is_another_runs_is_not_gone_on_with() -> None:
    world = World()
    lease, _ = holder(world, "run-1")
    old = worker(world, lease)
    world.clock.advance(60)
    holder(world, "run-2")
    fresh = worker(world, lease)
    del old
    with pytest.raises(LeaseLost):
        fresh.held(AT)
