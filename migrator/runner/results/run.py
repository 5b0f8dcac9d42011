"""What came of a command that works on revisions or records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migrator.core.events import Counts
from migrator.runner.results.base import Result, Where


@dataclass(frozen=True, slots=True)
class RevisionOutcome:
    revision: str
    message: str
    status: str
    seconds: float
    counts: Counts
    error: str = ""
    examples: tuple[str, ...] = ()
    """Keys that explain it, newest first: failed items, items that a second pass still found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult(Result):
    """Of upgrade, downgrade, rollback, contract. `state`: up-to-date | applied | downgraded | rolled-back | building |
    incomplete | at-gate | stopped | failed."""

    where: Where
    outcomes: tuple[RevisionOutcome, ...] = ()
    current: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteResult(Result):
    """Of stamp, repair and other commands that change records only: what was done, line by line."""

    lines: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FailedItem:
    revision: str
    step: str
    key: Mapping[str, Any]
    """DynamoDB JSON."""
    code: str
    reason: str
    attempts: int
    at: str
    skipped_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedResult(Result):
    """Of `failed list | retry | skip`."""

    items: tuple[FailedItem, ...]
    changed: int = 0
