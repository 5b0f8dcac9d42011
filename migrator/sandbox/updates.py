"""The service's refusals of UpdateTable and DeleteTable, by the table's state (facts §1.1-1.4, §1.8)."""

from __future__ import annotations

from migrator.sandbox.index_updates import (
    ONE_ONLINE,
    Table,
    Update,
    check_index_update,
    indexes_of,
    mode_of,
    unchanged,
)
from migrator.sandbox.life import TableLife
from migrator.sandbox.refusals import Refusal, first, in_use, invalid, limit

_ALONE = {
    "DeletionProtectionEnabled": "DeletionProtection modification must be the only operation in the request",
    "SSESpecification": "Server-Side Encryption modification must be the only operation in the request",
    "TableClass": "TableClass modification must be the only operation in the request",
    "ReplicaUpdates": "Replica modification must be the only operation in the request",
    "OnDemandThroughput": "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
}


def check_delete(table: Table, life: TableLife, now: float) -> Refusal | None:
    """What DeleteTable refuses."""
    if table.get("DeletionProtectionEnabled"):
        return Refusal(
            "ValidationException",
            "Resource cannot be deleted as it is currently protected against deletion. Disable "
            "deletion protection "
            "first.",
        )
    indexes = any(life.changing(f"index {index['IndexName']}", now) for index in indexes_of(table))
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
        or first(check_index_update(update, body, table, life, now) for update in updates or [])
        or _throughput(body, table, life, now)
        or _stream(body, table, life, now)
        or _during_allocation(body, life, now)
    )


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
    return limit(ONE_ONLINE) if len(_online(updates)) > 1 else None


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


def _billing(body: Update, table: Table) -> Refusal | None:
    """To PROVISIONED: the table's throughput and that of every index in the same call (facts §1.8)."""
    if body.get("BillingMode") != "PROVISIONED" or mode_of({}, table) == "PROVISIONED":
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
        body.get("BillingMode") not in (None, mode_of({}, table)),
    )
    if wanted is None and not switch:
        return None
    if life.removing(now):
        return in_use("Can't change table IOPS when an index is being deleted.")
    build = life.building(now)
    if (build is not None and build.allocating(now)) or life.changing("throughput", now):
        return in_use(f"Table is being updated: {table['TableName']}")
    if wanted is not None and mode_of(body, table) == "PAY_PER_REQUEST":
        return invalid(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
        )
    if wanted is None or switch:
        return None
    return unchanged("table", table["ProvisionedThroughput"], wanted)


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
