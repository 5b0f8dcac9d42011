"""What a document holds and nobody can tell from it, as a value that is carried along until something needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from migrator.errors import UsageError


@dataclass(frozen=True, slots=True)
class Unknown:
    """Stands in the place of a value that cannot be told; `why` says so, as `!Ref Stage: no value for it`."""

    why: str


def holds_unknown(value: Any) -> Unknown | None:
    """The first unknown in it, however deep."""
    match value:
        case Unknown():
            return value
        case Mapping():
            return next((found for one in value.values() if (found := holds_unknown(one)) is not None), None)
        case list() | tuple():
            return next((found for one in value if (found := holds_unknown(one)) is not None), None)
        case _:
            return None


def is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def listed(value: Any) -> list[Any]:
    """A list as it is, nothing as an empty one."""
    return list(value) if isinstance(value, list | tuple) else []


def bad_source(name: str, problem: str, hint: str | None = None) -> UsageError:
    """The refusal of a document."""
    return UsageError("bad-source", f"{name}: {problem}", hint=hint)
