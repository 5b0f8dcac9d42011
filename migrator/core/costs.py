"""What reads and writes cost the table and each of its indexes, in capacity units, by the bytes of items (facts §4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from migrator.core.item import Item, item_size, same_item
from migrator.core.schema import Index
from migrator.core.transform import index_key_problem

READ_UNIT = 4096
WRITE_UNIT = 1024
ENTRY_OVERHEAD = 100
"""Bytes that storage, not throughput, adds to each item and to each index entry (facts §4.3)."""
PARTITION_WRITES = 1_000
"""Write units a second that one partition takes, and so one key (facts §4.5)."""


def read_units(size: int) -> float:
    """Units of a strongly consistent read of `size` bytes; never less than one."""
    return float(max(1, ceil(size / READ_UNIT)))


def write_units(*items: Item | None) -> float:
    """Units of a write between these images of an item: the larger one counts; never less than one."""
    size = max((item_size(item) for item in items if item is not None), default=0)
    return float(max(1, ceil(size / WRITE_UNIT)))


def is_indexed(index: Index, item: Item) -> bool:
    """Whether the item has an entry in the index: every key attribute is there, and is one that a key can hold."""
    for position, key in enumerate(index.keys):
        value = item.get(key.name)
        role = "partition" if position < len(index.partition_key) else "sort"
        if value is None or index_key_problem(value, key.type, "partition" if role == "partition" else "sort"):
            return False
    return True


def entry(index: Index, item: Item | None, table_key: Sequence[str]) -> Item | None:
    """The index's entry for an item, or None where it has none (sparse, or a key it cannot hold)."""
    if item is None or not is_indexed(index, item):
        return None
    if index.projection.type == "ALL":
        return item
    names = {*table_key, *(key.name for key in index.keys), *index.projection.attributes}
    return {name: value for name, value in item.items() if name in names}


def moves_key(index: Index, old: Item, new: Item) -> bool:
    """Whether two entries of an index stand under different keys."""
    keys = [key.name for key in index.keys]
    return not same_item({name: old[name] for name in keys}, {name: new[name] for name in keys})


def entry_units(index: Index, old: Item | None, new: Item | None) -> float:
    """Units from one entry of an index to another: two writes where its key changes, none where it stays the same."""
    if same_item(old, new):
        return 0.0
    if old is None or new is None:
        return write_units(old, new)
    return write_units(old) + write_units(new) if moves_key(index, old, new) else write_units(old, new)


def index_units(index: Index, before: Item | None, after: Item | None, table_key: Sequence[str]) -> float:
    """Units that a write of the table costs one index."""
    return entry_units(index, entry(index, before, table_key), entry(index, after, table_key))


def write_cost(
    before: Item | None, after: Item | None, indexes: Iterable[Index], table_key: Sequence[str]
) -> tuple[float, dict[str, float]]:
    """(units of the table, units by index) of one write outside a transaction; indexes that cost nothing are left out.

    In a transaction the table's units are doubled, those of an index are not (facts §4.1).
    """
    by_index = {index.name: index_units(index, before, after, table_key) for index in indexes}
    return write_units(before, after), {name: units for name, units in by_index.items() if units}
