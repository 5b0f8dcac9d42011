"""Which items the service refuses to store (facts §3)."""

from __future__ import annotations

from collections.abc import Container, Iterable

from migrator.core.change import Refused
from migrator.core.item import MAX_ITEM_BYTES, Item, item_size
from migrator.core.schema import Index
from migrator.core.transform import index_key_problem


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
