"""RemoveAttributes: attributes that nothing reads any more go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.core.transform import Transform
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments
from migrator.operations.arguments import assign, choice
from migrator.operations.tables import leaves_index, table_key_written, unknown_table, written_indexes


@dataclass(frozen=True, slots=True, init=False)
class RemoveAttributes:
    """Remove attributes from the selected items. The values are kept in a journal unless `undo="none"`."""

    transform: Transform
    undo: Literal["journal", "none"] = "journal"
    table: str = ""

    def __init__(
        self,
        names: str | Iterable[str],
        *,
        where: Where = {},  # noqa: B006 - copied, never changed
        undo: Literal["journal", "none"] = "journal",
        table: str = "",
    ):
        choice("undo", undo, ("journal", "none"))
        removed = arguments.names("RemoveAttributes", names)
        if not removed:
            raise UsageError("nothing-to-do", "RemoveAttributes: no attribute is named")
        assign(self, transform=Transform(where=arguments.where(where), remove=removed), undo=undo, table=table)

    @property
    def names(self) -> tuple[str, ...]:
        return self.transform.remove

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        return (*table_key_written(table, self.names), *leaves_index(table, self.names))

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        step = steps.TransformItems(table.alias, self.transform, undo=self.undo, label="clean up")
        notes = []
        indexes = written_indexes(table, self.names)
        if indexes:
            notes.append(
                f"each changed item that is in {', '.join(indexes)} is written there too, at that index's cost"
            )
        if self.undo == "journal":
            notes.append("the way back is a journal: one more record is written for each changed item")
        return Plan(
            after=schema,
            apply=(step,),
            rollback=() if self.undo == "none" else (steps.UndoItems(table.alias, of=step, step=0),),
            irreversible='undo="none": the removed values are not kept' if self.undo == "none" else None,
            destructive=True,
            notes=tuple(notes),
        )
