"""The request members of CreateTable and UpdateTable for tables, indexes and throughput."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, assert_never

from migrator.core.schema import Index, KeyAttribute, Table, Throughput
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.errors import UsageError


def create_table(name: str, table: Table, settings: Sequence[Setting]) -> dict[str, Any]:
    """One CreateTable with all indexes and those settings that it can carry: not TTL, not recovery."""
    billing, provisioned = table.billing_mode, table.provisioned
    units = {index.name: index.provisioned for index in table.indexes.values()}
    request: dict[str, Any] = {"TableName": name}
    for setting in settings:
        match setting:
            case Stream(view):
                request["StreamSpecification"] = stream(view)
            case DeletionProtection(enabled):
                request["DeletionProtectionEnabled"] = enabled
            case BillingMode(mode, of_table, of_indexes):
                billing, provisioned = mode, of_table or provisioned
                units |= dict(of_indexes)
            case TimeToLive() | PointInTimeRecovery():
                pass
            case _:
                assert_never(setting)
    fallback = _needed(provisioned, name) if billing == "PROVISIONED" else None
    if fallback is not None:
        request["ProvisionedThroughput"] = capacity(fallback)
    request |= {
        "BillingMode": billing,
        "KeySchema": key_schema((table.partition_key,), (table.sort_key,) if table.sort_key else ()),
        "AttributeDefinitions": attribute_definitions(
            [*table.key, *(key for index in table.indexes.values() for key in index.keys)]
        ),
    }
    indexes = [
        index_creation(index, None if fallback is None else units[index.name] or fallback)
        for index in table.indexes.values()
    ]
    if indexes:
        request["GlobalSecondaryIndexes"] = indexes
    return request


def index_creation(index: Index, provisioned: Throughput | None) -> dict[str, Any]:
    """An index to create; `provisioned` is None on an on-demand table, which takes no such member (facts §1.8)."""
    request: dict[str, Any] = {
        "IndexName": index.name,
        "KeySchema": key_schema(index.partition_key, index.sort_key),
        "Projection": {"ProjectionType": index.projection.type},
    }
    if index.projection.type == "INCLUDE":
        request["Projection"]["NonKeyAttributes"] = sorted(index.projection.attributes)
    if provisioned is not None:
        request["ProvisionedThroughput"] = capacity(provisioned)
    elif index.on_demand_maximum is not None:
        request["OnDemandThroughput"] = on_demand(index.on_demand_maximum)
    if index.warm is not None:
        request["WarmThroughput"] = warm(index.warm)
    return request


def key_schema(partition: Iterable[KeyAttribute], sort: Iterable[KeyAttribute]) -> list[dict[str, str]]:
    return [{"AttributeName": key.name, "KeyType": "HASH"} for key in partition] + [
        {"AttributeName": key.name, "KeyType": "RANGE"} for key in sort
    ]


def attribute_definitions(keys: Iterable[KeyAttribute]) -> list[dict[str, str]]:
    """Every key attribute once: a request that creates an index names those of the table again (facts §1.5)."""
    found: dict[str, str] = {}
    for key in keys:
        if found.setdefault(key.name, key.type) != key.type:
            raise UsageError(
                "key-type-conflict",
                f"key attribute {key.name!r} is wanted as {found[key.name]} and as {key.type}",
                hint="an attribute has one type across a table and all its indexes",
            )
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in sorted(found.items())]


def capacity(units: Throughput) -> dict[str, int]:
    return {"ReadCapacityUnits": units.read, "WriteCapacityUnits": units.write}


def on_demand(units: Throughput) -> dict[str, int]:
    return {"MaxReadRequestUnits": units.read, "MaxWriteRequestUnits": units.write}


def warm(units: Throughput) -> dict[str, int]:
    return {"ReadUnitsPerSecond": units.read, "WriteUnitsPerSecond": units.write}


def stream(view: str | None) -> dict[str, Any]:
    return {"StreamEnabled": False} if view is None else {"StreamEnabled": True, "StreamViewType": view}


def _needed(provisioned: Throughput | None, name: str) -> Throughput:
    if provisioned is None:
        raise UsageError(
            "throughput-missing",
            f"table {name} is to be PROVISIONED, and nothing says how many units",
            hint="give it provisioned throughput, or billing mode PAY_PER_REQUEST",
        )
    return provisioned
