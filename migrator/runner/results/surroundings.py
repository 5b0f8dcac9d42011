"""How tables differ, whether what an upgrade needs is there, and what a policy must allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from migrator.core.comparison import Difference
from migrator.runner.results.base import Result, Where


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


@dataclass(frozen=True, slots=True, kw_only=True)
class IamResult(Result):
    """Of iam. `state`: policy."""

    of: str
    """The command that it is for."""
    env: str
    account: str
    """Empty where it is not known; the policy then has a placeholder. So has the Region."""
    region: str
    revisions: tuple[str, ...]
    """Those whose steps it covers."""
    policy: Mapping[str, Any]
    """As IAM takes it."""
    notes: tuple[str, ...] = ()
