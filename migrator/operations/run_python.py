"""RunPython: a function of the migration's own, with a guarded table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.operations import arguments
from migrator.operations.tables import unknown_table

Program: TypeAlias = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class RunPython:
    """Call `function(table)`. It may be called again after an interruption: it must bear that."""

    function: Program
    undo: Program | None = None
    table: str = ""

    def __post_init__(self) -> None:
        arguments.function("RunPython", self.function, (1,))
        if self.undo is not None:
            arguments.function("RunPython undo", self.undo, (1,))

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        return unknown_table(schema, self.table)

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        return Plan(
            after=schema,
            apply=(steps.RunFunction(table.alias, self.function),),
            rollback=() if self.undo is None else (steps.RunFunction(table.alias, self.undo),),
            irreversible="RunPython without undo: only its author knows what it changed" if self.undo is None else None,
            notes=(
                "what the function does is not known before it runs, so the plan has no samples and no counts of it",
                "it is called from its beginning again after an interruption",
            ),
        )
