"""The items of one table in memory, in the order of a scan."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from migrator.core.item import AttributeValue, Item, fingerprint, key_of

_HASH_BITS = 64


def hash_of(partition: AttributeValue) -> int:
    """The place of a partition value in the hash space: 64 bits, the same for equal values in every run."""
    return int(fingerprint({"": partition})[:16], 16)


def segment_of(partition: AttributeValue, total: int) -> int:
    """The scan segment of a partition value: segments split the hash space evenly (facts §5)."""
    return hash_of(partition) * total >> _HASH_BITS


def copy_of(item: Item) -> dict[str, AttributeValue]:
    """A copy that shares nothing that can change."""
    return {name: _copy(value) for name, value in item.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copy(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(entry) for entry in value]
    return value


def order_of(value: AttributeValue) -> Any:
    """What a key value sorts by."""
    ((kind, content),) = value.items()
    if kind == "N":
        return Decimal(content)
    return content.encode() if kind == "S" else bytes(content)


class Rows:
    """Items by key; ordered by the hash of the partition value, then by the sort key."""

    def __init__(self, key_names: Sequence[str]):
        self.key_names = tuple(key_names)
        self.on_change: Callable[[Item | None, Item | None], None] | None = None
        """Told of each change with the item before and after: a stream."""
        self._items: dict[str, Item] = {}
        self._places: list[tuple[Any, str]] = []

    def address(self, item: Item) -> str:
        """One name for all forms of the same key."""
        return fingerprint(key_of(item, self.key_names))

    def place(self, item: Item) -> Any:
        first, *rest = self.key_names
        return (hash_of(item[first]), *(order_of(item[name]) for name in rest))

    def get(self, key: Item) -> dict[str, AttributeValue] | None:
        found = self._items.get(self.address(key))
        return None if found is None else copy_of(found)

    def put(self, item: Item) -> None:
        address = self.address(item)
        if address not in self._items:
            insort(self._places, (self.place(item), address))
        before = self._items.get(address)
        self._items[address] = copy_of(item)
        # A write that changes nothing leaves no record in a stream (facts §7).
        if self.on_change is not None and before != self._items[address]:
            self.on_change(before, self._items[address])

    def remove(self, key: Item) -> Item | None:
        address = self.address(key)
        found = self._items.pop(address, None)
        if found is not None:
            del self._places[bisect_left(self._places, (self.place(key), address))]
            if self.on_change is not None:
                self.on_change(found, None)
        return found

    def segment(self, segment: int = 0, total: int = 1, after: Item | None = None) -> Iterator[Item]:
        """The items of a segment in order, from the first one after the key `after`, which need not be there."""
        # ceil(segment * 2**bits / total): the first hash that belongs to the segment.
        first = -(-(segment << _HASH_BITS) // total)
        start = bisect_left(self._places, ((first,), ""))
        if after is not None:
            start = max(start, bisect_right(self._places, (self.place(after), self.address(after))))
        for place, address in self._places[start:]:
            if place[0] * total >> _HASH_BITS != segment:
                return
            yield copy_of(self._items[address])

    def collection(self, partition: AttributeValue) -> Iterator[Item]:
        """The items under a partition value, in order of their sort key."""
        where = hash_of(partition)
        for place, address in self._places[bisect_left(self._places, ((where,), "")) :]:
            if place[0] != where:
                return
            yield copy_of(self._items[address])
