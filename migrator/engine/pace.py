"""Capacity budgets: how fast a data step may read and write, and why it waits.

A budget is a token bucket that may go into debt: a request is sent while the bucket is not in debt, and what it
consumed is taken off when the answer tells. Throttling halves the rate, which then recovers slowly (AIMD).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from migrator.core.ports import Clock, Consumed

_RECOVERY_SECONDS = 30.0
"""How long a halved rate takes to come back to twice itself."""
_LEAST_SHARE = 1 / 64
_LEAST_UNITS = 25.0
"""Without a budget no throttling slows a resource below this: partitions take 40 times as much (facts §4.5)."""
_HALF_LIFE = 5.0
"""Seconds over which what was seen lately is halved."""
CONFLICT = 0.9
"""What one conflict in a second leaves of the rate: it is load, but no lack of capacity."""
_NO_LIMIT = float("inf")


@dataclass(slots=True)
class Bucket:
    """Units a second for one resource in one direction; `limit` infinite is no budget of its own."""

    limit: float
    level: float = 0.0
    at: float = 0.0
    rate: float = _NO_LIMIT
    """The present rate: at most `limit`, lower after throttling."""
    seen: float = 0.0
    """Units lately, decaying: what a first throttling is held against where there is no limit."""
    began: float | None = None
    """When the first units were spent: an average over less than a half-life counts for what it covers."""
    throttled_at: float = -_NO_LIMIT

    def refill(self, now: float) -> None:
        elapsed = max(0.0, now - self.at)
        self.at = now
        if self.rate < self.limit and now - self.throttled_at > 1.0:
            self.rate = min(self.limit, self.rate * 2 ** (elapsed / _RECOVERY_SECONDS))
            if self.limit == _NO_LIMIT and self.rate > 64 * max(self.lately(now), 1.0):
                self.rate = _NO_LIMIT
        self.level = 0.0 if self.rate == _NO_LIMIT else min(0.0, self.level + elapsed * self.rate)
        self.seen *= 0.5 ** (elapsed / _HALF_LIFE)

    def lately(self, now: float) -> float:
        """Units a second over the last seconds."""
        age = 0.0 if self.began is None else max(0.5, now - self.began)
        weight = _HALF_LIFE / math.log(2) * (1 - 0.5 ** (age / _HALF_LIFE))
        return self.seen / weight if weight else 0.0

    def spend(self, units: float) -> None:
        self.began = self.at if self.began is None else self.began
        self.level -= units
        self.seen += units

    def slow(self, now: float, factor: float) -> None:
        """Leave `factor` of the rate, at most once a second."""
        if now - self.throttled_at < 1.0:
            return
        self.throttled_at = now
        present = self.lately(now) if self.rate == _NO_LIMIT else min(self.rate, self.limit)
        floor = _LEAST_UNITS if self.limit == _NO_LIMIT else self.limit * _LEAST_SHARE
        self.rate = max(floor, present * factor)

    @property
    def debt_seconds(self) -> float:
        return 0.0 if self.level >= 0 or self.rate == _NO_LIMIT else -self.level / self.rate


@dataclass(slots=True)
class Pace:
    """The budgets of one run. Threads share it.

    `reads` and `writes` hold units a second by resource (a table, or `table/index`); "*" is every other resource.
    """

    clock: Clock
    wait: Callable[[float, str], None]
    """Sleeps, says why, and stops where a stop was asked for."""
    reads: Mapping[str, float] = field(default_factory=dict)
    writes: Mapping[str, float] = field(default_factory=dict)
    _buckets: dict[tuple[str, str], Bucket] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _total: dict[str, float] = field(default_factory=lambda: {"read": 0.0, "write": 0.0})
    _began: float | None = None

    def _bucket(self, way: str, resource: str) -> Bucket:
        bucket = self._buckets.get((way, resource))
        if bucket is None:
            limits = self.reads if way == "read" else self.writes
            limit = limits.get(resource, limits.get("*", _NO_LIMIT))
            bucket = self._buckets[(way, resource)] = Bucket(limit, at=self.clock.monotonic(), rate=limit)
        return bucket

    def before(self, way: str) -> None:
        """Wait until no budget of this direction is in debt."""
        while True:
            with self._lock:
                now = self.clock.monotonic()
                self._began = now if self._began is None else self._began
                slowest, seconds = "", 0.0
                for (direction, resource), bucket in self._buckets.items():
                    bucket.refill(now)
                    if direction == way and bucket.debt_seconds > seconds:
                        slowest, seconds = resource, bucket.debt_seconds
                        rate, limit = bucket.rate, bucket.limit
            if seconds <= 0.001:
                return
            why = f"budget of {limit:g}" if rate >= limit else f"throttled: {rate:.0f}"
            self.wait(min(seconds, 5.0), f"{why} {way} units/s on {slowest}")

    def spent(self, consumed: Consumed) -> None:
        """Take off what a request consumed."""
        with self._lock:
            for way, units in (("read", consumed.read), ("write", consumed.write)):
                for resource, amount in units.items():
                    self._bucket(way, resource).spend(amount)
                    self._total[way] += amount

    def throttled(self, way: str, resource: str) -> None:
        """The service refused for capacity: halve the rate."""
        with self._lock:
            self._bucket(way, resource).slow(self.clock.monotonic(), 0.5)

    def conflicted(self, way: str, resource: str) -> None:
        """A transaction of somebody else was under way on the item: give way a little."""
        with self._lock:
            self._bucket(way, resource).slow(self.clock.monotonic(), CONFLICT)

    def most_units(self, way: str) -> float:
        """The units that about one second may use: a batch is cut to it."""
        with self._lock:
            rates = [bucket.rate for (direction, _), bucket in self._buckets.items() if direction == way]
            limits = self.reads if way == "read" else self.writes
            return min([*rates, *limits.values()], default=_NO_LIMIT)

    def rates(self) -> tuple[float, float]:
        """(read, write) units a second on average since the first request."""
        with self._lock:
            elapsed = 0.0 if self._began is None else self.clock.monotonic() - self._began
            if elapsed < 1.0:
                return (0.0, 0.0)
            return (self._total["read"] / elapsed, self._total["write"] / elapsed)
