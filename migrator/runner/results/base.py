"""What every result has, and whom a run talks to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
