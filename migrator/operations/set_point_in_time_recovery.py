"""SetPointInTimeRecovery: continuous backups of the table."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.core.settings import PointInTimeRecovery
from migrator.operations.arguments import boolean
from migrator.operations.setting_plan import setting_plan
from migrator.operations.tables import unknown_table, warning


@dataclass(frozen=True, slots=True)
class SetPointInTimeRecovery:
    """Switch point-in-time recovery on or off."""

    enabled: bool
    table: str = ""

    def __post_init__(self) -> None:
        boolean("SetPointInTimeRecovery", self.enabled)

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing or self.enabled:
            return missing
        alias = schema.alias(self.table)
        return (
            warning(
                "recovery-off",
                f"without point-in-time recovery table {alias} can no longer be restored to a moment of the last days",
                "switching it on again starts a new window: the old one is lost",
            ),
        )

    def plan(self, schema: Schema) -> Plan:
        return setting_plan(schema, self.table, PointInTimeRecovery(self.enabled))
