"""What lint and plan have to say about a revision."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """`error` stops an upgrade; `warning` is shown; `note` informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark: a stable rule id, a message, and the safe way."""

    rule: str
    severity: Severity
    message: str
    hint: str | None = None
