"""What a rule is, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from migrator.core.findings import Finding, Severity
from migrator.core.rules.release import PlacedOperation, Release


@dataclass(frozen=True, slots=True)
class Remark:
    """What a rule has to say about one operation."""

    at: PlacedOperation
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a stable id, how grave it usually is, and the pure function that judges."""

    id: str
    severity: Severity
    summary: str
    judge: Callable[[Release], Iterator[Remark]]
    looks_across_files: bool = False
    """Whether it finds more where files are known to be one release than where each stands for itself."""

    def findings(self, release: Release) -> Iterator[tuple[PlacedOperation, Finding]]:
        for remark in self.judge(release):
            yield remark.at, Finding(self.id, self.severity, remark.message, remark.hint)
