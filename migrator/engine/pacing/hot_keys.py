"""Partition keys that the service throttles by themselves: each has a rate of its own, the table keeps its pace.

A partition takes 1,000 write units a second, whatever the table has (facts §4.5): more capacity does not help, and
slowing the whole run would not either.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from migrator.engine.pacing.bucket import Bucket

PARTITION_UNITS = 1_000.0
_FIRST_RATE = 100.0
"""What is left to a key after its first refusal: an application writes to it too, or it would not be hot."""
FORGET_SECONDS = 300.0
"""A key that was not throttled for so long is one like any other."""
MOST_KEYS = 10_000
"""Remembered at once: memory is bounded, whatever the table holds."""


@dataclass(slots=True)
class HotKeys:
    """The hot partition keys of a run, by table or `table/index` and fingerprint. Not thread-safe by itself."""

    _buckets: OrderedDict[tuple[str, str], Bucket] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._buckets)

    @property
    def resources(self) -> frozenset[str]:
        """Tables and indexes that have any."""
        return frozenset(resource for resource, _ in self._buckets)

    def throttled(self, resource: str, key: str, now: float) -> float:
        """The service refused a write to this key for its partition's sake. Returns the rate it has from now on."""
        bucket = self._buckets.get((resource, key))
        if bucket is None:
            bucket = Bucket(PARTITION_UNITS, at=now, rate=_FIRST_RATE, throttled_at=now, knee=2 * _FIRST_RATE)
            self._buckets[resource, key] = bucket
            if len(self._buckets) > MOST_KEYS:
                self._buckets.popitem(last=False)
        else:
            bucket.refill(now)
            bucket.slow(now, 0.5)
        self._buckets.move_to_end((resource, key))
        return bucket.rate

    def take(self, keys: Iterable[tuple[str, str]], units: float, now: float) -> float:
        """Zero where `units` of an item with these keys may go now, and then they count; else the seconds to hold it.

        `keys`: the item's partition keys, of its table and of the indexes that it is in.
        """
        hot = [(key, self._buckets[key]) for key in keys if key in self._buckets]
        held = 0.0
        for key, bucket in hot:
            if now - bucket.throttled_at > FORGET_SECONDS:
                del self._buckets[key]
                continue
            bucket.refill(now)
            held = max(held, bucket.debt_seconds)
        if held > 0.001:
            return held
        for _, bucket in hot:
            bucket.spend(units)
        return 0.0
