"""What came of a command over many targets."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.runner.results.base import Result


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
