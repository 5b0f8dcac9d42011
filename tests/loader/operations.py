"""Operations for the loader's tests: frozen values with the two methods, and one that refuses its argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.errors import UsageError


@dataclass(frozen=True, slots=True)
class Sign:
    """Changes nothing, and equals another with the same words and functions."""

    word: Any = ""

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        return ()

    def plan(self, schema: Schema) -> Plan:
        return Plan(after=schema, apply=())


@dataclass(frozen=True, slots=True)
class Picky(Sign):
    def __post_init__(self) -> None:
        raise UsageError("bad-word", f"{self.word!r} is no word", hint="say something else")
