"""Capacity budgets: how fast a data step may read and write, and why it waits.

A budget is a token bucket that may go into debt: a request is sent while the bucket is not in debt, and what it
consumed is taken off when the answer tells. Without a budget the rate starts at what any new table takes, doubles every
second while that is what holds the run up, and is halved when the service refuses: so it finds the table's limit.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

from migrator.core.ports import Clock, Consumed
from migrator.engine.pacing.bucket import NO_LIMIT, Bucket
from migrator.engine.pacing.hot_keys import HotKeys

CONFLICT = 0.9
"""What one conflict in a second leaves of the rate: it is load, but no lack of capacity."""
FIRST_RATES: Mapping[str, float] = {"read": 12_000.0, "write": 4_000.0}
"""Where a run without a budget starts: what a new on-demand table takes at once (facts §4.5)."""
BATCH_SECONDS = 0.25
"""A batch holds at most what this long may use: an application beside it finds capacity in between."""
_LATENCIES, _LATENCY_SECONDS = 21, 60.0


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
    share: float = 1.0
    """Of each budget, and of what a run starts with, where several processes share them."""
    _buckets: dict[tuple[str, str], Bucket] = field(default_factory=dict)
    _hot: HotKeys = field(default_factory=HotKeys)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _total: dict[str, float] = field(default_factory=lambda: {"read": 0.0, "write": 0.0})
    _began: float | None = None
    _why_set: str = ""
    _latencies: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=_LATENCIES))

    def _limit(self, way: str, resource: str) -> float:
        limits = self.reads if way == "read" else self.writes
        return self.share * limits.get(resource, limits.get("*", NO_LIMIT))

    def _first(self, way: str) -> float:
        return self.share * FIRST_RATES[way]

    def _bucket(self, way: str, resource: str) -> Bucket:
        bucket = self._buckets.get((way, resource))
        if bucket is None:
            limit = self._limit(way, resource)
            rate = self._first(way) if limit == NO_LIMIT else limit
            bucket = self._buckets[(way, resource)] = Bucket(limit, at=self.clock.monotonic(), rate=rate)
        return bucket

    def set_budgets(self, reads: Mapping[str, float], writes: Mapping[str, float], why: str = "") -> None:
        """Other budgets from the next request on; `why` says who set them, for the waits."""
        with self._lock:
            now = self.clock.monotonic()
            self.reads, self.writes, self._why_set = reads, writes, why
            for (way, resource), bucket in self._buckets.items():
                bucket.refill(now)
                bucket.set_limit(self._limit(way, resource), self._first(way))

    # --- waiting

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
                        why = self._why(bucket)
            if seconds <= 0.001:
                return
            self.wait(min(seconds, 5.0), f"{why} {way} units/s on {slowest}")

    def _why(self, bucket: Bucket) -> str:
        if bucket.rate >= bucket.limit:
            return f"budget of {bucket.limit:g}{self._why_set}"
        if bucket.knee is None:
            return f"finding the limit: {bucket.rate:.0f}"
        return f"throttled: {bucket.rate:.0f}"

    def most_units(self, way: str) -> float:
        """The units that one batch may use."""
        with self._lock:
            rates = [bucket.rate for (direction, _), bucket in self._buckets.items() if direction == way]
            limits = self.reads if way == "read" else self.writes
            shares = [self.share * limit for limit in limits.values()]
            return BATCH_SECONDS * min([*rates, *shares], default=NO_LIMIT)

    # --- what came of requests

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

    def ease(self, table: str) -> None:
        """The table is under load, whoever causes it: halve every rate of it and its indexes."""
        with self._lock:
            now = self.clock.monotonic()
            self._bucket("write", table)
            for (_, resource), bucket in self._buckets.items():
                if resource.partition("/")[0] == table:
                    bucket.slow(now, 0.5)

    # --- hot keys

    def hot(self, resource: str, key: str) -> None:
        """The service refused a write for the sake of its partition: `key` is the partition key's fingerprint."""
        with self._lock:
            self._hot.throttled(resource, key, self.clock.monotonic())

    @property
    def has_hot_keys(self) -> bool:
        return bool(self._hot)

    def hot_resources(self) -> frozenset[str]:
        """Tables and indexes that have hot keys."""
        with self._lock:
            return self._hot.resources

    def take_hot(self, keys: Iterable[tuple[str, str]], units: float) -> float:
        """Zero where so many units of an item with these (resource, partition key) may go now; else seconds to hold."""
        with self._lock:
            return self._hot.take(keys, units, self.clock.monotonic())

    # --- what is seen

    def answered(self, seconds: float) -> None:
        """How long the service took for one request of writes."""
        with self._lock:
            self._latencies.append((self.clock.monotonic(), seconds))

    def latency(self) -> float | None:
        """The median of the last requests, of the last minute; None where there were too few."""
        with self._lock:
            now = self.clock.monotonic()
            found = [seconds for moment, seconds in self._latencies if now - moment <= _LATENCY_SECONDS]
            return median(found) if len(found) >= _LATENCIES // 4 else None

    def rates(self) -> tuple[float, float]:
        """(read, write) units a second on average since the first request."""
        with self._lock:
            elapsed = 0.0 if self._began is None else self.clock.monotonic() - self._began
            if elapsed < 1.0:
                return (0.0, 0.0)
            return (self._total["read"] / elapsed, self._total["write"] / elapsed)
