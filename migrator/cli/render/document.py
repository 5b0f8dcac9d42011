"""A result as one JSON document. `docs/pipeline.md` describes it; a change of its shape raises SCHEMA_VERSION."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any

from migrator.runner.results import Result

SCHEMA_VERSION = 1
HEAD = ("exit_code", "state", "next", "blocked_by")


def document(result: Result, command: str) -> dict[str, Any]:
    """The result's fields after the ones that every document begins with."""
    plain = encoded(result)
    head = {"schema_version": SCHEMA_VERSION, "command": command, **{name: plain[name] for name in HEAD}}
    return head | {name: content for name, content in plain.items() if name not in HEAD}


def refusal(command: str, *, code: str, message: str, hint: str | None, exit_code: int) -> dict[str, Any]:
    """The document of an error: the same head, and `error`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "command": command,
        "exit_code": exit_code,
        "state": "error",
        "next": hint or "",
        "blocked_by": code,
        "error": {"code": code, "message": message, "hint": hint},
    }


def text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)


def encoded(value: Any) -> Any:
    """Plain JSON: dataclasses in the order of their fields, mappings by key, exact decimals as strings."""
    match value:
        case Enum():
            return encoded(value.value)
        case bool() | int() | str() | None:
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal() | PurePath():
            # A JSON number would be read as a binary float: a string keeps all 38 digits.
            return str(value)
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case date():
            return value.isoformat()
        case Mapping():
            return {str(name): encoded(value[name]) for name in sorted(value, key=str)}
        case Set():
            return sorted((encoded(entry) for entry in value), key=lambda entry: json.dumps(entry, sort_keys=True))
        case Sequence():
            return [encoded(entry) for entry in value]
        case _ if is_dataclass(value):
            return {entry.name: encoded(getattr(value, entry.name)) for entry in fields(value)}
        case _:
            raise TypeError(f"no JSON form for {type(value).__name__}")
