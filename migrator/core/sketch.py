"""How entries spread over partition keys, in bounded memory: the heaviest keys, how many there are, and a histogram.

Two sketches side by side. The heaviest keys by space-saving: a key that holds more than 1/capacity of all units is
among them, and its figure is too high by at most `error`. The spread by a sample of distinct keys: those whose hash
ends in `level` zero bits are kept with exact counts, the others are not; each stands for 2**level keys. Up to the
capacity both are exact.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

CAPACITY = 4096
"""Keys held by each of the two sketches: some hundred kilobytes."""


@dataclass(frozen=True, slots=True)
class HeavyKey:
    """A key, the units under it, and by how much they may be too many."""

    key: str
    units: float
    error: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """About so many keys have from `least` to `most` entries."""

    least: int
    most: int
    keys: int


@dataclass(slots=True)
class KeySketch:
    """Takes one entry after the other."""

    capacity: int = CAPACITY
    entries: int = 0
    units: float = 0.0
    _heavy: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Key -> (units, error)."""
    _lightest: list[tuple[float, str]] = field(default_factory=list)
    """A heap of units as they once were: an outdated one is corrected when it comes up."""
    _sampled: dict[str, int] = field(default_factory=dict)
    _level: int = 0

    def add(self, key: str, units: float) -> None:
        self.entries += 1
        self.units += units
        self._weigh(key, units)
        self._sample(key)

    def _weigh(self, key: str, units: float) -> None:
        known = self._heavy.get(key)
        if known is not None:
            self._heavy[key] = (known[0] + units, known[1])
            return
        error = 0.0
        if len(self._heavy) >= self.capacity:
            # The newcomer takes the place of the lightest, and its units with it: those are its error.
            error = self._drop_lightest()
        self._heavy[key] = (error + units, error)
        heapq.heappush(self._lightest, (error + units, key))

    def _drop_lightest(self) -> float:
        while True:
            units, key = self._lightest[0]
            now = self._heavy[key][0]
            if now == units:
                heapq.heappop(self._lightest)
                del self._heavy[key]
                return now
            heapq.heapreplace(self._lightest, (now, key))

    def _sample(self, key: str) -> None:
        if key in self._sampled:
            self._sampled[key] += 1
            return
        if not _is_kept(key, self._level):
            return
        self._sampled[key] = 1
        while len(self._sampled) > self.capacity:
            self._level += 1
            self._sampled = {name: count for name, count in self._sampled.items() if _is_kept(name, self._level)}

    # --- what it says

    @property
    def is_exact(self) -> bool:
        return self._level == 0 and all(error == 0 for _, error in self._heavy.values())

    @property
    def distinct(self) -> int:
        """About how many keys there are."""
        return len(self._sampled) << self._level

    def heaviest(self, most: int) -> list[HeavyKey]:
        found = heapq.nlargest(most, self._heavy.items(), key=lambda one: (one[1][0] - one[1][1], one[0]))
        return [HeavyKey(key, units, error) for key, (units, error) in found]

    def histogram(self) -> Iterator[Bucket]:
        """Keys by their number of entries: one, 2 to 9, 10 to 99, and so on, up to the last that has any."""
        counts: dict[int, int] = {}
        for entries in self._sampled.values():
            place = 0 if entries == 1 else len(str(entries))
            counts[place] = counts.get(place, 0) + 1
        for place in range(max(counts, default=-1) + 1):
            keys = counts.get(place, 0) << self._level
            yield Bucket(1, 1, keys) if not place else Bucket(max(2, 10 ** (place - 1)), 10**place - 1, keys)


def _is_kept(key: str, level: int) -> bool:
    if not level:
        return True
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") & ((1 << level) - 1) == 0
