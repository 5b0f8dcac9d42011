"""A first migration from a table as it stands, for `init --from-table`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from migrator.core.ports import LiveTable
from migrator.core.schema import Index, KeyAttribute, Projection, Table, Throughput
from migrator.core.settings import (
    BillingMode,
    DeletionProtection,
    PointInTimeRecovery,
    Setting,
    Stream,
    TimeToLive,
)
from migrator.loader.literals import exploded, listing, quoted


def draft_from_table(live: LiveTable, alias: str, settings: Sequence[Setting] = ()) -> str:
    """The source of the CreateTable that this table is equal to: `operations_source` of `write_revision`.

    `settings` are the live ones; those that are off are left out, and so left alone. Warm throughput is left out: the
    service reports one for every table (facts §1.8). Local indexes cannot be declared and are named in a comment.
    """
    if not any(isinstance(setting, DeletionProtection) for setting in settings) and live.deletion_protection:
        settings = (*settings, DeletionProtection(enabled=True))
    return _comment(live.local_indexes) + create_table(alias, live.shape, settings) + ","


def create_table(alias: str, shape: Table, settings: Sequence[Setting] = ()) -> str:
    """The call that creates a table of this shape, without the comma after it."""
    arguments = [quoted(alias), f"partition_key={key_source(shape.partition_key)}"]
    if shape.sort_key is not None:
        arguments.append(f"sort_key={key_source(shape.sort_key)}")
    if shape.indexes:
        indexes = (_index(shape.indexes[name]) for name in sorted(shape.indexes))
        arguments.append(exploded("indexes=[", indexes, "]"))
    if shape.billing_mode == "PROVISIONED" and shape.provisioned is not None:
        arguments.append(f"provisioned={units_source(shape.provisioned)}")
    arguments.extend(argument for argument in map(_setting, settings) if argument)
    return exploded("CreateTable(", arguments, ")")


def _comment(local_indexes: Iterable[str]) -> str:
    names = ", ".join(sorted(local_indexes))
    return f"# Local indexes, made with the table and not declared here: {names}\n" if names else ""


def _setting(setting: Setting) -> str:
    """The argument, or "" for what is off or follows from the table's shape."""
    match setting:
        case TimeToLive(attribute):
            return f"ttl={quoted(attribute)}" if attribute else ""
        case Stream(view):
            return f"stream={quoted(view)}" if view else ""
        case PointInTimeRecovery(enabled):
            return "point_in_time_recovery=True" if enabled else ""
        case DeletionProtection(enabled):
            return "deletion_protection=True" if enabled else ""
        case BillingMode():
            return ""
        case _:
            assert_never(setting)


def _index(index: Index) -> str:
    # Where it will stand: in `indexes` of the call, in the list of operations, and with a comma.
    return listing("Index(", index_arguments(index), ")", used=len("            ,"))


def index_arguments(index: Index) -> list[str]:
    """Those of Index and AddIndex. Warm throughput is left out."""
    arguments = [quoted(index.name), f"partition_key={_keys(index.partition_key)}"]
    if index.sort_key:
        arguments.append(f"sort_key={_keys(index.sort_key)}")
    arguments.append(_projection(index.projection))
    if index.provisioned is not None:
        arguments.append(f"provisioned={units_source(index.provisioned)}")
    if index.on_demand_maximum is not None:
        arguments.append(f"on_demand_maximum={units_source(index.on_demand_maximum)}")
    return arguments


def _projection(projection: Projection) -> str:
    if projection.type == "INCLUDE":
        return listing("projection=[", map(quoted, sorted(projection.attributes)), "]", used=len("                ,"))
    return f"projection={quoted(projection.type)}"


def _keys(keys: Sequence[KeyAttribute]) -> str:
    return key_source(keys[0]) if len(keys) == 1 else "[" + ", ".join(map(key_source, keys)) + "]"


def key_source(attribute: KeyAttribute) -> str:
    """`"PK"`, `N("score")`."""
    name = quoted(attribute.name)
    return name if attribute.type == "S" else f"{attribute.type}({name})"


def units_source(units: Throughput) -> str:
    """`(read, write)`."""
    return f"({units.read}, {units.write})"
