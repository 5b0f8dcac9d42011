"""Which items a step selects: by attribute values and conditions, or by a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from migrator.core.item import Value, from_python, same, type_of
from migrator.core.view import ItemView


@dataclass(frozen=True, slots=True)
class Exists:
    """The attribute is there, whatever its value."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The attribute is not there."""


@dataclass(frozen=True, slots=True)
class BeginsWith:
    """The attribute is a string that begins with `prefix`."""

    prefix: str


@dataclass(frozen=True, slots=True, init=False)
class OneOf:
    """The attribute has one of these values."""

    values: tuple[Value, ...]

    def __init__(self, *values: Value):
        object.__setattr__(self, "values", values)


Condition: TypeAlias = Exists | Absent | BeginsWith | OneOf
Where: TypeAlias = Mapping[str, Any] | Callable[[ItemView], bool]
"""Attribute -> condition or value, all of which must hold; or a named function of the item."""


def selects(where: Where, view: ItemView) -> bool:
    """Whether the item is selected. Reads only what it must, and records what it read."""
    if not where:
        return True
    if callable(where):
        return bool(where(view))
    return all(_holds(condition, view, name) for name, condition in where.items())


def _holds(condition: Any, view: ItemView, name: str) -> bool:
    value = view.wire(name)
    match condition:
        case Exists():
            return value is not None
        case Absent():
            return value is None
        case BeginsWith(prefix):
            return value is not None and type_of(value) == "S" and value["S"].startswith(prefix)
        case OneOf(values):
            return value is not None and any(same(value, from_python(one)) for one in values)
    return value is not None and same(value, from_python(condition))
