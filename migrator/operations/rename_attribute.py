"""RenameAttribute: copy, ask whether the application has moved, then remove the old name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan, Stage
from migrator.core.schema import Schema
from migrator.core.transform import Transform
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments
from migrator.operations.arguments import assign, attribute_name, choice
from migrator.operations.tables import leaves_index, table_key_written, unknown_table, written_indexes


@dataclass(frozen=True, slots=True, init=False)
class RenameAttribute:
    """Give an attribute a new name while the application runs.

    The upgrade copies it and stops at a gate; `migrator contract` copies what came since and removes the old name.
    An item that holds both names with different values is a failed item, `rename-conflict`: nothing is overwritten.
    """

    old: str
    new: str
    where: Where
    undo: Literal["auto", "journal"] = "auto"
    table: str = ""

    def __init__(
        self,
        old: str,
        new: str,
        *,
        where: Where = {},  # noqa: B006 - copied, never changed
        undo: Literal["auto", "journal"] = "auto",
        table: str = "",
    ):
        attribute_name("RenameAttribute", old)
        attribute_name("RenameAttribute", new)
        choice("undo", undo, ("auto", "journal"))
        if old == new:
            raise UsageError("nothing-to-do", f"RenameAttribute: {old!r} is both the old and the new name")
        selected = arguments.where(where)
        if not callable(selected) and {old, new} & selected.keys():
            # The copy would move items in or out of such a selection, and the second half would pass them by.
            raise UsageError(
                "bad-option", f"RenameAttribute: where cannot test {old!r} or {new!r}, which the step moves"
            )
        assign(self, old=old, new=new, where=selected, undo=undo, table=table)

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        return (*table_key_written(table, (self.old, self.new)), *leaves_index(table, (self.old,)))

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        copy = steps.TransformItems(
            table.alias, Transform(where=self.where, copy={self.old: self.new}), undo=self.undo, label="rename in"
        )
        remove = steps.TransformItems(
            table.alias, Transform(where=self.where, rename={self.old: self.new}), undo="none", label="rename in"
        )
        notes = [
            f"until the gate the application reads {self.new} and falls back to {self.old}; it writes both alike, or "
            f"writes {self.new} and removes {self.old} in the same update",
            f"after `migrator contract` the way back is another revision: RenameAttribute({self.new!r}, {self.old!r})",
        ]
        indexes = written_indexes(table, (self.old, self.new))
        if indexes:
            notes.append(
                f"each changed item that is in {', '.join(indexes)} is written there too, at that index's cost"
            )
        return Plan(
            after=schema,
            apply=(copy,),
            rollback=(steps.UndoItems(table.alias, of=copy, step=0),),
            stages=(
                Stage(
                    "complete",
                    f"Does every running version of the application read {self.new}, and none write {self.old} alone?",
                    (remove,),
                    irreversible=f"it was completed past its gate, and {self.old} does not come back",
                ),
            ),
            notes=tuple(notes),
        )
