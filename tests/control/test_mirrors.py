"""What a mirror records: read back as written, and fenced against a worker that was overtaken."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from migrator.control.holder import Holder
from migrator.control.layout import mirror
from migrator.control.lease import Lease
from migrator.control.lock import Lock
from migrator.control.mirrors import Mirrors, MirrorState, ShardState, met_record
from migrator.core.events import Event
from migrator.core.ports import Expect, PutRecord
from migrator.errors import LeaseLost
from migrator.testing.memory import World

STATE = MirrorState("worker", 3, "2026-01-01T00:00:00+00:00", 120, {"t": "n1"}, {"t": "n0"}, 2, 40)
SHARD = ShardState("t", "shard-1", "arn", "000123", done=True)


@pytest.fixture
def world() -> World:
    return World()


def quiet(_: Event) -> None:
    return


@pytest.fixture
def take(world: World) -> Callable[[str], Lease]:
    def one(name: str) -> Lease:
        lock = Lock(
            world.records, world.clock, world.entropy, Holder(name, name), 60.0, quiet, place=mirror("001", "0")
        )
        return lock.acquire()

    return one


def test_what_a_mirror_says_is_read_back(world: World, take: Callable[[str], Lease]) -> None:
    mirrors, lease = Mirrors(world.records), take("a")
    assert (mirrors.state("001", "0"), mirrors.shards("001", "0")) == (None, {})
    mirrors.save_state("001", "0", STATE, lease)
    mirrors.save_shard("001", "0", SHARD, lease)
    assert mirrors.state("001", "0") == STATE
    assert mirrors.shards("001", "0") == {("t", "shard-1"): SHARD}
    assert mirrors.state("002", "0") is None
    assert mirrors.shards("001", "1") == {}


def test_its_lock_and_the_one_of_the_runs_do_not_meet(world: World, take: Callable[[str], Lease]) -> None:
    take("a")
    run = Lock(world.records, world.clock, world.entropy, Holder("b", "b"), 60.0, quiet)
    assert run.acquire(0.0).token


def test_a_worker_that_was_overtaken_writes_nothing_over_what_its_successor_wrote(
    world: World, take: Callable[[str], Lease]
) -> None:
    mirrors, first = Mirrors(world.records), take("a")
    mirrors.save_shard("001", "0", SHARD, first)
    second = take("b")
    newer = ShardState("t", "shard-1", "arn", "000200")
    mirrors.save_shard("001", "0", newer, second)
    mirrors.save_state("001", "0", STATE, second)
    # It froze before it could see that it was overtaken: only the fence is left.
    thawed = Lease(world.records, world.clock, quiet, first.lock, world.clock.monotonic())
    with pytest.raises(LeaseLost):
        mirrors.save_shard("001", "0", ShardState("t", "shard-1", "arn", "000150"), thawed)
    thawed = Lease(world.records, world.clock, quiet, first.lock, world.clock.monotonic())
    with pytest.raises(LeaseLost):
        mirrors.save_state("001", "0", MirrorState("frozen"), thawed)
    assert mirrors.shards("001", "0") == {("t", "shard-1"): newer}
    assert mirrors.state("001", "0") == STATE


def test_functions_each_say_where_they_met_a_probe_and_whoever_asked_forgets_it(
    world: World, take: Callable[[str], Lease]
) -> None:
    mirrors = Mirrors(world.records)
    for nonce, table, generation in (("n1", "old", 2), ("n1", "new", 2), ("n2", "old", 3)):
        record = met_record("001", "0", nonce, table, generation, "2026-01-01T00:00:00+00:00")
        world.records.write(PutRecord(record, Expect()))
    assert mirrors.met("001", "0", "n1") == {"old": 2, "new": 2}
    assert mirrors.met("001", "0", "n2") == {"old": 3}
    mirrors.forget_met("001", "0", "n1", ("old", "new"), take("a"))
    assert mirrors.met("001", "0", "n1") == {}
    assert mirrors.met("001", "0", "n2") == {"old": 3}
