"""Tables with their settings: as they stand, and as files say. Nothing here writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from migrator.core.declared import DeclaredTable, folded
from migrator.core.ports import LiveTable, Tables
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.runner.session import Session


def standing(tables: Tables, live: LiveTable, alias: str) -> DeclaredTable:
    """A live table, with what it takes two more calls to know."""
    told: tuple[Setting, ...] = (
        tables.setting(live.name, TimeToLive),
        tables.setting(live.name, PointInTimeRecovery),
        # DescribeTable told these already.
        Stream(live.stream),  # type: ignore[arg-type]  # a view type
        DeletionProtection(live.deletion_protection),
    )
    return DeclaredTable(
        label=alias,
        name=live.name,
        shape=replace(live.shape, alias=alias),
        settings={setting.name: setting for setting in told},
        local_indexes=live.local_indexes,
        replicas=tuple(replica.region for replica in live.replicas),
    )


def declared(session: Session, of: Literal["live", "head", "applied"]) -> Mapping[str, DeclaredTable]:
    """Alias -> its table: as it stands; with everything folded on it that is pending; or as the applied files say.

    As the applied files say, it has the key of the live table and the indexes and settings that files name.
    """
    if of == "applied":
        applied = [one for one in session.graph.order() if one.revision in session.applied]
        return {
            alias: replace(table, name=session.names.get(alias))
            for alias, table in folded(session.graph, applied, session.base_schema(with_indexes=False)).items()
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
