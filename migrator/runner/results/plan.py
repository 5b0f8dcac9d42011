"""What a plan says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migrator.core.findings import Finding
from migrator.runner.estimates.figures import Estimate, StepEstimate
from migrator.runner.results.base import Result, Where


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


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """Steps behind a gate."""

    name: str
    """ready | cutover | complete, in this order."""
    gate: str
    """The question that an operator answers with yes by typing `command`."""
    command: str
    steps: tuple[PlannedStep, ...]
    irreversible: str = ""
    """Why there is no way back once it has begun; empty: there is one."""


@dataclass(frozen=True, slots=True)
class PlannedRevision:
    revision: str
    message: str
    path: str
    checksum: str
    steps: tuple[PlannedStep, ...]
    """What `upgrade` does, up to the first gate."""
    reversible: str
    """How it is taken back, and until when; or why there is no way back."""
    destructive: bool
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    resumes: bool = False
    stages: tuple[PlannedStage, ...] = ()
    """What waits behind gates, in order."""
    serves: tuple[str, ...] = ()
    """Access patterns that it newly serves."""
    breaks: tuple[str, ...] = ()
    """Access patterns that it no longer serves."""

    @property
    def all_steps(self) -> tuple[PlannedStep, ...]:
        """Of the whole way up, those behind gates included."""
        return (*self.steps, *(step for stage in self.stages for step in stage.steps))


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
