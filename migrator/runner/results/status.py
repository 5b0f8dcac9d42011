"""Where an environment stands, and what a check finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from migrator.core.events import Counts
from migrator.core.findings import Finding
from migrator.runner.results.base import Result, Where


@dataclass(frozen=True, slots=True)
class RevisionStatus:
    revision: str
    message: str
    path: str
    status: str
    """pending | started | applied | failed | incomplete | at-gate | rolled-back | missing-file | out-of-order."""
    who: str = ""
    host: str = ""
    run: str = ""
    tool: str = ""
    started_at: str = ""
    finished_at: str = ""
    error: str = ""
    counts: Counts = field(default_factory=Counts)
    failed_items: int = 0
    objects: Mapping[str, str] = field(default_factory=dict)
    """`index:NAME` -> created | adopted | dropped | changed."""
    gate: str = ""


@dataclass(frozen=True, slots=True)
class IndexState:
    table: str
    name: str
    status: str
    backfilling: bool | None
    progress: float | None
    """Percent; None is unknown."""
    managed_by: str
    """The revision that created or adopted it, or "" for one that no migration names."""


@dataclass(frozen=True, slots=True)
class LockState:
    held: bool
    owner: str = ""
    name: str = ""
    host: str = ""
    run: str = ""
    since: str = ""
    token: int = 0
    lease_seconds: float = 0.0
    silent_seconds: float | None = None
    """How long no beat was seen, as observed by this command; None when not observed."""
    requests: tuple[str, ...] = ()
    """What operators ask of the run that holds it, a line each, with who asked and since when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockResult(Result):
    """Of `lock show | release`."""

    lock: LockState
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlResult(Result):
    """Of pause, resume, throttle and cancel. `state`: paused | resumed | throttled | unthrottled | cancelled."""

    lock: LockState
    """The run that was asked, and all that is asked of it now."""


@dataclass(frozen=True, slots=True)
class InstanceState:
    """An instance of the application that reported what it knows of a rewrite's phase."""

    name: str
    phase: str
    generation: int
    knows: bool
    """Whether it knows the generation that stands."""
    seen_at: str


@dataclass(frozen=True, slots=True)
class RewriteState:
    """A key rewrite that is not over."""

    revision: str
    phase: str
    generation: int
    since: str
    settled: bool
    """Whether every instance was given the time to hear of the phase."""
    verified_at: str
    """When both sides were last found to correspond in this phase; "" for never."""
    strays: int
    instances: tuple[InstanceState, ...]
    next: str
    """What to type, on or back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorResult(Result):
    """Of `mirror run | status`. `state`: over | following | behind | none."""

    where: Where
    revision: str
    outcome: str
    counts: Counts = field(default_factory=Counts)
    worker: str = ""
    at: str = ""
    """When it last said so."""
    lag_ms: int = 0
    """How old the last record was when it was read, of the shard that is furthest behind; 0 where it waits for more."""
    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusResult(Result):
    """`state`: up-to-date | pending | started | failed | incomplete | at-gate | building | no-history."""

    where: Where
    revisions: tuple[RevisionStatus, ...]
    indexes: tuple[IndexState, ...]
    lock: LockState
    current: tuple[str, ...]
    heads: tuple[str, ...]
    rewrites: tuple[RewriteState, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult(Result):
    """`state`: clean | findings | pending. Exit 3 for findings, 8 for changes pending."""

    where: Where
    pending: tuple[str, ...]
    out_of_order: tuple[str, ...]
    findings: tuple[Finding, ...]
