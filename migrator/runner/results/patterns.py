"""What access patterns come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from migrator.core.findings import Severity
from migrator.runner.results.base import Result, Where


@dataclass(frozen=True, slots=True)
class AskedExample:
    """`state`: right | wrong | pending | not-served | not-ready."""

    state: str
    given: str
    answer: tuple[str, ...]
    pages: int
    """In how many pages it was read a second time; 0 where one read was enough."""


@dataclass(frozen=True, slots=True)
class PatternLine:
    name: str
    question: str
    table: str
    """Alias; "" is the default table."""
    index: str
    operation: Literal["get", "query", "scan"]
    key: str
    """The key condition."""
    expect: str
    state: str
    """served | not-served | retired | unknown, by the files."""
    first: str
    """The revision that first serves it."""
    examples: int
    asked: tuple[AskedExample, ...] = ()


@dataclass(frozen=True, slots=True)
class PatternFinding:
    rule: str
    severity: Severity
    pattern: str
    message: str
    hint: str | None
    path: str
    line: int
    revision: str
    """The one that breaks it, or ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternsResult(Result):
    """Of patterns check. `state`: clean | findings. Exit 3 for errors."""

    file: str
    patterns: tuple[PatternLine, ...]
    findings: tuple[PatternFinding, ...]
    where: Where | None = None
    """Whom the examples were asked of; None where the files alone were judged."""
