"""Several sources of one new key: all of them found, in memory that is bounded whatever their number.

Two looks at the items. The first keeps 16 bytes for each (`Collisions`) and ends in hashes of new keys that more than
one source has (`Suspects`). The second keeps whole keys, of the suspects alone and of a bounded number (`Groups`): two
keys that only share a hash come apart there.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from migrator.core.rewrite.reconcile import Place
from migrator.core.rewrite.sketch import place_hash

MOST_GROUPS = 100
MOST_MEMBERS = 20
MOST_COUNTED = 10_000
_BUCKETS = 256
_BITS = 64


class Collisions:
    """What claims which new key, as hashes of 64 bits: ten million take 180 MB. Threads may add at the same time.

    An item that stands in the target already claims its own place. A claim that is made twice by one source is one
    claim. Of two sources with one new key, one pair in 2**64 would go unnoticed.
    """

    def __init__(self) -> None:
        self._places = [array("Q") for _ in range(_BUCKETS)]
        self._sources = [array("Q") for _ in range(_BUCKETS)]
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(map(len, self._places))

    def add(self, target: Place, source: Place) -> None:
        """The item at `source` has, or would have, its new form at `target`."""
        self.add_hashes(place_hash(target), place_hash(source))

    def add_hashes(self, target: int, source: int) -> None:
        bucket = target * _BUCKETS >> _BITS
        with self._lock:
            self._places[bucket].append(target)
            self._sources[bucket].append(source)

    def suspects(self) -> Suspects:
        """The new keys with more than one source, by hash; what was added is forgotten."""
        found = array("Q")
        for bucket in range(_BUCKETS):
            with self._lock:
                places, self._places[bucket] = self._places[bucket], array("Q")
                sources, self._sources[bucket] = self._sources[bucket], array("Q")
            first: dict[int, int] = {}
            several = {
                place
                for place, source in zip(places, sources, strict=True)
                if first.setdefault(place, source) != source
            }
            found.extend(sorted(several))
        return Suspects(found)


class Suspects:
    """Hashes of new keys, in order: 8 bytes each."""

    def __init__(self, hashes: array[int]):
        self._hashes = hashes

    def __len__(self) -> int:
        return len(self._hashes)

    def __iter__(self) -> Iterator[int]:
        return iter(self._hashes)

    def __contains__(self, place: int) -> bool:
        position = bisect_left(self._hashes, place)
        return position < len(self._hashes) and self._hashes[position] == place


@dataclass(frozen=True, slots=True)
class Group:
    """Sources of one new key: the first `MOST_MEMBERS` by their place, and how many there are."""

    target: Place
    members: tuple[Place, ...]
    count: int
    """Up to `MOST_COUNTED`: then there are as many at least."""


@dataclass(slots=True)
class _Gathered:
    target: Place
    members: dict[str, Place] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)

    def add(self, source: Place) -> None:
        if len(self.seen) < MOST_COUNTED:
            self.seen.add(place_hash(source))
        if source.id in self.members:
            return
        self.members[source.id] = source
        if len(self.members) > MOST_MEMBERS:
            del self.members[max(self.members)]


class Groups:
    """The second look: whole keys of the suspects from the `start`-th on, at most `most` of them.

    Which ones are looked at, and which members are kept, does not depend on the order of the scan.
    """

    def __init__(self, suspects: Suspects, *, start: int = 0, most: int = MOST_GROUPS):
        self._chosen = frozenset(islice(suspects, start, start + most))
        self._found: dict[str, _Gathered] = {}
        self._lock = threading.Lock()
        self.unseen = max(0, len(suspects) - start - most)
        """How many suspects more there are: each, but for a hash that two keys share, is another group."""

    def add(self, target: Place, source: Place) -> None:
        """As for Collisions; what is no suspect is passed over. Threads may add at the same time."""
        if place_hash(target) not in self._chosen:
            return
        with self._lock:
            self._found.setdefault(target.id, _Gathered(target)).add(source)

    def groups(self) -> Sequence[Group]:
        """New keys with two sources at the least, in order of their hashes."""
        found = [one for one in self._found.values() if len(one.members) > 1]
        return [
            Group(one.target, tuple(one.members[id_] for id_ in sorted(one.members)), len(one.seen))
            for one in sorted(found, key=lambda one: place_hash(one.target))
        ]
