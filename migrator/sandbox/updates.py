"""The service's refusals of UpdateTable and DeleteTable, by the table's state (facts §1.1-1.4, §1.8)."""

from __future__ import annotations

from typing import Any

from migrator.sandbox.life import TableLife
from migrator.sandbox.refusals import (
    MAX_INDEXES,
    Refusal,
    check_keys,
    check_projected_in_all,
    check_projection,
    first,
    in_use,
    invalid,
    key_names,
    limit,
    undefined,
)

_ALONE = {
    "DeletionProtectionEnabled": "DeletionProtection modification must be the only operation in the request",
    "SSESpecification": "Server-Side Encryption modification must be the only operation in the request",
    "TableClass": "TableClass modification must be the only operation in the request",
    "ReplicaUpdates": "Replica modification must be the only operation in the request",
    "OnDemandThroughput": "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
}
_ONE_ONLINE = "Only 1 online index can be created or deleted simultaneously per table"

Table = dict[str, Any]
Update = dict[str, Any]


def check_delete(table: Table, life: TableLife, now: float) -> Refusal | None:
    """What DeleteTable refuses."""
    if table.get("DeletionProtectionEnabled"):
        return Refusal(
            "ValidationException",
            "Resource cannot be deleted as it is currently protected against deletion. Disable "
            "deletion protection "
            "first.",
        )
    indexes = any(life.changing(f"index {index['IndexName']}", now) for index in _indexes(table))
    if indexes or life.building(now) or life.removing(now):
        return in_use("Cannot delete table while indexes are being created, updated, or deleted.")
    return _settled(table, life, now)


def check_update(body: Update, table: Table, life: TableLife, now: float) -> Refusal | None:
    """What UpdateTable refuses of `body` on `table` as the engine describes it."""
    updates = body.get("GlobalSecondaryIndexUpdates")
    others = body.keys() - {"TableName", "GlobalSecondaryIndexUpdates", "AttributeDefinitions"}
    if updates is not None and not updates and others:
        return invalid("List of GlobalSecondaryIndexUpdates is empty")
    if updates is not None and not updates:
        return Refusal(
            "ValidationException",
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
            "GlobalSecondaryIndexUpdates, "
            "SSESpecification, ReplicaUpdates, DeletionProtectionEnabled, OnDemandThroughput, "
            "WarmThroughput or "
            "TableClass is required",
        )
    if now < life.ready:
        return in_use(f"Table is being created: {table['TableName']}")
    return (
        _shape(updates or [])
        or _one_concern(body, updates or [])
        or _billing(body, table)
        or first(_index_update(update, body, table, life, now) for update in updates or [])
        or _throughput(body, table, life, now)
        or _stream(body, table, life, now)
        or _during_allocation(body, life, now)
    )


def _indexes(table: Table) -> list[dict[str, Any]]:
    return [*table.get("GlobalSecondaryIndexes", []), *table.get("LocalSecondaryIndexes", [])]


def _online(updates: list[Update]) -> list[Update]:
    return [update for update in updates if "Create" in update or "Delete" in update]


def _shape(updates: list[Update]) -> Refusal | None:
    names: list[str] = []
    for update in updates:
        if len(update) != 1:
            return invalid("Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object")
        names += [action["IndexName"] for action in update.values()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        return invalid(f"Only one global secondary index update per index is allowed simultaneously. Index: {twice}")
    return limit(_ONE_ONLINE) if len(_online(updates)) > 1 else None


def _one_concern(body: Update, updates: list[Update]) -> Refusal | None:
    given = body.keys() - {"TableName", "AttributeDefinitions"}
    if _online(updates):
        if "ProvisionedThroughput" in given:
            return invalid("You cannot create or delete index while updating table IOPS")
        if "StreamSpecification" in given:
            return invalid("You cannot create or delete index while changing stream status")
        if "WarmThroughput" in given:
            return invalid("Create global secondary index cannot be specified when updating WarmThroughput")
    if "StreamSpecification" in given and "ProvisionedThroughput" in given:
        return invalid("You cannot modify stream status while updating table IOPS")
    for member, text in _ALONE.items():
        company = {"BillingMode"} if member == "OnDemandThroughput" else set()
        if member in given and given - {member} - company:
            return invalid(text)
    return None


def _index_update(update: Update, body: Update, table: Table, life: TableLife, now: float) -> Refusal | None:
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
    if any(known["IndexName"] == name for known in _indexes(table)):
        return Refusal("ValidationException", "Attempting to create an index which already exists")
    return (
        _slot(life, now)
        or _room(table)
        or check_projected_in_all([*_indexes(table), index])
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
        return limit(_ONE_ONLINE)
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
    if _mode(body, table) == "PAY_PER_REQUEST":
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
            in_use(f"Index is being deleted.  Table: {table['TableName']} Index: {name}")
            if same
            else limit(_ONE_ONLINE)
        )
    if refused := _known(name, table):
        return refused
    build = life.building(now)
    if build is None:
        return _slot(life, now)
    if build.index != name:
        return limit(_ONE_ONLINE)
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
    if _mode(body, table) == "PAY_PER_REQUEST":
        return invalid(
            f"The only Updates for index: {name} when TableThroughputMode is PAY_PER_REQUEST can be to "
            "OnDemandThroughput, WarmThroughput"
        )
    index = next(known for known in table["GlobalSecondaryIndexes"] if known["IndexName"] == name)
    return _unchanged(f"index {name}", index["ProvisionedThroughput"], wanted)


def _mode(body: Update, table: Table) -> str:
    current = table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    return str(body.get("BillingMode") or current)


def _unchanged(what: str, current: dict[str, int], wanted: dict[str, int]) -> Refusal | None:
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


def _billing(body: Update, table: Table) -> Refusal | None:
    """To PROVISIONED: the table's throughput and that of every index in the same call (facts §1.8)."""
    if body.get("BillingMode") != "PROVISIONED" or _mode({}, table) == "PROVISIONED":
        return None
    if "ProvisionedThroughput" not in body:
        return invalid("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    updates = [u["Update"] for u in body.get("GlobalSecondaryIndexUpdates") or [] if "Update" in u]
    given = {update["IndexName"] for update in updates if "ProvisionedThroughput" in update}
    for index in table.get("GlobalSecondaryIndexes", []):
        if index["IndexName"] not in given:
            return invalid(f"ProvisionedThroughput must be specified for index: {index['IndexName']}")
    return None


def _throughput(body: Update, table: Table, life: TableLife, now: float) -> Refusal | None:
    wanted, switch = (
        body.get("ProvisionedThroughput"),
        body.get("BillingMode") not in (None, _mode({}, table)),
    )
    if wanted is None and not switch:
        return None
    if life.removing(now):
        return in_use("Can't change table IOPS when an index is being deleted.")
    build = life.building(now)
    if (build is not None and build.allocating(now)) or life.changing("throughput", now):
        return in_use(f"Table is being updated: {table['TableName']}")
    if wanted is not None and _mode(body, table) == "PAY_PER_REQUEST":
        return invalid(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
        )
    if wanted is None or switch:
        return None
    return _unchanged("table", table["ProvisionedThroughput"], wanted)


def _stream(body: Update, table: Table, life: TableLife, now: float) -> Refusal | None:
    wanted = body.get("StreamSpecification")
    if wanted is None:
        return None
    if life.building(now):
        return in_use("Can't change stream status when an index is being created")
    if life.changing("stream", now):
        return in_use(f"Table is being updated: {table['TableName']}")
    enabled = bool((table.get("StreamSpecification") or {}).get("StreamEnabled"))
    if wanted.get("StreamEnabled") and enabled:
        text = f"Table already has an enabled stream: TableName: {table['TableName']}"
        return Refusal("ValidationException", text)
    if not wanted.get("StreamEnabled") and not enabled:
        text = f"Table has no stream to disable: TableName: {table['TableName']}"
        return Refusal("ValidationException", text)
    if wanted.get("StreamEnabled") and not wanted.get("StreamViewType"):
        return invalid("If stream is being enabled then UpdateViewType is required")
    return None


def _during_allocation(body: Update, life: TableLife, now: float) -> Refusal | None:
    if body.get("OnDemandThroughput") == {}:
        return Refusal("InternalServerError", "Internal server error", 500)
    build = life.building(now)
    if build is None or not build.allocating(now):
        return None
    if "OnDemandThroughput" in body:
        return in_use(
            f"OnDemandThroughput cannot be updated while index creation is in progress for indexes: [{build.index}]"
        )
    if "WarmThroughput" in body:
        return Refusal("InternalServerError", "Table is under system maintenance. Please try again later.", 500)
    return None


def _settled(table: Table, life: TableLife, now: float) -> Refusal | None:
    if life.status(now) == "ACTIVE":
        return None
    doing = "created" if now < life.ready else "updated"
    return in_use(f"Table is being {doing}: {table['TableName']}")
