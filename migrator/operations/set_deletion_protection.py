"""SetDeletionProtection: whether anyone may delete the table."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.core.settings import DeletionProtection
from migrator.operations.arguments import boolean
from migrator.operations.setting_plan import setting_plan
from migrator.operations.tables import unknown_table, warning


@dataclass(frozen=True, slots=True)
class SetDeletionProtection:
    """Switch the table's deletion protection on or off. It guards the table, not its indexes."""

    enabled: bool
    table: str = ""

    def __post_init__(self) -> None:
        boolean("SetDeletionProtection", self.enabled)

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing or self.enabled:
            return missing
        return (
            warning("protection-off", f"table {schema.alias(self.table)} can be deleted by anyone with the right to"),
        )

    def plan(self, schema: Schema) -> Plan:
        return setting_plan(
            schema,
            self.table,
            DeletionProtection(self.enabled),
            "it keeps the table from being deleted, not its indexes",
        )
