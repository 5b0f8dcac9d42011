"""A table as something declares it: migration files, a template, a state file, or a live table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from migrator.core.graph import Graph
from migrator.core.plan import Migration
from migrator.core.schema import Schema, Table
from migrator.core.settings import Setting
from migrator.core.steps import ChangeSetting, CreateTable
from migrator.errors import UsageError


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    """The shape and the settings that are declared. A setting that is not among `settings` is not spoken of."""

    label: str
    """What the declaration calls it: a logical id, an address, an alias."""
    name: str | None
    """Physical; None where it is not told, or cannot be."""
    shape: Table
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """By `Setting.name`; never the billing mode, which is part of the shape."""
    local_indexes: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    """Other Regions."""
    unknown: tuple[str, ...] = ()
    """What is declared and cannot be told from here, one sentence each."""
    vague_indexes: frozenset[str] = frozenset()
    """Indexes that are declared and whose definition cannot be told."""
    is_vague: bool = False
    """Whether it may have more indexes than those that could be read."""
    has_vague_billing: bool = False
    """Whether nothing can be said of its billing mode and its units."""

    def with_setting(self, setting: Setting) -> DeclaredTable:
        return replace(self, settings={**self.settings, setting.name: setting})


@dataclass(frozen=True, slots=True)
class Source:
    """What a document declares."""

    format: str
    """Such as `CloudFormation`."""
    tables: tuple[DeclaredTable, ...]
    unknown: tuple[str, ...] = ()
    """What cannot be told of the document as a whole."""


def folded(
    graph: Graph, revisions: Iterable[Migration], start: Schema, settings: Mapping[str, Mapping[str, Setting]] = {}
) -> dict[str, DeclaredTable]:
    """Alias -> the table after these revisions, on `start`. `settings`: those before them, by alias.

    A table that no revision creates and that `start` has not is left out.
    """
    wanted = {migration.revision for migration in revisions}
    schema = start
    told = {alias: dict(given) for alias, given in settings.items()}
    for migration in graph.order():
        if migration.revision not in wanted:
            continue
        for operation in migration.operations:
            try:
                plan = operation.plan(schema)
            except UsageError:
                continue  # of a table whose shape nobody knows
            for step in plan.apply:
                if isinstance(step, CreateTable):
                    told.setdefault(schema.alias(step.table), {}).update({one.name: one for one in step.settings})
                elif isinstance(step, ChangeSetting):
                    told.setdefault(schema.alias(step.table), {})[step.setting.name] = step.setting
            schema = plan.after
    return {
        alias: DeclaredTable(
            alias,
            None,
            table,
            {name: one for name, one in told.get(alias, {}).items() if name != "billing-mode"},
        )
        for alias, table in sorted(schema.tables.items())
    }
