"""What a project makes of the rules: which are off, how grave they are, where they begin, what a comment allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from migrator.core.findings import Finding, Severity
from migrator.core.graph import Graph
from migrator.core.places import Allowance
from migrator.core.plan import Migration


@dataclass(frozen=True, slots=True)
class Policy:
    """The [lint] of the configuration."""

    start_after: str | None = None
    """A revision: it and all that it builds on are spared."""
    disabled: frozenset[str] = frozenset()
    severities: Mapping[str, Severity] = field(default_factory=dict)

    def spared(self, graph: Graph) -> frozenset[str]:
        """Revisions that are older than the rules. Raises UsageError where `start_after` names none."""
        if self.start_after is None:
            return frozenset()
        return graph.ancestors(graph.find(self.start_after), inclusive=True)

    def applied_to(self, finding: Finding) -> Finding | None:
        """The finding as this project has it; None where it does not want it."""
        if finding.rule in self.disabled:
            return None
        return replace(finding, severity=self.severities.get(finding.rule, finding.severity))


def allowance_for(migration: Migration, position: int, rule: str) -> Allowance | None:
    """The comment that allows the rule at an operation of the file, if there is one with a reason."""
    if position >= len(migration.places):
        return None
    place = migration.places[position]
    fitting = (one for one in migration.allowances if one.reason and rule in one.rules and one.reaches(place))
    return next(fitting, None)
