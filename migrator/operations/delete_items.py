"""DeleteItems: selected items go, each kept in a journal."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments
from migrator.operations.arguments import CheckMode, assign, choice
from migrator.operations.tables import unknown_table


@dataclass(frozen=True, slots=True, init=False)
class DeleteItems:
    """Delete the items that `where` selects, each journalled whole first. The way back puts them again."""

    where: Where
    check: CheckMode = "pass"
    table: str = ""

    def __init__(self, where: Where, *, check: CheckMode = "pass", table: str = ""):
        choice("check", check, ("pass", "none"))
        selected = arguments.where(where)
        if not callable(selected) and not selected:
            raise UsageError(
                "selects-everything",
                "DeleteItems: an empty where selects every item of the table",
                hint="if that is meant, give a named function that returns True",
            )
        assign(self, where=selected, check=check, table=table)

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        return unknown_table(schema, self.table)

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        step = steps.DeleteItems(table.alias, self.where, check=self.check)
        notes = ["each deleted item is kept whole in a journal until the journal is cleaned up"]
        if table.indexes:
            notes.append(f"deleted items leave {', '.join(sorted(table.indexes))} too, at the cost of a write in each")
        if self.check == "none":
            notes.append('check="none": what an old writer adds behind the scan goes unnoticed')
        return Plan(
            after=schema,
            apply=(step,),
            rollback=(steps.UndoItems(table.alias, of=step, step=0),),
            destructive=True,
            notes=tuple(notes),
        )
