"""A table in the words of DynamoDB's API, which CloudFormation shares: as a declared one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from migrator.core.declared import DeclaredTable
from migrator.core.schema import Index, KeyAttribute, KeyType, Projection, Table, Throughput
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.sources.unknown import Unknown, holds_unknown, is_mapping, listed

_VIEWS = ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")


@dataclass
class Reading:
    """What was understood of one table so far, and what was not."""

    label: str
    unknown: list[str] = field(default_factory=list)

    def note(self, what: str, why: Unknown | str) -> None:
        self.unknown.append(f"{self.label}: {what}: {why.why if isinstance(why, Unknown) else why}")


def declared(label: str, properties: Mapping[str, Any]) -> DeclaredTable | Unknown:
    """The table that these properties describe; Unknown where not even its key can be told.

    `properties` is a CreateTable request, with what CloudFormation puts beside: TTL, recovery, protection.
    """
    reading = Reading(label)
    types = _types(properties.get("AttributeDefinitions"))
    key = keys(properties.get("KeySchema"), types)
    if isinstance(key, Unknown):
        return Unknown(f"{label}: its key cannot be told: {key.why}")
    partition, sort = key
    if len(partition) != 1 or len(sort) > 1:
        return Unknown(f"{label}: a table has one partition key attribute and at most one sort key attribute")
    mode, units, is_vague_billing = _billing(reading, properties)
    found = _indexes(reading, properties.get("GlobalSecondaryIndexes"), types, mode, units)
    name = properties.get("TableName")
    if isinstance(name, Unknown):
        reading.note("its name", name)
    return DeclaredTable(
        label=label,
        name=name if isinstance(name, str) else None,
        shape=Table(label, partition[0], sort[0] if sort else None, found.indexes, mode, units),
        settings=_settings(reading, properties),
        local_indexes=tuple(
            sorted(
                str(one["IndexName"])
                for one in listed(properties.get("LocalSecondaryIndexes"))
                if is_mapping(one) and isinstance(one.get("IndexName"), str)
            )
        ),
        unknown=tuple(reading.unknown),
        vague_indexes=frozenset(found.vague),
        is_vague=found.is_vague,
        has_vague_billing=is_vague_billing,
    )


# --- keys -------------------------------------------------------------------------------------------------------------


def _types(definitions: Any) -> dict[str, KeyType]:
    return {
        one["AttributeName"]: cast(KeyType, one["AttributeType"])
        for one in listed(definitions)
        if is_mapping(one) and isinstance(one.get("AttributeName"), str) and one.get("AttributeType") in ("S", "N", "B")
    }


def keys(
    schema: Any, types: Mapping[str, KeyType]
) -> tuple[tuple[KeyAttribute, ...], tuple[KeyAttribute, ...]] | Unknown:
    """Partition and sort key attributes, in order."""
    unknown = holds_unknown(schema)
    if unknown is not None:
        return unknown
    by_role: dict[str, list[KeyAttribute]] = {"HASH": [], "RANGE": []}
    for element in listed(schema):
        name, role = (element.get("AttributeName"), element.get("KeyType")) if is_mapping(element) else (None, None)
        if not isinstance(name, str) or role not in by_role:
            return Unknown("an element of a key schema without AttributeName and KeyType HASH or RANGE")
        if name not in types:
            return Unknown(f"no type of {name!r} among the attribute definitions")
        by_role[role].append(KeyAttribute(name, types[name]))
    if not by_role["HASH"]:
        return Unknown("a key schema without a partition key")
    return tuple(by_role["HASH"]), tuple(by_role["RANGE"])


# --- capacity ---------------------------------------------------------------------------------------------------------


def _billing(
    reading: Reading, properties: Mapping[str, Any]
) -> tuple[Literal["PAY_PER_REQUEST", "PROVISIONED"], Throughput | None, bool]:
    """(mode, units, whether it cannot be told)."""
    mode = properties.get("BillingMode")
    given = properties.get("ProvisionedThroughput")
    unknown = holds_unknown(mode)
    if unknown is not None:
        reading.note("its billing mode", unknown)
        return "PAY_PER_REQUEST", None, True
    if mode == "PAY_PER_REQUEST":
        return "PAY_PER_REQUEST", None, False
    if mode is None and given is None:
        reading.note("its billing mode", "it names neither BillingMode nor ProvisionedThroughput")
        return "PAY_PER_REQUEST", None, True
    units = throughput(given, "ReadCapacityUnits", "WriteCapacityUnits")
    if isinstance(units, Throughput):
        return "PROVISIONED", units, False
    reading.note("its units", units or "none are given: they may be left to autoscaling")
    return "PROVISIONED", None, True


def throughput(given: Any, read: str, write: str, *, absent: int | None = None) -> Throughput | Unknown | None:
    """Units as given; None where they are not. `absent` stands for one of the two that is missing."""
    if given is None or isinstance(given, Unknown):
        return given
    unknown = holds_unknown(given)
    if unknown is not None or not is_mapping(given):
        return unknown or Unknown("units that are no mapping")
    found = [given.get(read, absent), given.get(write, absent)]
    try:
        return Throughput(int(found[0]), int(found[1]))
    except (TypeError, ValueError):
        return Unknown(f"{read} and {write} are not both numbers")


# --- indexes ----------------------------------------------------------------------------------------------------------


@dataclass
class _Indexes:
    indexes: dict[str, Index] = field(default_factory=dict)
    vague: set[str] = field(default_factory=set)
    is_vague: bool = False


def _indexes(
    reading: Reading, given: Any, types: Mapping[str, KeyType], mode: str, units: Throughput | None
) -> _Indexes:
    found = _Indexes()
    if isinstance(given, Unknown):
        reading.note("its indexes", given)
        found.is_vague = True
        return found
    for one in listed(given):
        name = one.get("IndexName") if is_mapping(one) else one
        if not is_mapping(one) or not isinstance(name, str):
            reading.note("an index", name if isinstance(name, Unknown) else "it has no IndexName")
            found.is_vague = True
            continue
        index = _index(reading, name, one, types, mode, units)
        if isinstance(index, Unknown):
            reading.note(f"index {name}", index)
            found.vague.add(name)
        else:
            found.indexes[name] = index
    return found


def _index(
    reading: Reading,
    name: str,
    one: Mapping[str, Any],
    types: Mapping[str, KeyType],
    mode: str,
    of_table: Throughput | None,
) -> Index | Unknown:
    key = keys(one.get("KeySchema"), types)
    shown = projection(one.get("Projection"))
    if isinstance(key, Unknown):
        return key
    if isinstance(shown, Unknown):
        return shown
    provisioned: Throughput | Unknown | None = None
    maximum: Throughput | Unknown | None = None
    if mode == "PROVISIONED":
        provisioned = throughput(one.get("ProvisionedThroughput"), "ReadCapacityUnits", "WriteCapacityUnits")
        if not isinstance(provisioned, Throughput):
            reading.note(f"units of index {name}", provisioned or "none are given: they may be left to autoscaling")
            provisioned = of_table
    else:
        maximum = throughput(one.get("OnDemandThroughput"), "MaxReadRequestUnits", "MaxWriteRequestUnits", absent=-1)
        if isinstance(maximum, Unknown):
            reading.note(f"the on-demand maximum of index {name}", maximum)
            maximum = None
    return Index(
        name,
        key[0],
        key[1],
        shown,
        provisioned if isinstance(provisioned, Throughput) else None,
        maximum if isinstance(maximum, Throughput) else None,
    )


def projection(given: Any) -> Projection | Unknown:
    unknown = holds_unknown(given)
    if unknown is not None:
        return unknown
    if not is_mapping(given):
        return Unknown("it has no projection")
    kind = given.get("ProjectionType", "ALL")
    if kind not in ("KEYS_ONLY", "INCLUDE", "ALL"):
        return Unknown(f"{kind!r} is no projection type")
    return Projection(kind, frozenset(map(str, listed(given.get("NonKeyAttributes")))))


# --- settings ---------------------------------------------------------------------------------------------------------


def _settings(reading: Reading, properties: Mapping[str, Any]) -> dict[str, Setting]:
    """The settings that are spoken of and can be told."""
    found: list[Setting] = []
    for member, read in (
        ("TimeToLiveSpecification", _time_to_live),
        ("StreamSpecification", _stream),
        ("PointInTimeRecoverySpecification", _recovery),
        ("DeletionProtectionEnabled", _protection),
    ):
        given = properties.get(member)
        if given is None:
            continue
        unknown = holds_unknown(given)
        setting = unknown if unknown is not None else read(given)
        if isinstance(setting, Unknown):
            reading.note(member, setting)
        elif setting is not None:
            found.append(setting)
    return {setting.name: setting for setting in found}


def _time_to_live(given: Any) -> Setting | Unknown:
    if not is_mapping(given):
        return Unknown("it is no mapping")
    if not _flag(given.get("Enabled")):
        return TimeToLive(None)
    name = given.get("AttributeName")
    return TimeToLive(name) if isinstance(name, str) and name else Unknown("it names no attribute")


def _stream(given: Any) -> Setting | Unknown:
    view = given.get("StreamViewType") if is_mapping(given) else given
    if is_mapping(given) and not _flag(given.get("StreamEnabled", True)):
        return Stream(None)
    return Stream(view) if view in _VIEWS else Unknown(f"{view!r} is no view type")


def _recovery(given: Any) -> Setting | Unknown:
    enabled = given.get("PointInTimeRecoveryEnabled") if is_mapping(given) else None
    return Unknown("it does not say whether it is on") if enabled is None else PointInTimeRecovery(_flag(enabled))


def _protection(given: Any) -> Setting:
    return DeletionProtection(_flag(given))


def _flag(value: Any) -> bool:
    """CloudFormation takes `true` and `"true"`."""
    return value is True or str(value).lower() == "true"
