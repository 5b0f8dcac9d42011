"""DropIndex: a global secondary index goes."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.errors import UsageError
from migrator.operations.tables import unknown_table, warning


@dataclass(frozen=True, slots=True)
class DropIndex:
    """Delete an index and wait until it has vanished. Items are untouched. The way back builds it again."""

    name: str
    table: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError("bad-option", f"{self.name!r} is no index name")

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        if self.name in table.indexes:
            return ()
        known = ", ".join(sorted(table.indexes)) or "none"
        return (
            warning(
                "unknown-index",
                f"table {table.alias} has no index {self.name} at this revision (known: {known})",
                "nothing is sent for an index that is gone already; check the spelling if it should be there",
            ),
        )

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        return Plan(
            after=schema.with_table(table.without_index(self.name)),
            apply=(steps.DeleteIndex(table.alias, self.name),),
            rollback=(steps.Restore(table.alias, f"index:{self.name}"),),
            destructive=True,
            notes=(
                f"queries of {self.name} fail as soon as its deletion begins: move every reader first",
                f"the way back builds {self.name} anew from its former definition, which takes as long as any build",
            ),
        )
