"""Terraform: what `terraform show -json` says of a plan or of a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from migrator.core.declared import DeclaredTable, Source
from migrator.sources.description import declared
from migrator.sources.unknown import Unknown, is_mapping, listed

_LATER = Unknown("Terraform knows it only after apply")
_INDEX_RESOURCE = "aws_dynamodb_global_secondary_index"


def read(document: Mapping[str, Any]) -> Source:
    """The tables that stand after the plan, or in the state."""
    is_plan = "planned_values" in document
    values = document.get("planned_values" if is_plan else "values")
    root = values.get("root_module") if is_mapping(values) else None
    later = _unknown_values(document)
    tables: list[DeclaredTable] = []
    unknown: list[str] = []
    for address, kind, given in _resources(root):
        if kind == _INDEX_RESOURCE:
            unknown.append(
                f"{address}: indexes as resources of their own are an experiment of the provider and are not read: "
                "name the index in the table's block"
            )
        if kind != "aws_dynamodb_table":
            continue
        found = table(address, _overlaid(given, later.get(address, {})))
        if isinstance(found, Unknown):
            unknown.append(found.why)
        else:
            tables.append(found)
    return Source("Terraform plan" if is_plan else "Terraform state", tuple(tables), tuple(unknown))


def _resources(module: Any) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(address, type, values) of a module and those below it."""
    if not is_mapping(module):
        return
    for one in listed(module.get("resources")):
        if is_mapping(one) and one.get("mode", "managed") == "managed" and is_mapping(one.get("values")):
            yield str(one.get("address", one.get("name", "?"))), str(one.get("type")), one["values"]
    for child in listed(module.get("child_modules")):
        yield from _resources(child)


def _unknown_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Address -> which of its values are known only after apply."""
    return {
        str(one.get("address")): one["change"].get("after_unknown") or {}
        for one in listed(document.get("resource_changes"))
        if is_mapping(one) and is_mapping(one.get("change"))
    }


def _overlaid(given: Any, unknown: Any) -> Any:
    """The values, with an Unknown wherever `after_unknown` has true."""
    if unknown is True:
        return _LATER
    if is_mapping(given) and is_mapping(unknown):
        return {
            key: _overlaid(given.get(key), unknown.get(key))
            for key in (*given, *(k for k in unknown if k not in given))
        }
    if isinstance(given, list) and isinstance(unknown, list):
        beside = [*unknown, *([None] * len(given))]
        return [_overlaid(one, beside[place]) for place, one in enumerate(given)]
    return given


def table(label: str, values: Mapping[str, Any]) -> DeclaredTable | Unknown:
    """A table by the provider's argument names; Pulumi's AWS provider has the same, written otherwise."""
    types = [
        {"AttributeName": one.get("name"), "AttributeType": one.get("type")}
        for one in listed(values.get("attribute"))
        if is_mapping(one)
    ]
    properties: dict[str, Any] = {
        "TableName": values.get("name"),
        "KeySchema": _keys(values),
        "AttributeDefinitions": types,
        "GlobalSecondaryIndexes": _indexes(values.get("global_secondary_index")),
        "LocalSecondaryIndexes": [
            {"IndexName": one.get("name")} for one in listed(values.get("local_secondary_index")) if is_mapping(one)
        ],
        # The provider's own default.
        "BillingMode": values.get("billing_mode") or "PROVISIONED",
        "ProvisionedThroughput": _units(values),
        "TimeToLiveSpecification": _time_to_live(values.get("ttl")),
        "StreamSpecification": _stream(values),
        "PointInTimeRecoverySpecification": _recovery(values.get("point_in_time_recovery")),
        "DeletionProtectionEnabled": values.get("deletion_protection_enabled"),
    }
    found = declared(label, properties)
    if isinstance(found, Unknown):
        return found
    regions = [one.get("region_name") for one in listed(values.get("replica")) if is_mapping(one)]
    return DeclaredTable(
        found.label, found.name, found.shape, found.settings, found.local_indexes,
        tuple(sorted(one for one in regions if isinstance(one, str))),
        found.unknown, found.vague_indexes, found.is_vague, found.has_vague_billing,
    )  # fmt: skip


def _keys(values: Mapping[str, Any]) -> Any:
    """Of a table or an index: `key_schema` blocks, or `hash_key` and `range_key`."""
    blocks = values.get("key_schema")
    if listed(blocks):
        return [
            {"AttributeName": one.get("attribute_name"), "KeyType": one.get("key_type")}
            for one in listed(blocks)
            if is_mapping(one)
        ]
    named = [("HASH", values.get("hash_key")), ("RANGE", values.get("range_key"))]
    # Of the two ways to say it the provider computes the other.
    return [{"AttributeName": one, "KeyType": role} for role, one in named if one] or blocks


def _units(values: Mapping[str, Any]) -> Any:
    read, write = values.get("read_capacity"), values.get("write_capacity")
    if not read and not write:
        return None
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def _indexes(blocks: Any) -> Any:
    if isinstance(blocks, Unknown):
        return blocks
    return [
        {
            "IndexName": one.get("name"),
            "KeySchema": _keys(one),
            "Projection": {
                "ProjectionType": one.get("projection_type") or "ALL",
                "NonKeyAttributes": one.get("non_key_attributes") or [],
            },
            "ProvisionedThroughput": _units(one),
            "OnDemandThroughput": _maximum(one.get("on_demand_throughput")),
        }
        if is_mapping(one)
        else one
        for one in listed(blocks)
    ]


def _maximum(blocks: Any) -> Any:
    for one in listed(blocks):
        if is_mapping(one):
            return {
                "MaxReadRequestUnits": one.get("max_read_request_units") or -1,
                "MaxWriteRequestUnits": one.get("max_write_request_units") or -1,
            }
    return blocks if isinstance(blocks, Unknown) else None


def _time_to_live(blocks: Any) -> Any:
    for one in listed(blocks):
        if is_mapping(one):
            return {"Enabled": one.get("enabled", False), "AttributeName": one.get("attribute_name")}
    return blocks if isinstance(blocks, Unknown) else None


def _stream(values: Mapping[str, Any]) -> Any:
    enabled = values.get("stream_enabled")
    if enabled is None or isinstance(enabled, Unknown):
        return enabled
    return {"StreamEnabled": enabled, "StreamViewType": values.get("stream_view_type")}


def _recovery(blocks: Any) -> Any:
    for one in listed(blocks):
        if is_mapping(one):
            return {"PointInTimeRecoveryEnabled": one.get("enabled")}
    # Computed where the configuration says nothing: what it becomes is what it is.
    return None
