"""Numbers, times, keys and values as a person reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from migrator.core.template import Template
from migrator.errors import counted as counted

ABSENT = "(absent)"


def count(number: int) -> str:
    """`1,234,567`."""
    return f"{number:,}"


def duration(seconds: float) -> str:
    """`0.4 s`, `52 s`, `8 m 40 s`, `2 h 05 m`."""
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds % 1 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} m {rest:02} s" if rest else f"{minutes} m"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} m" if minutes else f"{hours} h"


def size(octets: int) -> str:
    """`812 B`, `1.4 GB`: powers of ten, as AWS bills."""
    amount = float(octets)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} TB"


def rate(units: float) -> str:
    """`480`, `0.5`: capacity units a second."""
    return f"{units:,.0f}" if units >= 10 or units < 0.05 or units == int(units) else f"{units:.1f}"


def value(wire: Mapping[str, Any] | None) -> str:
    """An attribute value of DynamoDB JSON, whole: `"x"`, `5`, `NULL`, `B aGk=`, `L [{"N": "1"}]`; None is absent."""
    if wire is None:
        return ABSENT
    ((kind, content),) = wire.items()
    match kind:
        case "S":
            return json.dumps(content, ensure_ascii=False)
        case "N":
            return str(content)
        case "BOOL":
            return "true" if content else "false"
        case "NULL":
            return "NULL"
        case "B":
            return f"B {content}"
        case _:
            return f"{kind} {json.dumps(content, ensure_ascii=False, default=str)}"


def key(wire: Mapping[str, Any]) -> str:
    """A key of DynamoDB JSON, whole: `PK="TENANT#t1" SK="META"`."""
    return " ".join(f"{name}={value(content)}" for name, content in wire.items())


def digest(whole: str) -> str:
    """The first digits of a checksum, enough to tell two apart: `v1:7c5313a94656`."""
    version, colon, digits = whole.rpartition(":")
    return f"{version}{colon}{digits[:12]}"


def brief(part: Any) -> str:
    """An operation as it was written: fields at their defaults are left out, what has words of its own uses them."""
    if isinstance(part, tuple | list):
        return "[" + ", ".join(map(brief, part)) + "]"
    if isinstance(part, Mapping):
        return "{" + ", ".join(f"{name!r}: {brief(content)}" for name, content in part.items()) + "}"
    if callable(part) and hasattr(part, "__name__"):
        return f"{part.__module__}.{part.__name__}"
    if not is_dataclass(part) or isinstance(part, type):
        return repr(part)
    if isinstance(part, Template):
        return repr(part.source)
    if type(part).__str__ is not object.__str__:
        return str(part)
    shown = [
        f"{entry.name}={brief(getattr(part, entry.name))}"
        for entry in fields(part)
        if entry.repr and getattr(part, entry.name) != _default(entry)
    ]
    return f"{type(part).__name__}({', '.join(shown)})"


def _default(entry: Field[Any]) -> Any:
    if entry.default is not MISSING:
        return entry.default
    return MISSING if entry.default_factory is MISSING else entry.default_factory()
