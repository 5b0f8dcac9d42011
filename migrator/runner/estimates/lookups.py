"""What the lookups of a function read, counted: they are read again when the plan is applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from migrator.core.costs import read_units
from migrator.core.item import Item, Key, fingerprint, item_size, key_of
from migrator.core.view import ReadItems


@dataclass(slots=True)
class LookupMeter:
    """A ReadItems that counts the units of another one."""

    read: ReadItems
    _last: dict[tuple[str, str], Item] = field(default_factory=dict)
    """What the last decision found: (physical table, fingerprint of the key) -> item."""
    _units: dict[str, float] = field(default_factory=dict)
    _is_stale: bool = False

    def get(self, alias: str, key: Key) -> Item | None:
        item = self.read.get(alias, key)
        self._note(alias, [] if item is None else [item])
        return item

    def collection(self, alias: str, partition: Key, most: int) -> Sequence[Item]:
        items = self.read.collection(alias, partition, most)
        self._note(alias, items)
        return items

    def key_names(self, alias: str) -> tuple[str, ...]:
        return self.read.key_names(alias)

    def physical(self, alias: str) -> str:
        return self.read.physical(alias)

    def last(self, table: str, key: Key) -> Item | None:
        """The item as the last decision found it."""
        return self._last.get((table, fingerprint(key)))

    def drained(self) -> dict[str, float]:
        """Read units by table since the last call. What was found stays until the next lookup."""
        units, self._units, self._is_stale = self._units, {}, True
        return units

    def _note(self, alias: str, items: Iterable[Item]) -> None:
        if self._is_stale:
            self._last, self._is_stale = {}, False
        table, names, size = self.physical(alias), self.key_names(alias), 0
        for item in items:
            self._last[table, fingerprint(key_of(item, names))] = item
            size += item_size(item)
        self._units[table] = self._units.get(table, 0.0) + read_units(size)
