"""The fingerprint that a reviewed plan is held to: what of the world must be as it was when the plan was made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from migrator.core.canonical import canonical_form
from migrator.core.plan import Migration
from migrator.core.steps import CreateIndex, CreateTable, DeleteIndex, UpdateIndex
from migrator.core.wire_schema import index_to_json
from migrator.runner.session import Session, plans

_CAPACITY = frozenset({"provisioned", "on_demand_maximum", "warm"})


def fingerprint_parts(session: Session, migrations: Sequence[Migration]) -> dict[str, Any]:
    """What a reviewed plan is held to: no counts, sizes, statuses or capacity that autoscaling moves.

    What the planned revisions themselves bring about is left out: a resume of the plan has not "moved".
    """
    settings = session.settings
    planned = {one.revision for one in migrations}
    tables, indexes = _brought(session, migrations)
    return {
        "revisions": [[one.revision, one.content_hash, canonical_form(one.operations)] for one in migrations],
        "config": {
            "env": settings.env,
            "tables": session.names,
            "control": asdict(settings.control),
            "default_table": settings.default_table,
        },
        "account": session.caller.account,
        "region": session.caller.region,
        "tables": {
            alias: "created by this plan" if alias in tables else _table_part(session, alias, indexes)
            for alias in sorted(session.names)
        },
        "history": sorted(
            [revision, entry.status]
            for revision, entry in session.entries.items()
            if revision not in planned and entry.stands
        ),
    }


def _brought(session: Session, migrations: Sequence[Migration]) -> tuple[set[str], set[tuple[str, str]]]:
    """The tables, and the indexes as (alias, name), that migrations create, change or drop."""
    tables: set[str] = set()
    indexes: set[tuple[str, str]] = set()
    schema = session.base_schema()
    for migration in migrations:
        for plan in plans(schema, migration):
            for step in plan.apply:
                alias = schema.alias(step.table)
                match step:
                    case CreateTable():
                        tables.add(alias)
                    case CreateIndex(_, index) | UpdateIndex(_, index):
                        indexes.add((alias, index.name))
                    case DeleteIndex(_, name):
                        indexes.add((alias, name))
                    case _:
                        pass
            schema = plan.after
    return tables, indexes


def _table_part(session: Session, alias: str, brought: Collection[tuple[str, str]]) -> Any:
    live = session.live.get(alias)
    if live is None:
        return None
    return {
        "arn": live.arn,
        "table_id": live.table_id,
        "key": [[attribute.name, attribute.type] for attribute in live.shape.key],
        "billing_mode": live.shape.billing_mode,
        "indexes": {
            name: {key: value for key, value in index_to_json(index.definition).items() if key not in _CAPACITY}
            for name, index in sorted(live.indexes.items())
            if (alias, name) not in brought
        },
    }


def fingerprint(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def moved(reviewed: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Which parts of a reviewed plan are no longer so."""
    return tuple(name for name in sorted({*reviewed, *now}) if reviewed.get(name) != now.get(name))
