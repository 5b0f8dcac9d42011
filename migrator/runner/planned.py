"""A migration with what its operations plan, on the schema before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from migrator.core.findings import Finding
from migrator.core.plan import STAGES, Migration, Plan, Stage, StageName
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

    def schema_at(self, step_id: str) -> Schema:
        """What a step finds: the shape that the operations before its own leave, and the tables that its own makes."""
        found = self.before_step(step_id)
        made = self.plans[int(step_id.partition(".")[0])].after.tables
        return replace(found, tables={**made, **found.tables})

    @property
    def after(self) -> Schema:
        return self.plans[-1].after if self.plans else self.before

    # --- stages

    def stages(self, name: StageName) -> tuple[Stage, ...]:
        """Of each operation, its stage of that name."""
        return tuple(stage for plan in self.plans if (stage := plan.stage(name)) is not None)

    def stage_after(self, way: str) -> StageName | None:
        """The stage that waits once `way` is done; None where the revision is applied then."""
        later = STAGES[STAGES.index(way) + 1 :] if way in STAGES else STAGES
        return next((name for name in later if self.stages(name)), None)

    def gate(self, name: StageName) -> str:
        """The question before a stage."""
        return "; ".join(dict.fromkeys(stage.gate for stage in self.stages(name)))

    @property
    def gates(self) -> tuple[str, ...]:
        """Every question on the way up, in order."""
        return tuple(self.gate(name) for name in STAGES if self.stages(name))

    @property
    def has_phases(self) -> bool:
        """Whether it goes through phases that the application takes part in."""
        return bool(self.stages("ready"))

    # --- what it does

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
            found += [(f"{number}.{way}.{position}", step) for position, step in enumerate(plan.on(way))]
        return tuple(found)

    @property
    def behind_gates(self) -> tuple[tuple[str, Step], ...]:
        """(id, step) of what waits behind gates, in order."""
        return tuple(one for way in STAGES for one in self.steps(way))

    @property
    def way_up(self) -> tuple[tuple[str, Step], ...]:
        """(id, step) of the whole way up, those behind gates included."""
        return (*self.steps("apply"), *self.behind_gates)
