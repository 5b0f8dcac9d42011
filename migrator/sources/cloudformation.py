"""CloudFormation templates: written, transformed by SAM, synthesised by CDK, packaged by the Serverless framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from migrator.core.declared import DeclaredTable, Source
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Setting
from migrator.sources.description import declared
from migrator.sources.intrinsics import Resolver
from migrator.sources.unknown import Unknown, is_mapping, listed

TABLE = "AWS::DynamoDB::Table"
GLOBAL_TABLE = "AWS::DynamoDB::GlobalTable"
SIMPLE_TABLE = "AWS::Serverless::SimpleTable"
_SIMPLE_TYPES = {"String": "S", "Number": "N", "Binary": "B"}


def read(name: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> Source:
    """The tables of a template. What is made by a macro or a loop is not there to be read, and is named."""
    resolver = Resolver(name, template, parameters)
    resources = template.get("Resources")
    tables: list[DeclaredTable] = []
    unknown: list[str] = []
    for label, resource in resources.items() if is_mapping(resources) else ():
        if str(label).startswith("Fn::"):
            unknown.append(f"{label}: resources made by a loop or a macro are not read: give the processed template")
            continue
        if not is_mapping(resource) or resource.get("Type") not in (TABLE, GLOBAL_TABLE, SIMPLE_TABLE):
            continue
        if "Condition" in resource:
            holds = resolver.holds(resource["Condition"])
            if isinstance(holds, Unknown):
                unknown.append(f"{label}: whether it is made cannot be told: {holds.why}")
                continue
            if not holds:
                continue
        found = _table(str(label), str(resource["Type"]), resolver.value(resource.get("Properties") or {}), parameters)
        if isinstance(found, Unknown):
            unknown.append(found.why)
        else:
            tables.append(found)
    return Source("CloudFormation", tuple(tables), tuple(unknown))


def _table(label: str, kind: str, properties: Any, parameters: Mapping[str, str]) -> DeclaredTable | Unknown:
    if not is_mapping(properties):
        return Unknown(f"{label}: {properties.why if isinstance(properties, Unknown) else 'it has no properties'}")
    if kind == SIMPLE_TABLE:
        return declared(label, _simple(properties))
    if kind == GLOBAL_TABLE:
        return _global(label, properties, parameters)
    return declared(label, properties)


def _simple(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """SAM's table of one key attribute, as SAM transforms it."""
    key = properties.get("PrimaryKey")
    key = key if is_mapping(key) else {}
    named = key.get("Name", "id")
    kind = key.get("Type", "String")
    own = {} if "ProvisionedThroughput" in properties else {"BillingMode": "PAY_PER_REQUEST"}
    return {
        **properties,
        **own,
        "KeySchema": [{"AttributeName": named, "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": named, "AttributeType": _SIMPLE_TYPES.get(kind, kind) if isinstance(kind, str) else kind}
        ],
    }


def _global(label: str, properties: Mapping[str, Any], parameters: Mapping[str, str]) -> DeclaredTable | Unknown:
    """A global table: what CloudFormation keeps by replica is that of the own Region, or what all replicas agree on."""
    replicas = [one for one in listed(properties.get("Replicas")) if is_mapping(one)]
    region = parameters.get("AWS::Region")
    own = [one for one in replicas if one.get("Region") == region or _is_own(one)] or replicas
    plain: dict[str, Any] = {
        **properties,
        "GlobalSecondaryIndexes": _global_indexes(properties, own),
    }
    for gone in ("ProvisionedThroughput", "PointInTimeRecoverySpecification", "DeletionProtectionEnabled"):
        plain.pop(gone, None)
    found = declared(label, plain | _global_units(properties))
    if isinstance(found, Unknown):
        return found
    unknown = list(found.unknown)
    for what, setting in (
        ("point-in-time recovery", _by_replica(own, "PointInTimeRecoverySpecification")),
        ("deletion protection", _by_replica(own, "DeletionProtectionEnabled")),
    ):
        if isinstance(setting, Unknown):
            unknown.append(f"{label}: {what}: {setting.why}")
        elif setting is not None:
            found = found.with_setting(setting)
    names = [one.get("Region") for one in replicas if not _is_own(one)]
    elsewhere = tuple(sorted(one for one in names if isinstance(one, str) and one != region))
    return replace(found, unknown=tuple(unknown), replicas=elsewhere if len(replicas) > 1 else ())


def _is_own(replica: Mapping[str, Any]) -> bool:
    """CDK names the stack's own Region by reference where it is not fixed."""
    region = replica.get("Region")
    return isinstance(region, Unknown) and region.why.startswith("AWS::Region ")


def _by_replica(replicas: list[Mapping[str, Any]], member: str) -> Setting | Unknown | None:
    said: set[bool] = set()
    for one in replicas:
        given = one.get(member)
        if is_mapping(given):
            given = given.get("PointInTimeRecoveryEnabled")
        if isinstance(given, Unknown):
            return given
        if given is not None:
            said.add(given is True or str(given).lower() == "true")
    if len(said) > 1:
        return Unknown("replicas differ, and which of them is this Region's cannot be told: give -x AWS::Region=…")
    if not said:
        return None
    (is_on,) = said
    return DeletionProtection(is_on) if member == "DeletionProtectionEnabled" else PointInTimeRecovery(is_on)


def _global_units(properties: Mapping[str, Any]) -> dict[str, Any]:
    """A provisioned global table is autoscaled: no template tells its units."""
    if properties.get("BillingMode") == "PAY_PER_REQUEST" or isinstance(properties.get("BillingMode"), Unknown):
        return {}
    return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": Unknown("writes are left to autoscaling")}


def _global_indexes(properties: Mapping[str, Any], own: list[Mapping[str, Any]]) -> Any:
    """Each index with its on-demand maximum, which is kept in two places."""
    indexes = properties.get("GlobalSecondaryIndexes")
    if not isinstance(indexes, list):
        return indexes
    return [_with_maximum(one, own) if is_mapping(one) else one for one in indexes]


def _with_maximum(index: Mapping[str, Any], own: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    write = index.get("WriteOnDemandThroughputSettings")
    reads = [
        given["ReadOnDemandThroughputSettings"]
        for replica in own
        for given in listed(replica.get("GlobalSecondaryIndexes"))
        if is_mapping(given)
        and given.get("IndexName") == index.get("IndexName")
        and is_mapping(given.get("ReadOnDemandThroughputSettings"))
    ]
    maximum = {**(write if is_mapping(write) else {}), **(reads[0] if reads else {})}
    return {**index, "OnDemandThroughput": maximum} if maximum else index
