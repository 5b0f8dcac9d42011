"""Tables with their settings: as they stand, and as files say. Nothing here writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from migrator.core.declared import DeclaredTable, folded
from migrator.core.plan import Migration
from migrator.core.ports import LiveTable, Tables
from migrator.core.schema import Schema
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Stream, TimeToLive
from migrator.core.steps import CreateTable
from migrator.runner.session import Session, first_steps


def standing(tables: Tables, live: LiveTable, alias: str) -> DeclaredTable:
    """A live table, with what it takes two more calls to know."""
    found = described(live, alias)
    for kind in (TimeToLive, PointInTimeRecovery):
        found = found.with_setting(tables.setting(live.name, kind))
    return found


def described(live: LiveTable, alias: str) -> DeclaredTable:
    """A live table, as far as DescribeTable tells."""
    stream = Stream(live.stream)  # type: ignore[arg-type]  # a view type
    return DeclaredTable(
        label=alias,
        name=live.name,
        shape=replace(live.shape, alias=alias),
        settings={one.name: one for one in (stream, DeletionProtection(live.deletion_protection))},
        local_indexes=live.local_indexes,
        replicas=tuple(replica.region for replica in live.replicas),
    )


def declared(session: Session, of: Literal["live", "head", "applied", "files"]) -> Mapping[str, DeclaredTable]:
    """Alias -> its table. `live`: as it stands. `head`: with everything folded on it that is pending.

    `applied`, `files`: as the applied revisions say, or all. Of a table that none of them creates, the key and the
    billing mode are the live table's.
    """
    if of in ("applied", "files"):
        told = [one for one in session.graph.order() if of == "files" or one.revision in session.applied]
        return {
            alias: replace(table, name=session.names.get(alias))
            for alias, table in folded(session.graph, told, start_of(session, told)).items()
        }
    now = {alias: standing(session.ports.tables, live, alias) for alias, live in sorted(session.live.items())}
    if of == "live":
        return now
    pending = [one for one in session.graph.order() if one.revision not in session.applied]
    after = folded(
        session.graph, pending, session.base_schema(), {alias: table.settings for alias, table in now.items()}
    )
    return {
        alias: replace(
            table,
            name=session.names.get(alias),
            local_indexes=now[alias].local_indexes if alias in now else (),
            replicas=now[alias].replicas if alias in now else (),
        )
        for alias, table in after.items()
    }


def start_of(session: Session, migrations: Iterable[Migration]) -> Schema:
    """What these migrations are folded on to give what files say: the live tables that they do not create, bare."""
    bare = session.base_schema(with_indexes=False)
    made = {
        bare.alias(step.table)
        for migration in migrations
        for step in first_steps(migration, Schema({}, bare.default))
        if isinstance(step, CreateTable)
    }
    return replace(bare, tables={alias: table for alias, table in bare.tables.items() if alias not in made})
