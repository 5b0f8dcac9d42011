"""How many items go into one transaction: few while the application writes too, all that fit while it stands still."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from migrator.core.change import Delete, Put, Update, Write
from migrator.core.item import Item, item_size
from migrator.core.rewrite.reconcile import Place, Repair
from migrator.core.rewrite.rewrite import Application

MOST_ACTIONS = 99
"""The service takes a hundred: one is the check of the segment's record."""
MOST_BYTES = 3_500_000
"""The service takes 4 MB; names and placeholders have their share."""
_FIRST_LIVE, _MOST_LIVE = 4, 25
_CLEAN = 8
"""Transactions in a row that met no conflict, after which one item more is tried."""


@dataclass(slots=True)
class BatchSize:
    """Items a transaction: halved at a conflict, one more after several without."""

    size: int
    most: int
    _clean: int = field(default=0)

    @staticmethod
    def of(application: Application) -> BatchSize:
        """Full at once where the application's writers are stopped."""
        if application == "stopped":
            return BatchSize(MOST_ACTIONS, MOST_ACTIONS)
        return BatchSize(_FIRST_LIVE, _MOST_LIVE)

    def went_well(self) -> None:
        self._clean += 1
        if self._clean >= _CLEAN and self.size < self.most:
            self.size += 1
            self._clean = 0

    def met_conflict(self) -> None:
        self.size = max(1, self.size // 2)
        self._clean = 0


@dataclass(slots=True)
class Load:
    """What one transaction holds so far: no item twice, no more than fits."""

    actions: int = 0
    size: int = 0
    units: float = 0.0
    places: set[str] = field(default_factory=set)

    def takes(self, repair: Repair, units: float, budget: float) -> bool:
        """Add it, if it fits; the first one always does."""
        places = {place.id for place in places_of(repair)}
        actions, size = self.actions + len(places), self.size + size_of(repair)
        if self.actions and (
            actions > MOST_ACTIONS
            or size > MOST_BYTES
            or self.units + units > budget
            or not self.places.isdisjoint(places)
        ):
            return False
        self.actions, self.size, self.units = actions, size, self.units + units
        self.places |= places
        return True


def places_of(repair: Repair) -> Iterator[Place]:
    """Every item that a repair writes or checks."""
    yield from (Place(table, write.key) for table, write in repair.writes)
    yield from (Place(check.table, check.key) for check in repair.checks)


def size_of(repair: Repair) -> int:
    """The bytes that a repair sends, roughly."""
    writes = sum(_write_size(write) for _, write in repair.writes)
    return writes + sum(_known_size(check.key) + _known_size(check.guard) for check in repair.checks)


def _write_size(write: Write) -> int:
    match write:
        case Put(item=item):
            return item_size(item)
        case Update(key=key, change=change):
            return _known_size(key) + _known_size(change.guard) + _known_size(change.set)
        case Delete(key=key, guard=guard):
            return _known_size(key) + _known_size(guard)


def _known_size(values: object) -> int:
    assert hasattr(values, "items")
    known: Item = {name: value for name, value in values.items() if value is not None}
    return item_size(known)
