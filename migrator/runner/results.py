"""What the commands answer: values that the CLI renders as text or as one JSON document.

Every result has `state`, `exit_code`, `next` (what to type, "" when nothing) and `blocked_by` ("" when nothing).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from migrator.core.comparison import Difference
from migrator.core.events import Counts
from migrator.core.findings import Finding
from migrator.runner.estimates.figures import Estimate, StepEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    state: str
    exit_code: int = 0
    next: str = ""
    blocked_by: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """Whom a run talks to."""

    env: str
    account: str
    region: str
    endpoint: str
    role: str
    tables: Mapping[str, str]
    """Alias -> physical name."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    id: str
    title: str
    table: str
    approximate_items: int | None = None
    approximate_bytes: int | None = None
    destructive: bool = False
    samples: tuple[Mapping[str, Any], ...] = ()
    """`{"key": …, "before": {…}, "after": {…}}` of real items, DynamoDB JSON, only what changes."""
    notes: tuple[str, ...] = ()
    estimate: StepEstimate | None = None
    behind: str = ""
    """The command that runs it, after its gate; "" for `upgrade`."""


@dataclass(frozen=True, slots=True)
class PlannedRevision:
    revision: str
    message: str
    path: str
    checksum: str
    steps: tuple[PlannedStep, ...]
    gate: str | None
    reversible: str
    """How a downgrade goes, or why there is none."""
    destructive: bool
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    resumes: bool = False
    after_gate: tuple[PlannedStep, ...] = ()
    """What `contract` does, once the question of the gate is answered."""
    serves: tuple[str, ...] = ()
    """Access patterns that it newly serves."""
    breaks: tuple[str, ...] = ()
    """Access patterns that it no longer serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult(Result):
    """`state`: nothing-pending | pending | refused."""

    where: Where
    target: str
    revisions: tuple[PlannedRevision, ...]
    fingerprint: str
    """What `upgrade --plan` holds against the world after it took the lock."""
    fingerprint_parts: Mapping[str, Any] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    """What the plan could not know."""
    estimate: Estimate | None = None
    """None: no item was looked at."""
    data_findings: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """`REVISION STEP` -> reason -> items in the way that were read: `upgrade --plan` looks again, and refuses more."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffResult(Result):
    """Of diff. `state`: same | different. Exit 3 for differences."""

    where: Where
    left: str
    """What stands on the left of each difference."""
    right: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Examined:
    """One question of doctor and its answer."""

    check: str
    """Such as `permissions`."""
    subject: str
    """A table's name, or "" for the environment."""
    verdict: Literal["ok", "warning", "problem", "unknown"]
    says: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorResult(Result):
    """Of doctor. `state`: ready | warnings | unknown | problems. Exit 3 for problems."""

    where: Where | None
    """None where nobody could be asked."""
    target: str
    pending: tuple[str, ...]
    checks: tuple[Examined, ...]


@dataclass(frozen=True, slots=True)
class TargetOutcome:
    """What came of one of many targets."""

    name: str
    state: str
    """As of the command alone; `error`, or `not-begun`."""
    exit_code: int
    seconds: float
    says: str
    code: str = ""
    """Of an error."""
    hint: str = ""
    result: Result | None = None
    """What the command answers for it; None where it has no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsResult(Result):
    """Of plan, upgrade, status and check with --target. `state`: done | partly | failed.

    The exit code is the worst of any target.
    """

    targets: tuple[TargetOutcome, ...]
    not_begun: tuple[str, ...]


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
class KeyProblem:
    """Why one key attribute of an item keeps it out of an index."""

    attribute: str
    code: str
    """index-key-null | index-key-type | index-key-empty | index-key-size."""
    reason: str


@dataclass(frozen=True, slots=True)
class Violator:
    key: Mapping[str, Any]
    """DynamoDB JSON."""
    problems: tuple[KeyProblem, ...]


@dataclass(frozen=True, slots=True)
class IndexKey:
    attribute: str
    type: Literal["S", "N", "B"]
    role: Literal["partition", "sort"]


@dataclass(frozen=True, slots=True)
class ProblemCount:
    attribute: str
    code: str
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationsResult(Result):
    """`state`: clean | violators. Exit 3 for violators."""

    where: Where
    index: str
    alias: str
    table: str
    """Physical."""
    table_key: tuple[str, ...]
    keys: tuple[IndexKey, ...]
    revision: str
    """The one that declares the index, or "" for one that is only live."""
    is_pending: bool
    """Whether that revision is still to be applied."""
    scanned: int
    indexable: int
    """Items that are, or would be, in the index."""
    sparse: int
    """Items that lack a key attribute and so stay out; that is no violation."""
    violating: int
    read_units: float
    problems: tuple[ProblemCount, ...]
    """By attribute and code; an item with two problems counts in both."""
    violators: tuple[Violator, ...]
    """The first of them."""
    listed_in: str = ""
    """The file that lists all of them."""
    generated: str = ""
    """The migration file that repairs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteResult(Result):
    """Of stamp, repair and other commands that change records only: what was done, line by line."""

    lines: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict)
