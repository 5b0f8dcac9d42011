"""A migration with what its operations plan, on the schema before it."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core.findings import Finding
from migrator.core.plan import Migration, Plan
from migrator.core.schema import Schema
from migrator.core.steps import Step


@dataclass(frozen=True, slots=True)
class Planned:
    """A migration with its plans, on the schema before it."""

    migration: Migration
    before: Schema
    plans: tuple[Plan, ...]
    findings: tuple[Finding, ...]

    def before_step(self, step_id: str) -> Schema:
        """The shape when the step begins: after the operations before its own."""
        number = int(step_id.partition(".")[0])
        return self.plans[number - 1].after if number else self.before

    @property
    def after(self) -> Schema:
        return self.plans[-1].after if self.plans else self.before

    @property
    def gates(self) -> tuple[str, ...]:
        return tuple(plan.gate for plan in self.plans if plan.gate)

    @property
    def is_destructive(self) -> bool:
        return any(plan.destructive for plan in self.plans)

    @property
    def irreversible(self) -> tuple[str, ...]:
        return tuple(plan.irreversible for plan in self.plans if plan.irreversible)

    def steps(self, way: str) -> tuple[tuple[str, Step], ...]:
        """(id, step) of one way, in the order in which they run: `rollback` goes through the operations backwards."""
        found = []
        numbered = list(enumerate(self.plans))
        for number, plan in reversed(numbered) if way == "rollback" else numbered:
            steps = {"apply": plan.apply, "complete": plan.complete, "rollback": plan.rollback}[way]
            found += [(f"{number}.{way}.{position}", step) for position, step in enumerate(steps)]
        return tuple(found)
