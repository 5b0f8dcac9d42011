"""DescribeTable's answer as a LiveTable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from migrator.core.ports import LiveIndex, LiveTable, Replica
from migrator.core.schema import Index, KeyAttribute, Projection, Table, Throughput

Description = Mapping[str, Any]


def live_table(description: Description, replicas: Iterable[Replica] = ()) -> LiveTable:
    """The table as described. Vector indexes are none of ours and left out (facts §1.8)."""
    types = {one["AttributeName"]: one["AttributeType"] for one in description.get("AttributeDefinitions", ())}
    billing = billing_mode(description)
    partition, sort = _keys(description["KeySchema"], types)
    indexes = {
        one["IndexName"]: _live_index(one, types, billing) for one in description.get("GlobalSecondaryIndexes") or ()
    }
    stream = description.get("StreamSpecification") or {}
    name = description["TableName"]
    return LiveTable(
        name=name,
        arn=description.get("TableArn", ""),
        table_id=description.get("TableId", ""),
        status=description["TableStatus"],
        shape=Table(
            alias=name,
            partition_key=partition[0],
            sort_key=sort[0] if sort else None,
            indexes={index: live.definition for index, live in indexes.items()},
            billing_mode=billing,
            provisioned=_provisioned(description, billing),
        ),
        indexes=indexes,
        local_indexes=tuple(sorted(one["IndexName"] for one in description.get("LocalSecondaryIndexes") or ())),
        item_count=description.get("ItemCount", 0),
        size_bytes=description.get("TableSizeBytes", 0),
        stream=stream.get("StreamViewType") if stream.get("StreamEnabled") else None,
        deletion_protection=bool(description.get("DeletionProtectionEnabled")),
        replicas=tuple(replicas),
        multi_region_consistency=description.get("MultiRegionConsistency"),
    )


def billing_mode(description: Description) -> Literal["PAY_PER_REQUEST", "PROVISIONED"]:
    """A table that never was on demand has no summary of it."""
    mode = (description.get("BillingModeSummary") or {}).get("BillingMode")
    return "PAY_PER_REQUEST" if mode == "PAY_PER_REQUEST" else "PROVISIONED"


def index_statuses(description: Description) -> dict[str, str]:
    return {one["IndexName"]: one.get("IndexStatus", "") for one in description.get("GlobalSecondaryIndexes") or ()}


def other_replicas(description: Description, region: str) -> list[tuple[str, str]]:
    """Region and status of each replica in another Region."""
    found = ((one["RegionName"], one.get("ReplicaStatus", "")) for one in description.get("Replicas") or ())
    return sorted((name, status) for name, status in found if name != region)


def _keys(
    schema: Iterable[Mapping[str, str]], types: Mapping[str, Any]
) -> tuple[tuple[KeyAttribute, ...], tuple[KeyAttribute, ...]]:
    by_role: dict[str, list[KeyAttribute]] = {"HASH": [], "RANGE": []}
    for element in schema:
        name = element["AttributeName"]
        by_role[element["KeyType"]].append(KeyAttribute(name, types.get(name, "S")))
    return tuple(by_role["HASH"]), tuple(by_role["RANGE"])


def _live_index(one: Description, types: Mapping[str, Any], billing: str) -> LiveIndex:
    partition, sort = _keys(one["KeySchema"], types)
    shown = one.get("Projection") or {}
    return LiveIndex(
        definition=Index(
            name=one["IndexName"],
            partition_key=partition,
            sort_key=sort,
            projection=Projection(shown.get("ProjectionType", "ALL"), frozenset(shown.get("NonKeyAttributes") or ())),
            provisioned=_provisioned(one, billing),
            on_demand_maximum=_on_demand(one, billing),
            warm=_warm(one),
        ),
        status=one.get("IndexStatus", ""),
        backfilling=one.get("Backfilling"),
        item_count=one.get("ItemCount", 0),
        size_bytes=one.get("IndexSizeBytes", 0),
    )


def _provisioned(one: Description, billing: str) -> Throughput | None:
    units = one.get("ProvisionedThroughput")
    if billing != "PROVISIONED" or not units:
        return None
    return Throughput(units["ReadCapacityUnits"], units["WriteCapacityUnits"])


def _on_demand(one: Description, billing: str) -> Throughput | None:
    """None where neither direction has a maximum; -1 stands for a direction that has none."""
    units = one.get("OnDemandThroughput") or {}
    read, write = units.get("MaxReadRequestUnits", -1), units.get("MaxWriteRequestUnits", -1)
    return None if billing != "PAY_PER_REQUEST" or (read, write) == (-1, -1) else Throughput(read, write)


def _warm(one: Description) -> Throughput | None:
    units = one.get("WarmThroughput") or {}
    read, write = units.get("ReadUnitsPerSecond"), units.get("WriteUnitsPerSecond")
    return None if read is None or write is None else Throughput(read, write)
