"""What a scan saw of one side, small enough to hold: where each item stands and what it holds, as hashes."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise

from migrator.core.item import Item, fingerprint
from migrator.core.rewrite.reconcile import Place

_BUCKETS = 256
_BITS = 64


def place_hash(place: Place) -> int:
    """64 bits of where an item stands."""
    return int(fingerprint({**place.key, "\0table": {"S": place.table}})[:16], 16)


def content_hash(item: Item) -> int:
    """64 bits of an item: the same for items that are the same to the service."""
    return int(fingerprint(item)[:16], 16)


class Sketch:
    """Places with contents: 16 bytes an item, so that ten million take 160 MB.

    Two contents with one hash would hide a difference: of ten million differences, one in a million million would.
    """

    def __init__(self) -> None:
        self._places = [array("Q") for _ in range(_BUCKETS)]
        self._contents = [array("Q") for _ in range(_BUCKETS)]

    def add(self, place: int, content: int) -> None:
        bucket = place * _BUCKETS >> _BITS
        self._places[bucket].append(place)
        self._contents[bucket].append(content)

    def __len__(self) -> int:
        return sum(map(len, self._places))

    def differences(self, other: Sketch) -> set[int]:
        """The places that are not in both once, with the same content."""
        found: set[int] = set()
        for bucket in range(_BUCKETS):
            mine, theirs = sorted(self._entries(bucket)), sorted(other._entries(bucket))
            if mine != theirs or len(set(self._places[bucket])) < len(mine):
                found |= _apart(mine, theirs)
        return found

    def _entries(self, bucket: int) -> Iterator[tuple[int, int]]:
        return zip(self._places[bucket], self._contents[bucket], strict=True)


def _apart(mine: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> set[int]:
    found = {place for place, _ in set(mine) ^ set(theirs)}
    for side in (mine, theirs):
        places = [place for place, _ in side]
        found |= {place for place, following in pairwise(places) if place == following}
    return found
