"""One form of an operation, a step or a transform for hashing: the same for equal values, on every Python version.

The form is JSON-able. Dataclasses go by class name and fields, templates by their text, functions by their qualified
name without the module (a file's checksum covers their code). A field at its default is left out, so that a newer
version of this package with one more option still gives an old file the same hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from migrator.core.template import Template
from migrator.errors import MigratorError


class NotCanonical(MigratorError):
    """A value has no stable form: nothing could be said later about whether it changed."""

    def __init__(self, value: object):
        super().__init__(
            "not-canonical",
            f"a {type(value).__name__} cannot be part of a migration: it has no stable form",
            hint="use strings, ints, Decimals, bytes, booleans, lists, dicts, sets, or a named function",
        )


def canonical_form(value: Any) -> Any:
    """The JSON-able form of a value. Raises NotCanonical for a float or an object of an unknown kind."""
    match value:
        case None | bool():
            return value
        case Enum():
            return canonical_form(value.value)
        case str() | int():
            return value
        case Decimal():
            return {"$decimal": str(value)}
        case bytes() | bytearray():
            return {"$bytes": base64.b64encode(value).decode()}
        case Template():
            return {"$template": value.source}
        case Mapping():
            # Sorted, and a name of the user's cannot be taken for one of our tags.
            return {_escaped(str(name)): canonical_form(value[name]) for name in sorted(value, key=str)}
        case list() | tuple():
            return [canonical_form(entry) for entry in value]
        case set() | frozenset():
            return {"$set": sorted((canonical_form(entry) for entry in value), key=_text)}
    if is_dataclass(value) and not isinstance(value, type):
        held = {
            field.name: canonical_form(getattr(value, field.name))
            for field in fields(value)
            if not _is_default(field, getattr(value, field.name))
        }
        return {"$": type(value).__name__, **held}
    if callable(value) and hasattr(value, "__qualname__") and not isinstance(value, type):
        return {"$function": value.__qualname__}
    raise NotCanonical(value)


def canonical_text(value: Any) -> str:
    """The form as compact JSON."""
    return _text(canonical_form(value))


def digest(value: Any) -> str:
    """The SHA-256 of the form, in hex."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()


def _text(form: Any) -> str:
    return json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _escaped(name: str) -> str:
    return "$" + name if name.startswith("$") else name


def _is_default(field: Field[Any], value: object) -> bool:
    if field.default is not MISSING:
        default = field.default
    elif field.default_factory is not MISSING:
        default = field.default_factory()
    else:
        return False
    return type(value) is type(default) and bool(value == default)
