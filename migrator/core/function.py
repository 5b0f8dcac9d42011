"""Functions as transforms: what they take, and what they return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from migrator.core.item import AttributeValue, from_python, is_encodable
from migrator.core.view import ItemView, Lookup

Function: TypeAlias = Callable[..., Mapping[str, Any] | None]
"""`f(item)` or `f(item, lookup)`: attribute -> new value, None to remove it; {} or None for no change."""


class BadResult(Exception):
    """A function returned what is no mapping of changes."""


def from_function(function: Function, view: ItemView, lookup: Lookup | None) -> dict[str, AttributeValue | None]:
    """What the function wants. Raises BadResult, BadValue."""
    result = function(view) if lookup is None else function(view, lookup)
    if result is None:
        return {}
    if isinstance(result, ItemView) or not isinstance(result, Mapping):
        raise BadResult(f"the function returned {type(result).__name__}, not a mapping of changes")
    for name in result:
        if not isinstance(name, str) or not name or not is_encodable(name):
            raise BadResult(f"the function returned a {type(name).__name__} that is no name of an attribute")
    return {name: None if value is None else from_python(value, name) for name, value in result.items()}


def takes_lookup(function: Function) -> bool:
    """Whether a transform function takes a lookup as its second parameter."""
    return positional_parameters(function) > 1


def positional_parameters(function: Callable[..., Any]) -> int:
    """How many parameters a function takes by position, those with a default included."""
    taken = inspect.signature(function).parameters.values()
    return sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in taken)
