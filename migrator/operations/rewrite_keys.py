"""RewriteKeys: items get new keys while the application runs, in phases, and with a way back until contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.rewrite import Application, Rewrite
from migrator.core.rewrite.route import KeyFunction
from migrator.core.schema import Schema, Table
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments, rewriting
from migrator.operations.arguments import assign, choice, names
from migrator.operations.tables import error, unknown_table


@dataclass(frozen=True, slots=True, init=False)
class RewriteKeys:
    """Move the selected items to new keys, in their table or into another.

    `key` gives the new key attributes: templates, or a named function of the item. `old` gives the form of the old key
    (and of other attributes that the rewrite changes): its fields are there for `key` and `set`, and on the way back it
    is rendered. `set` gives further attributes of the new form, such as keys of indexes. `upgrade` stops at the first
    gate; `upgrade --app-ready`, `cutover`, `contract` and `rollback` go on from there.

    `forms` instead of `old` and `key` gives several pairs of them, for items that name a thing in different places:
    an item moves by the one pair whose old form it has.

    Within one table both forms of an item stand in every index and item collection until contract:
    `readers="runtime"` says that all readers use the runtime's get, query and scan; `accept_duplicates_in` names the
    indexes ("table" for item collections) where duplicates do no harm.
    """

    where: Where
    forms: tuple[tuple[Form, Form | KeyFunction], ...]
    """Each old form with the new key that its items get."""
    to: str = ""
    set: Form = field(default_factory=Form)
    application: Application = "dual-write"
    readers: Literal["runtime", "any"] = "any"
    accept_duplicates_in: tuple[str, ...] = ()
    table: str = ""

    def __init__(
        self,
        *,
        key: Mapping[str, str] | Callable[..., Any] = {},  # noqa: B006 - copied, never changed
        where: Where = {},  # noqa: B006
        to: str = "",
        old: Mapping[str, str] = {},
        forms: Iterable[tuple[Mapping[str, str], Mapping[str, str]]] = (),
        set: Mapping[str, str] = {},  # noqa: A002
        application: Application = "dual-write",
        readers: Literal["runtime", "any"] = "any",
        accept_duplicates_in: str | Iterable[str] = (),
        table: str = "",
    ):
        choice("application", application, rewriting.APPLICATIONS)
        choice("readers", readers, ("runtime", "any"))
        pairs = _pairs(forms)
        if pairs and (key or old):
            raise UsageError("bad-option", "RewriteKeys: give forms=, or key= and old=, not both")
        made = pairs or ((rewriting.form("old", old), rewriting.key("key", key)),)
        if not to and any(isinstance(one, Form) and not one.names for _, one in made):
            raise UsageError("nothing-to-do", "RewriteKeys: give key=, the new key attributes")
        assign(
            self,
            where=arguments.where(where),
            forms=made,
            to=to,
            set=rewriting.form("set", set),
            application=application,
            readers=readers,
            accept_duplicates_in=names("accept_duplicates_in", accept_duplicates_in),
            table=table,
        )

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table) or (unknown_table(schema, self.to) if self.to else ())
        if missing:
            return missing
        source, target = self._tables(schema)
        found = [one for _, key in self.forms for one in rewriting.key_findings(source, target, key)]
        if source.alias == target.alias:
            found += self._duplicates(source)
        return (*found, *(() if found else rewriting.unproven(self.plan(schema))))

    def _duplicates(self, table: Table) -> list[Finding]:
        """Where readers would meet an item twice."""
        places = ["table", *sorted(table.indexes)]
        unknown = sorted(frozenset(self.accept_duplicates_in) - frozenset(places))
        if unknown:
            return [error("unknown-index", f"accept_duplicates_in: {table.alias} has no index {', '.join(unknown)}")]
        left = [place for place in places if place not in self.accept_duplicates_in]
        if self.readers == "runtime" or self.application == "stopped" or not left:
            return []
        return [
            error(
                "twins-in-one-table",
                f"until contract both forms of an item stand in {', '.join(left)} of {table.alias}: a reader that does "
                "not know of it meets each thing twice",
                'rewrite into another table (to=ALIAS); or readers="runtime" where every reader uses migrator.runtime; '
                "or accept_duplicates_in=[…]",
            )
        ]

    def plan(self, schema: Schema) -> Plan:
        source, target = self._tables(schema)
        routes = tuple(
            rewriting.route(source, target, where=self.where, key=key, old=old, further=self.set)
            for old, key in self.forms
        )
        rewrite = Rewrite(routes, self.application, accept_duplicates_in=self.accept_duplicates_in)
        return rewriting.moving(schema, rewrite, notes=self._notes(source, target))

    def _tables(self, schema: Schema) -> tuple[Table, Table]:
        source = schema.table(self.table)
        return source, schema.table(self.to) if self.to else source

    def _notes(self, source: Table, target: Table) -> tuple[str, ...]:
        if source.alias != target.alias:
            return ()
        places = ", ".join(["item collections", *sorted(source.indexes)])
        return (f"until contract both forms of an item stand in {source.alias}: in {places}",)


def _pairs(forms: Iterable[tuple[Mapping[str, str], Mapping[str, str]]]) -> tuple[tuple[Form, Form], ...]:
    found: list[tuple[Form, Form]] = []
    for pair in forms:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise UsageError("bad-option", f"forms={pair!r}: give pairs (old, key), each attribute -> template")
        old, key = rewriting.form("forms, old", pair[0]), rewriting.form("forms, key", pair[1])
        if not old.names:
            raise UsageError("bad-option", "forms: a pair without an old form would take every item")
        found.append((old, key))
    return tuple(found)
