"""What functions, keys and texts come to, for one item."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from migrator.core.item import AttributeValue, BadValue, Key, type_of
from migrator.core.raised import place_of
from migrator.core.rewrite.form import Missing
from migrator.core.rewrite.phases import Side
from migrator.core.schema import KeyAttribute, KeyType
from migrator.core.transform import index_key_problem
from migrator.core.view import ItemView, WholeItemRead
from migrator.core.where import Where, selects

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(E[-+]?[0-9]+)?")
_NEW = {
    "index-key-null": "new-key-null",
    "index-key-type": "new-key-type",
    "index-key-empty": "new-key-empty",
    "index-key-size": "new-key-size",
}
_OLD = {
    "index-key-null": "old-key-null",
    "index-key-type": "old-key-type",
    "index-key-empty": "old-key-empty",
    "index-key-size": "old-key-size",
}


def called(function: Callable[[ItemView], Any], view: ItemView) -> Any:
    """What a function of the migration's gives for an item. Raises Missing, naming its exception, where it fails."""
    try:
        return function(view)
    except (WholeItemRead, BadValue):
        raise
    except Exception as exc:
        raise Missing(f"the function {getattr(function, '__name__', '')} failed: {place_of(exc)}") from exc


def selected(where: Where, view: ItemView) -> bool:
    """As `selects`, with what a function raises told as `called` tells it."""
    return bool(called(where, view)) if callable(where) else selects(where, view)


def key_problem(schema: Sequence[KeyAttribute], key: Key, side: Side) -> tuple[str, str] | None:
    """Why a side's table would not take this key: (code, reason)."""
    for position, one in enumerate(schema):
        problem = index_key_problem(key[one.name], one.type, "sort" if position else "partition")
        if problem is not None:
            return (_NEW if side == "new" else _OLD)[problem[0]], f"{one.name}: {problem[1]}"
    return None


def of_type(value: AttributeValue | None, kind: KeyType) -> AttributeValue | None:
    """A value that was read out of text, as an attribute of that type; None where it cannot be."""
    if value is None or type_of(value) == kind:
        return value
    return {"N": value["S"]} if kind == "N" and type_of(value) == "S" and _NUMBER.fullmatch(value["S"]) else None
