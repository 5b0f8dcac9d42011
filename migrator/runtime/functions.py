"""The functions of the application that a rewrite rests on, by the names that its record gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from migrator.errors import UsageError


def importable(named: str, given: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The function `module:name`. Raises UsageError where this process has none: it cannot tell the sides apart."""
    module, _, name = named.partition(":")
    try:
        found = given.get(named) or getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as exc:
        raise UsageError(
            "function-not-importable",
            f"the rewrite rests on the function {named}, which this process cannot import: {exc}",
            hint=f"install its module, or give functions={{{named!r}: …}}",
        ) from exc
    if not callable(found):
        raise UsageError("function-not-importable", f"{named}, on which the rewrite rests, is no function")
    function: Callable[..., Any] = found
    return function
