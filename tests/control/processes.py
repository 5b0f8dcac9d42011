"""Runs as tests see them: each a process of its own on one world, with its own clock settings."""

from __future__ import annotations

from datetime import timedelta

from migrator.control.holder import Holder
from migrator.control.lease import Lease
from migrator.control.lock import Lock
from migrator.core.events import Event
from migrator.errors import LeaseLost
from migrator.testing.memory import World

LEASE = 60.0


class Process:
    """One run: its world, its lock, what it reported."""

    def __init__(
        self, world: World, name: str, *, wall: timedelta = timedelta(), monotonic: float = 0.0, lease: float = LEASE
    ):
        self.world = world.as_another(world.clock.as_seen_by(wall, monotonic))
        self.clock = self.world.clock
        self.records = self.world.records
        self.on_call = self.world.on_call
        self.events: list[Event] = []
        self.holder = Holder(self.world.entropy.nonce(), name, f"host-{name}", "41")
        self.lock = Lock(
            self.records, self.clock, self.world.entropy, self.holder, lease, self.events.append, scope="orders"
        )

    def acquire(self, timeout: float | None = None) -> Lease:
        return self.lock.acquire(timeout)

    def keep_beating(self, lease: Lease, seconds: float) -> None:
        """Beat when due for the next `seconds`, as time passes for whomever."""
        left = int(seconds)
        for second in range(1, left + 1):
            self.clock.at(second, lease.beat_if_due)


def holds(lease: Lease) -> bool:
    try:
        lease.check()
    except LeaseLost:
        return False
    return True
