"""What the commands answer: values that the CLI renders as text or as one JSON document.

Every result has `state`, `exit_code`, `next` (what to type, "" when nothing) and `blocked_by` ("" when nothing).
"""

from __future__ import annotations

from migrator.runner.results.base import Result, Where
from migrator.runner.results.patterns import AskedExample, PatternFinding, PatternLine, PatternsResult
from migrator.runner.results.plan import PlannedRevision, PlannedStage, PlannedStep, PlanResult
from migrator.runner.results.run import FailedItem, FailedResult, NoteResult, RevisionOutcome, RunResult
from migrator.runner.results.status import (
    CheckResult,
    ControlResult,
    IndexState,
    InstanceState,
    LockResult,
    LockState,
    MirrorResult,
    RevisionStatus,
    RewriteState,
    StatusResult,
)
from migrator.runner.results.surroundings import DiffResult, DoctorResult, Examined, IamResult
from migrator.runner.results.targets import TargetOutcome, TargetsResult
from migrator.runner.results.violations import IndexKey, KeyProblem, ProblemCount, ViolationsResult, Violator

__all__ = [
    "AskedExample",
    "CheckResult",
    "ControlResult",
    "DiffResult",
    "DoctorResult",
    "Examined",
    "FailedItem",
    "FailedResult",
    "IamResult",
    "IndexKey",
    "IndexState",
    "InstanceState",
    "KeyProblem",
    "LockResult",
    "LockState",
    "MirrorResult",
    "NoteResult",
    "PatternFinding",
    "PatternLine",
    "PatternsResult",
    "PlanResult",
    "PlannedRevision",
    "PlannedStage",
    "PlannedStep",
    "ProblemCount",
    "Result",
    "RevisionOutcome",
    "RevisionStatus",
    "RewriteState",
    "RunResult",
    "StatusResult",
    "TargetOutcome",
    "TargetsResult",
    "ViolationsResult",
    "Violator",
    "Where",
]
