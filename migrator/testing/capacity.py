"""What a write costs the table and its indexes, and which values an index refuses (facts §3, §4.1, §4.2)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from math import ceil

from migrator.core.change import Refused
from migrator.core.item import MAX_ITEM_BYTES, Item, item_size, same_item
from migrator.core.schema import Index
from migrator.core.transform import index_key_problem

READ_UNIT = 4096
WRITE_UNIT = 1024


def read_units(size: int) -> float:
    """Units of a strongly consistent read of `size` bytes; never less than one."""
    return float(max(1, ceil(size / READ_UNIT)))


def write_units(*items: Item | None) -> float:
    """Units of a write between these images of an item: the larger one counts; never less than one."""
    size = max((item_size(item) for item in items if item is not None), default=0)
    return float(max(1, ceil(size / WRITE_UNIT)))


def entry(index: Index, item: Item | None, table_key: Sequence[str]) -> Item | None:
    """The index's entry for an item, or None where it has none (sparse, or a key it cannot hold)."""
    if item is None or not is_indexed(index, item):
        return None
    if index.projection.type == "ALL":
        return item
    names = {*table_key, *(key.name for key in index.keys), *index.projection.attributes}
    return {name: value for name, value in item.items() if name in names}


def is_indexed(index: Index, item: Item) -> bool:
    return all(key.name in item for key in index.keys) and refusal([index], item) is None


def index_units(index: Index, before: Item | None, after: Item | None, table_key: Sequence[str]) -> float:
    """Units that a write costs one index: two where its key changes, none where its entry stays the same."""
    old, new = entry(index, before, table_key), entry(index, after, table_key)
    if same_item(old, new):
        return 0.0
    if old is None or new is None:
        return write_units(old, new)
    keys = [key.name for key in index.keys]
    moved = not same_item({name: old[name] for name in keys}, {name: new[name] for name in keys})
    return write_units(old) + write_units(new) if moved else write_units(old, new)


def refusal(indexes: Iterable[Index], item: Item, changed: Container[str] | None = None) -> Refused | None:
    """Why the service would never store this item: its size, or a value that an index key does not allow.

    Of an update only the `changed` attributes are held against the indexes.
    """
    size = item_size(item)
    if size > MAX_ITEM_BYTES:
        return Refused("validation", f"Item size has exceeded the maximum allowed size ({size} bytes)")
    for index in indexes:
        for position, key in enumerate(index.keys):
            if key.name in item and (changed is None or key.name in changed):
                role = "partition" if position < len(index.partition_key) else "sort"
                problem = index_key_problem(item[key.name], key.type, "partition" if role == "partition" else "sort")
                if problem is not None:
                    message = f"index key {key.name} of index {index.name}: {problem[1]}"
                    return Refused("validation", f"One or more parameter values were invalid: {message}")
    return None
