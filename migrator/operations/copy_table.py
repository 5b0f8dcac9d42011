"""CopyTable: one table, or several, into another that has other keys, while the application runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.proofs import are_all_apart
from migrator.core.rewrite.rewrite import Application, Rewrite
from migrator.core.rewrite.route import Route
from migrator.core.schema import KeyAttribute, Schema, Table, key_attributes
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments, rewriting
from migrator.operations.arguments import assign, choice, names
from migrator.operations.tables import error, unknown_table


@dataclass(frozen=True, slots=True, init=False)
class CopyTable:
    """Move the items of one table or several into `to`, which is made where it is missing.

    The new table has the keys `partition_key` and `sort_key` (those of the first source unless given) and the first
    source's indexes; what else a table has is listed in the plan. `key`, `old` and `set` are as in RewriteKeys, and
    hold for every source; `keys` gives each source a new key of its own instead. The old tables stay, empty of what
    moved: only you delete a table.
    """

    sources: tuple[str, ...]
    to: str
    keys: Mapping[str, Form] = field(default_factory=dict)
    """By source."""
    where: Where = field(default_factory=dict)
    old: Form = field(default_factory=Form)
    set: Form = field(default_factory=Form)
    partition_key: KeyAttribute | None = None
    sort_key: KeyAttribute | None = None
    application: Application = "dual-write"

    def __init__(
        self,
        sources: str | Iterable[str],
        to: str,
        *,
        key: Mapping[str, str] = {},
        keys: Mapping[str, Mapping[str, str]] = {},
        where: Where = {},  # noqa: B006
        old: Mapping[str, str] = {},
        set: Mapping[str, str] = {},  # noqa: A002
        partition_key: str | KeyAttribute | None = None,
        sort_key: str | KeyAttribute | None = None,
        application: Application = "dual-write",
    ):
        choice("application", application, rewriting.APPLICATIONS)
        found = names("sources", sources)
        if not found or not to or to in found:
            raise UsageError("bad-option", "CopyTable: give the source tables, and another one as `to`")
        if sort_key is not None and partition_key is None:
            raise UsageError("bad-option", "CopyTable: a sort_key needs a partition_key")
        assign(
            self,
            sources=found,
            to=to,
            keys=_keys(found, key, keys),
            where=arguments.where(where),
            old=rewriting.form("old", old),
            set=rewriting.form("set", set),
            partition_key=_one(partition_key),
            sort_key=_one(sort_key),
            application=application,
        )

    @property
    def table(self) -> str:
        return self.sources[0]

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        for alias in self.sources:
            missing = unknown_table(schema, alias)
            if missing:
                return missing
        target = self._target(schema)
        found: list[Finding] = []
        for alias in self.sources:
            found += rewriting.key_findings(schema.table(alias), target, self.keys[alias])
        existing = schema.tables.get(self.to)
        wanted = (self.partition_key, *([self.sort_key] if self.sort_key else []))
        if existing is not None and self.partition_key is not None and existing.key != wanted:
            found.append(error("table-differs", f"table {self.to} exists with the key {', '.join(existing.key_names)}"))
        return (*found, *(() if found else rewriting.unproven(self.plan(schema))))

    def plan(self, schema: Schema) -> Plan:
        target = self._target(schema)
        routes = self._routes(schema, target, is_marked=False)
        if not are_all_apart(routes):
            # No key tells from which of the tables its item came.
            routes = self._routes(schema, target, is_marked=True)
        is_made = self.to not in schema.tables
        first = (steps.CreateTable(self.to, target),) if is_made else ()
        return rewriting.moving(
            schema.with_table(target),
            Rewrite(routes, self.application),
            first=first,
            notes=self._notes(schema) if is_made else (),
        )

    def _routes(self, schema: Schema, target: Table, *, is_marked: bool) -> tuple[Route, ...]:
        return tuple(
            rewriting.route(
                schema.table(alias),
                target,
                where=self.where,
                key=self.keys[alias],
                old=self.old,
                further=self.set,
                is_marked=is_marked,
            )
            for alias in self.sources
        )

    def _target(self, schema: Schema) -> Table:
        existing = schema.tables.get(self.to)
        if existing is not None:
            return existing
        first = schema.table(self.sources[0])
        if self.partition_key is None:
            return replace(first, alias=self.to)
        return replace(first, alias=self.to, partition_key=self.partition_key, sort_key=self.sort_key)

    def _notes(self, schema: Schema) -> tuple[str, ...]:
        first = schema.table(self.sources[0])
        indexes = ", ".join(sorted(first.indexes)) or "no index"
        return (
            f"{self.to} is made with {indexes}; time to live, point-in-time recovery, stream, tags, capacity, deletion "
            f"protection and local indexes of {first.alias} are not copied: use SetTimeToLive (after cutover), "
            "SetPointInTimeRecovery, SetStream and SetDeletionProtection in revisions of their own, or by hand",
        )


def _keys(
    sources: tuple[str, ...], shared: Mapping[str, str], own: Mapping[str, Mapping[str, str]]
) -> Mapping[str, Form]:
    if not own:
        return dict.fromkeys(sources, rewriting.form("key", shared))
    if shared or set(own) != set(sources):
        raise UsageError(
            "bad-option", f"CopyTable: keys= gives each of {', '.join(sources)} its new key, and key= is left out"
        )
    return {alias: rewriting.form(f"keys {alias}", one) for alias, one in own.items()}


def _one(given: str | KeyAttribute | None) -> KeyAttribute | None:
    return None if given is None else key_attributes(given)[0]
