"""A lease that is lent to a worker: good for as long as its holder lives, and not a moment longer."""

from __future__ import annotations

import pytest

from migrator.control.holder import Holder
from migrator.control.lease import Lease
from migrator.control.lent import LentLease
from migrator.control.lock import Lock
from migrator.core.events import Event
from migrator.errors import LeaseLost, MigratorError
from migrator.testing.memory import Once, World, raising

LEASE = 60.0


def nothing(_event: Event) -> None:
    """Events are for others."""


def held(world: World, owner: str = "run-1") -> Lease:
    return Lock(world.records, world.clock, world.entropy, Holder(owner, owner), LEASE, nothing).acquire()


def lent(world: World, lease: Lease) -> LentLease:
    return LentLease(world.records, world.clock, nothing, lease.lock, lease.renewed_at)


def test_a_worker_never_renews_and_stops_two_thirds_after_the_last_renewal_of_its_holder() -> None:
    world = World()
    lease = held(world)
    worker = lent(world, lease)
    world.clock.advance(39)
    worker.beat_if_due()
    assert not worker.beat()
    worker.check()
    world.clock.advance(2)
    with pytest.raises(LeaseLost):
        worker.check()


def test_a_renewal_that_it_is_told_of_counts_from_when_it_was_sent() -> None:
    world = World()
    lease = held(world)
    worker = lent(world, lease)
    world.clock.advance(30)
    assert lease.beat()
    sent = lease.renewed_at
    world.clock.advance(20)
    worker.extend(sent)
    worker.check()
    world.clock.advance(21)
    with pytest.raises(LeaseLost):
        worker.check()


def test_a_watched_beat_counts_from_the_look_before_it_was_seen_to_change() -> None:
    world = World()
    lease = held(world)
    away = world.as_another(world.clock.as_seen_by(monotonic=5000.0))
    worker = LentLease(away.records, away.clock, nothing, lease.lock, away.clock.monotonic())
    worker.ask()
    worker.watch()
    assert not worker.is_granted, "a beat that stands there may be of a holder that is dead"
    world.clock.advance(10)
    worker.watch()
    assert not worker.is_granted
    world.clock.advance(5)
    lease.beat()
    world.clock.advance(5)
    worker.watch()
    assert worker.is_granted
    # The look before was at 10.
    assert worker.renewed_at == pytest.approx(away.clock.monotonic() - 10)


def test_a_watched_lease_ends_with_its_holder() -> None:
    world = World()
    lease = held(world)
    worker = lent(world, lease)
    worker.watch()
    for _ in range(4):
        world.clock.advance(10)
        worker.watch()
    with pytest.raises(LeaseLost):
        worker.check()
    assert not lease.release()


def test_a_lock_that_another_run_took_is_lost_to_the_worker_at_once() -> None:
    world = World()
    worker = lent(world, held(world))
    world.clock.advance(LEASE)
    held(world, "run-2")
    fresh = LentLease(world.records, world.clock, nothing, worker.lock, world.clock.monotonic())
    fresh.watch()
    with pytest.raises(LeaseLost, match="run-2"):
        fresh.check()


def test_a_look_that_fails_changes_nothing() -> None:
    world = World()
    lease = held(world)
    worker = lent(world, lease)
    world.on_call.append(Once("records.get", raising(MigratorError("throttled", "no"))))
    worker.watch()
    worker.check()
    assert worker.renewed_at == lease.renewed_at
