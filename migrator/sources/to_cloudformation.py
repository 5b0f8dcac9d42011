"""Declared tables as resources of a CloudFormation template: what another tool's state then agrees with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from migrator.core.declared import DeclaredTable
from migrator.core.schema import Index, KeyAttribute, Throughput
from migrator.core.settings import (
    BillingMode,
    DeletionProtection,
    PointInTimeRecovery,
    Setting,
    Stream,
    TimeToLive,
)
from migrator.errors import MigratorError


def to_cloudformation(tables: Mapping[str, DeclaredTable]) -> str:
    """A template with one resource a table, by alias. Raises `cannot-export` for what no resource can say."""
    resources = {logical_id(alias): _resource(alias, table) for alias, table in sorted(tables.items())}
    document = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def logical_id(alias: str) -> str:
    """`app_v2` -> `AppV2`; letters and digits are all that a logical id may have."""
    words = re.findall(r"[A-Za-z0-9]+", alias)
    return "".join(word[0].upper() + word[1:] for word in words) or "Table"


def _resource(alias: str, table: DeclaredTable) -> dict[str, Any]:
    if table.replicas and table.shape.billing_mode == "PROVISIONED":
        raise MigratorError(
            "cannot-export",
            f"{alias} is a provisioned global table: CloudFormation wants its autoscaling, which is not known here",
            hint="export another table with --table, and keep this one's resource by hand",
        )
    properties = _properties(table)
    for setting in table.settings.values():
        properties |= _setting(setting)
    kind = "AWS::DynamoDB::Table"
    if table.replicas:
        kind = "AWS::DynamoDB::GlobalTable"
        by_replica = {
            name: properties.pop(name)
            for name in ("PointInTimeRecoverySpecification", "DeletionProtectionEnabled")
            if name in properties
        }
        regions: list[Any] = [{"Ref": "AWS::Region"}, *table.replicas]
        properties["Replicas"] = [{"Region": region, **by_replica} for region in regions]
    # Whatever becomes of the template, the table stays.
    return {"Type": kind, "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain", "Properties": properties}


def _properties(table: DeclaredTable) -> dict[str, Any]:
    shape = table.shape
    named: dict[str, Any] = {"TableName": table.name} if table.name is not None else {}
    return {
        **named,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in attribute_types(table).items()
        ],
        "KeySchema": _keys([shape.partition_key], [shape.sort_key] if shape.sort_key is not None else []),
        "BillingMode": shape.billing_mode,
        **_units("ProvisionedThroughput", shape.provisioned),
        **({"GlobalSecondaryIndexes": _indexes(table)} if shape.indexes else {}),
    }


def attribute_types(table: DeclaredTable) -> dict[str, str]:
    """Every attribute that a key names, by name, with its type."""
    keys = [*table.shape.key, *(key for index in table.shape.indexes.values() for key in index.keys)]
    return {key.name: key.type for key in sorted(keys, key=lambda key: key.name)}


def _indexes(table: DeclaredTable) -> list[dict[str, Any]]:
    return [_index(index, bool(table.replicas)) for _, index in sorted(table.shape.indexes.items())]


def _index(index: Index, is_global: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"ProjectionType": index.projection.type}
    if index.projection.type == "INCLUDE":
        shown["NonKeyAttributes"] = sorted(index.projection.attributes)
    maximum: dict[str, Any] = {}
    if (units := index.on_demand_maximum) is not None and not is_global:
        each = {"MaxReadRequestUnits": units.read, "MaxWriteRequestUnits": units.write}
        maximum = {"OnDemandThroughput": {name: number for name, number in each.items() if number > 0}}
    return {
        "IndexName": index.name,
        "KeySchema": _keys(index.partition_key, index.sort_key),
        "Projection": shown,
        **_units("ProvisionedThroughput", index.provisioned),
        **maximum,
    }


def _keys(partition: Iterable[KeyAttribute], sort: Sequence[KeyAttribute]) -> list[dict[str, str]]:
    roles = [(key, "HASH") for key in partition] + [(key, "RANGE") for key in sort]
    return [{"AttributeName": key.name, "KeyType": role} for key, role in roles]


def _units(member: str, units: Throughput | None) -> dict[str, Any]:
    if units is None:
        return {}
    return {member: {"ReadCapacityUnits": units.read, "WriteCapacityUnits": units.write}}


def _setting(setting: Setting) -> dict[str, Any]:
    match setting:
        case TimeToLive(attribute):
            return {"TimeToLiveSpecification": {"AttributeName": attribute, "Enabled": True}} if attribute else {}
        case Stream(view):
            return {"StreamSpecification": {"StreamViewType": view}} if view else {}
        case PointInTimeRecovery(enabled):
            return {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": enabled}}
        case DeletionProtection(enabled):
            return {"DeletionProtectionEnabled": enabled}
        case BillingMode():
            return {}
