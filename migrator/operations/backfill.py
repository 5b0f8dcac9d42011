"""Backfill: give items attributes, by templates, constants, removals and renames, or by a function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.function import Function
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.core.transform import Transform
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments
from migrator.operations.arguments import CheckMode, Undo, assign, attribute_name, choice
from migrator.operations.idempotence import idempotence_findings
from migrator.operations.tables import leaves_index, table_key_written, unknown_table, written_indexes
from migrator.operations.written_keys import written_key_findings


@dataclass(frozen=True, slots=True, init=False)
class Backfill:
    """Scan the table and bring each selected item to the wanted form, by one guarded write at most.

    In `set`, a string is a template ("TENANT#{tenantId}"), without fields a constant; any other Python value is a
    constant. `transform` is a named function `f(item)` or `f(item, lookup)` giving attribute -> value, None to remove.
    """

    transform: Transform
    undo: Undo = "auto"
    check: CheckMode = "pass"
    table: str = ""

    def __init__(
        self,
        *,
        where: Where = {},  # noqa: B006 - copied, never changed
        set: Mapping[str, Any] = {},  # noqa: A002 - the word of DynamoDB's own update expressions
        remove: str | Iterable[str] = (),
        rename: Mapping[str, str] = {},
        transform: Function | None = None,
        missing: Literal["fail", "skip", "remove"] = "fail",
        once: bool = False,
        undo: Undo = "auto",
        check: CheckMode = "pass",
        version: str | None = None,
        table: str = "",
    ):
        choice("missing", missing, ("fail", "skip", "remove"))
        choice("undo", undo, ("auto", "journal", "none"))
        choice("check", check, ("pass", "none"))
        removed = arguments.names("remove", remove)
        if transform is not None:
            arguments.function("transform", transform, (1, 2))
            if set or removed or rename:
                raise UsageError("bad-option", "Backfill: give transform or set/remove/rename, not both")
            if missing != "fail":
                raise UsageError("bad-option", "Backfill: missing= speaks of templates; a function decides by itself")
        elif not (set or removed or rename):
            raise UsageError("nothing-to-do", "Backfill: give set, remove, rename or transform")
        if version is not None:
            attribute_name("version", version)
        work = Transform(
            where=arguments.where(where),
            set=arguments.assignments(set),
            remove=removed,
            rename=_renames(rename),
            function=transform,
            missing=missing,
            version=version,
            once=once,
        )
        _refuse_overlaps(work)
        assign(self, transform=work, undo=undo, check=check, table=table)

    @property
    def kept_undo(self) -> Undo:
        """How the way back is kept: "auto" becomes a journal where removing what was written would not restore.

        That is so for removals and renames, for `once` (its result cannot be computed again), and for functions, of
        which only running tells what they write.
        """
        return "journal" if self.undo == "auto" and not self.transform.can_be_undone_by_removal else self.undo

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        work = self.transform
        written = work.targets if work.targets is not None else {work.version} if work.version else ()
        return (
            *table_key_written(table, written),
            *idempotence_findings(self.transform),
            *written_key_findings(table, self.transform),
            *leaves_index(table, (*self.transform.remove, *self.transform.rename)),
        )

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        step = steps.TransformItems(table.alias, self.transform, undo=self.kept_undo, check=self.check)
        return Plan(
            after=schema,
            apply=(step,),
            rollback=() if self.kept_undo == "none" else (steps.UndoItems(table.alias, of=step, step=0),),
            irreversible='undo="none": what the step writes over is not kept' if self.kept_undo == "none" else None,
            destructive=bool(self.transform.remove),
            notes=self._notes(schema),
        )

    def _notes(self, schema: Schema) -> tuple[str, ...]:
        table = schema.table(self.table)
        work = self.transform
        notes = []
        if not callable(work.where) and not work.where:
            notes.append("every item of the table is selected; control records of this tool are skipped")
        indexes = written_indexes(table, work.targets)
        if indexes:
            notes.append(
                f"each changed item that is in {', '.join(indexes)} is written there too, at that index's cost"
            )
        keys = sorted(set(work.targets or ()) & set(table.index_key_types()))
        if keys:
            notes.append(f"{', '.join(keys)} is an index key: a changed one costs two writes in that index")
        if work.missing == "skip":
            notes.append("items that lack an attribute of a template stay as they are, and out of indexes keyed by it")
        if work.missing == "remove":
            notes.append("items that lack an attribute of a template lose the attribute it was to give")
        if work.takes_lookup:
            notes.append(
                "the function looks up other items: such a write is a transaction, at twice the cost; a step that "
                "reads collections repeats its pass until it finds nothing to change"
            )
        if work.once:
            notes.append("once: each write is a transaction with a journal record, at twice the cost")
        if work.version is not None:
            notes.append(f"each write raises {work.version} by one; every writer of the application must change it too")
        if self.kept_undo == "auto":
            notes.append(
                "the way back removes what was written, if no item had it before the step; else there is none: "
                'undo="journal" keeps one'
            )
        if self.kept_undo == "journal":
            notes.append("the way back is a journal: one more record is written for each changed item")
        if self.check == "none":
            notes.append('check="none": what an old writer adds behind the scan goes unnoticed')
        return tuple(notes)


def _renames(given: Mapping[str, str]) -> dict[str, str]:
    for old, new in given.items():
        attribute_name("rename", old)
        attribute_name("rename", new)
    touched = [*given, *given.values()]
    repeated = sorted({name for name in touched if touched.count(name) > 1})
    if repeated:
        raise UsageError("bad-option", f"rename: {', '.join(repeated)} is named twice")
    return dict(given)


def _refuse_overlaps(work: Transform) -> None:
    touched = [*work.set, *work.remove, *work.rename, *work.rename.values(), *([work.version] if work.version else [])]
    repeated = sorted({name for name in touched if touched.count(name) > 1})
    if repeated:
        raise UsageError(
            "bad-option", f"Backfill: {', '.join(repeated)} is written by two of set, remove, rename, version"
        )
