"""The service's refusals of one index's change within UpdateTable (facts §1.1, §1.3-1.5, §1.8)."""

from __future__ import annotations

from typing import Any

from migrator.sandbox.life import TableLife
from migrator.sandbox.refusals import (
    MAX_INDEXES,
    Refusal,
    check_keys,
    check_projected_in_all,
    check_projection,
    in_use,
    invalid,
    key_names,
    limit,
    undefined,
)

ONE_ONLINE = "Only 1 online index can be created or deleted simultaneously per table"

Table = dict[str, Any]
Update = dict[str, Any]


def check_index_update(update: Update, body: Update, table: Table, life: TableLife, now: float) -> Refusal | None:
    if "Create" in update:
        return _create(update["Create"], body, table, life, now)
    if "Delete" in update:
        return _delete(update["Delete"]["IndexName"], table, life, now)
    return _change(update["Update"], body, table, life, now)


def _create(index: dict[str, Any], body: Update, table: Table, life: TableLife, now: float) -> Refusal | None:
    name, definitions = index["IndexName"], body.get("AttributeDefinitions")
    if not definitions:
        return invalid(f"AttributeDefinitions is not specified for index: {name}")
    refused = check_keys(index) or check_projection(index) or undefined(key_names(index), definitions)
    if refused or (refused := _redefined(index, definitions, table)):
        return refused
    building = life.building(now)
    if building is not None and building.index == name:
        return in_use(f"Index is being created.  Table: {table['TableName']} Index: {name}")
    if any(known["IndexName"] == name for known in indexes_of(table)):
        return Refusal("ValidationException", "Attempting to create an index which already exists")
    return (
        _slot(life, now)
        or _room(table)
        or check_projected_in_all([*indexes_of(table), index])
        or _new_throughput(index, body, table)
    )


def _redefined(index: dict[str, Any], definitions: list[dict[str, str]], table: Table) -> Refusal | None:
    known = {a["AttributeName"]: a["AttributeType"] for a in table.get("AttributeDefinitions", [])}
    wanted = {a["AttributeName"]: a["AttributeType"] for a in definitions}
    for element in index["KeySchema"]:
        name, kind = element["AttributeName"], element["KeyType"]
        if known.get(name, wanted[name]) != wanted[name]:
            schemas = [f"Schema:[SchemaElement: key{{{name}:{types[name]}:{kind}}}]" for types in (known, wanted)]
            return invalid(
                "Attributes cannot be redefined. Please check that your attribute has the same type "
                "as previously "
                f"defined. Existing schema: {schemas[0]} New schema: {schemas[1]}"
            )
    return None


def _slot(life: TableLife, now: float) -> Refusal | None:
    """The one online index change that a table may have, and the changes that hold it up (facts §1.3)."""
    if life.building(now) or life.removing(now):
        return limit(ONE_ONLINE)
    if life.changing("throughput", now):
        return in_use("Can't create or delete indexes while table IOPS are being updated")
    if life.changing("stream", now):
        return in_use("Can't create or delete an index when stream status is being updated.")
    if life.changing("class", now):
        return in_use("Can't create or delete an index when a table class update is in progress.")
    return None


def _room(table: Table) -> Refusal | None:
    if len(table.get("GlobalSecondaryIndexes", [])) < MAX_INDEXES:
        return None
    return limit(f"Number of global secondary indexes exceeds per-table limit of {MAX_INDEXES}")


def _new_throughput(index: dict[str, Any], body: Update, table: Table) -> Refusal | None:
    name, given = index["IndexName"], index.get("ProvisionedThroughput")
    if mode_of(body, table) == "PAY_PER_REQUEST":
        if given is None:
            return None
        return invalid(
            f"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {name} "
            "when BillingMode "
            "is PAY_PER_REQUEST"
        )
    if given is None:
        return invalid(f"Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}")
    return None


def _delete(name: str, table: Table, life: TableLife, now: float) -> Refusal | None:
    if removal := life.removing(now):
        same = removal.index == name
        return (
            in_use(f"Index is being deleted.  Table: {table['TableName']} Index: {name}") if same else limit(ONE_ONLINE)
        )
    if refused := _known(name, table):
        return refused
    build = life.building(now)
    if build is None:
        return _slot(life, now)
    if build.index != name:
        return limit(ONE_ONLINE)
    if build.allocating(now):
        return in_use(
            "Index creation is in resource allocation phase. Retry deletion during backfilling phase "
            "or when the "
            f"index is active. Table: {table['TableName']} Index: {name}"
        )
    return None


def _known(name: str, table: Table) -> Refusal | None:
    if any(index["IndexName"] == name for index in table.get("LocalSecondaryIndexes", [])):
        text = f"Cannot delete an index that is not a GlobalSecondaryIndex: {name}"
        return Refusal("ValidationException", text)
    if any(index["IndexName"] == name for index in table.get("GlobalSecondaryIndexes", [])):
        return None
    text = f"Requested resource not found: Index {name} for table {table['TableName']}"
    return Refusal("ResourceNotFoundException", text)


def _change(change: Update, body: Update, table: Table, life: TableLife, now: float) -> Refusal | None:
    name, wanted = change["IndexName"], change.get("ProvisionedThroughput")
    if refused := _known(name, table):
        return refused
    build = life.building(now)
    if build is not None and build.allocating(now) and build.index == name:
        return in_use(f"Index is being created.  Table: {table['TableName']} Index: {name}")
    if life.changing(f"index {name}", now):
        return in_use(f"Index is being updated.  Table: {table['TableName']} Index: {name}")
    if wanted is None:
        return None
    if mode_of(body, table) == "PAY_PER_REQUEST":
        return invalid(
            f"The only Updates for index: {name} when TableThroughputMode is PAY_PER_REQUEST can be to "
            "OnDemandThroughput, WarmThroughput"
        )
    index = next(known for known in table["GlobalSecondaryIndexes"] if known["IndexName"] == name)
    return unchanged(f"index {name}", index["ProvisionedThroughput"], wanted)


def mode_of(body: Update, table: Table) -> str:
    current = table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    return str(body.get("BillingMode") or current)


def unchanged(what: str, current: dict[str, int], wanted: dict[str, int]) -> Refusal | None:
    units = ("ReadCapacityUnits", "WriteCapacityUnits")
    if any(int(current.get(unit, 0)) != int(wanted.get(unit, 0)) for unit in units):
        return None
    figures = " ".join(
        f"Current {unit} provisioned for the {what.split()[0]}: {current[unit]}. Requested {unit}: {wanted[unit]}."
        for unit in units
    )
    return Refusal(
        "ValidationException",
        f"The provisioned throughput for the {what} will not change. The requested value equals the "
        "current value. "
        f"{figures} Refer to the Amazon DynamoDB Developer Guide for current limits and how to "
        "request higher limits.",
    )


def indexes_of(table: Table) -> list[dict[str, Any]]:
    return [*table.get("GlobalSecondaryIndexes", []), *table.get("LocalSecondaryIndexes", [])]
