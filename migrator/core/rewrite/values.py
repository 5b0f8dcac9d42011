"""What functions, keys and texts come to, for one item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from migrator.core.item import AttributeValue, BadValue, Key, type_of
from migrator.core.raised import place_of
from migrator.core.rewrite.form import Missing
from migrator.core.schema import KeyAttribute, KeyType
from migrator.core.transform import index_key_problem
from migrator.core.view import ItemView, WholeItemRead
from migrator.core.where import Where, selects


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


def key_problem(schema: Sequence[KeyAttribute], key: Key, prefix: str) -> tuple[str, str] | None:
    """Why a table would not take this key: (code, reason)."""
    for position, one in enumerate(schema):
        problem = index_key_problem(key[one.name], one.type, "sort" if position else "partition")
        if problem is not None:
            return problem[0].replace("index-key", prefix), f"{one.name}: {problem[1]}"
    return None


def of_type(value: AttributeValue | None, kind: KeyType) -> AttributeValue | None:
    """A value that was read out of text, as an attribute of that type; None where it cannot be."""
    if value is None or type_of(value) == kind:
        return value
    if kind != "N" or type_of(value) != "S":
        return None
    try:
        number = Decimal(value["S"])
    except ArithmeticError:
        return None
    return {"N": value["S"]} if number.is_finite() else None
