"""SplitItem: some attributes of an item move to a sibling, an item of its own under the same partition key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from migrator.core.findings import Finding
from migrator.core.plan import Plan, Stage
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.rewrite import Application, Rewrite
from migrator.core.rewrite.steps import SLOT, CloseRewrite, EnterPhase, ReleaseAttributes
from migrator.core.schema import Schema
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments, rewriting
from migrator.operations.arguments import assign, choice, names
from migrator.operations.tables import error, unknown_table


@dataclass(frozen=True, slots=True, init=False)
class SplitItem:
    """Give each selected item a sibling that holds the attributes `move`; after contract the item has them no more.

    `key` gives the sibling's sort key. Until contract both hold them, and the application keeps both; on contract an
    item loses what its sibling holds equal, and what differs is kept and reported.
    """

    move: tuple[str, ...]
    key: Form
    where: Where
    application: Application = "dual-write"
    table: str = ""

    def __init__(
        self,
        move: str | Iterable[str],
        *,
        key: Mapping[str, str],
        where: Where,
        application: Application = "dual-write",
        table: str = "",
    ):
        choice("application", application, ("dual-write", "stopped"))
        moved = names("move", move)
        if not moved:
            raise UsageError("nothing-to-do", "SplitItem: move= names no attribute")
        selected = arguments.where(where)
        if not callable(selected) and not selected:
            raise UsageError(
                "selects-everything",
                "SplitItem: an empty where selects the siblings, too",
                hint="say which items are split, by something that their siblings will not have",
            )
        assign(
            self,
            move=moved,
            key=rewriting.form("key", key),
            where=selected,
            application=application,
            table=table,
        )

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        if table.sort_key is None:
            return (error("no-sort-key", f"table {table.alias} has no sort key: no item has a sibling"),)
        found = list(rewriting.key_findings(table, table, self.key))
        if self.key.names != {table.sort_key.name} and not found:
            found.append(
                error(
                    "no-key-attribute",
                    f"key= gives the sibling's {table.sort_key.name} alone: its partition key is the item's",
                )
            )
        found += (
            error("table-key", f"{name} is a key of table {table.alias}: it cannot leave an item")
            for name in self.move
            if name in table.key_names
        )
        return tuple(found)

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        route = rewriting.route(
            table,
            table,
            where=self.where,
            key=self.key,
            old=Form(),
            further=Form(),
            keep=self.move,
            # What selects an item is not in its sibling, which cannot tell whose it is.
            is_marked=True,
        )
        rewrite = Rewrite((route,), self.application, moves=False)
        what = ", ".join(self.move)
        complete = Stage(
            "complete",
            f"Is {what} read from the siblings alone, and written there by code of your own that removes it from the "
            "item in the same transaction?",
            (
                EnterPhase(rewrite, SLOT, "done"),
                ReleaseAttributes(rewrite, SLOT),
                CloseRewrite(rewrite, SLOT, "done"),
            ),
            irreversible=f"the items lose {what}",
        )
        return rewriting.deriving(
            schema,
            rewrite,
            f"Does every running writer keep {what} in item and sibling, by migrator.runtime or as it does?",
            complete,
            notes=self._notes(schema),
        )

    def _notes(self, schema: Schema) -> tuple[str, ...]:
        table = schema.table(self.table)
        found = [f"until contract {table.alias} holds {', '.join(self.move)} twice: in each item and in its sibling"]
        found += (
            f"{index.name} has a key among what moves: after contract the items leave it, and siblings are in it only "
            "if all of its keys move"
            for index in table.indexes.values()
            if {one.name for one in index.keys} & set(self.move)
        )
        return tuple(found)
