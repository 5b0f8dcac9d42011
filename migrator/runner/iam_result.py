"""What `iam` answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from migrator.runner.results import Result


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
