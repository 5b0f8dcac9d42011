"""What the engine tells while it works. Words go out at the edge: a Report takes events, the CLI draws them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from migrator.core.ports import BuildMetrics

Way: TypeAlias = Literal["up", "ready", "cutover", "complete", "down"]
"""What a command does to a revision: the stages of the way up, and the way back."""


@dataclass(frozen=True, slots=True)
class RevisionStarted:
    revision: str
    message: str
    position: int
    """From 1."""
    count: int
    resumed: bool = False
    way: Way = "up"


@dataclass(frozen=True, slots=True)
class RevisionFinished:
    revision: str
    status: str
    seconds: float
    counts: Counts


@dataclass(frozen=True, slots=True)
class StepStarted:
    revision: str
    step: str
    """Its id within the revision, such as `0.apply.1`."""
    title: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    revision: str
    step: str
    outcome: str
    """For a person: `adopted`, `created in 8 m 40 s`, `835 scanned, 9 written`."""


@dataclass(frozen=True, slots=True)
class IndexPolled:
    """One look at an index in motion."""

    table: str
    index: str
    table_status: str
    index_status: str | None
    """None: not listed."""
    backfilling: bool | None
    metrics: BuildMetrics
    seconds: float
    """Since this run began to wait."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Items, by what came of them."""

    scanned: int = 0
    written: int = 0
    unchanged: int = 0
    not_selected: int = 0
    skipped: int = 0
    conflicts: int = 0
    """Guards lost and decided again."""
    gone: int = 0
    failed: int = 0
    read_units: float = 0.0
    write_units: float = 0.0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, name) - getattr(other, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True, slots=True)
class SegmentProgress:
    """A data step, or another scan of a table, so far."""

    revision: str
    step: str
    stage: Literal["before", "pass", "check", "undo", "look", "export", "export-check"]
    """`before`: looking for the attributes before the first write. `check`: the second pass, which only reads.
    `look`: of a command that only reads. `export`: the pass over an export.
    `export-check`: the check over a later one."""
    counts: Counts
    segments_done: int
    segments_total: int
    approximate_items: int | None
    """The table's item count, up to six hours old; None where unknown."""
    write_units_per_second: float
    read_units_per_second: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing is sent for a while, and why: a budget, throttling, another index change, the lock."""

    reason: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know that changes nothing."""

    message: str
    level: Literal["info", "warning"] = "info"
    details: dict[str, object] = field(default_factory=dict)


Event: TypeAlias = (
    RevisionStarted | RevisionFinished | StepStarted | StepFinished | IndexPolled | SegmentProgress | Waiting | Remark
)
Report: TypeAlias = Callable[[Event], None]
