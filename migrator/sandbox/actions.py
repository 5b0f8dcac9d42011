"""The single reads and writes of a request, wherever its operation holds them, and the refusal of some of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from migrator.sandbox.capacity import of_table, read_units
from migrator.sandbox.engine import Engine, Item
from migrator.sandbox.wire import Request, iterator, table_name

Verb = Literal["Get", "Query", "Scan", "Put", "Update", "Delete", "Check", "Other"]
_OF_OPERATION: Mapping[str, Verb] = {
    "GetItem": "Get", "Query": "Query", "Scan": "Scan",
    "PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete",
}  # fmt: skip
_OF_TRANSACTION: Mapping[str, Verb] = {
    "Get": "Get", "Put": "Put", "Update": "Update", "Delete": "Delete", "ConditionCheck": "Check",
}  # fmt: skip
_OF_STATEMENT: Mapping[str, Verb] = {
    "SELECT": "Query", "EXISTS": "Check", "INSERT": "Put", "UPDATE": "Update", "DELETE": "Delete",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Action:
    """One read or write: `named` has the attributes of the item that the request gives, at least its key.

    A Query names the partition key; a Scan, and an action on a table as a whole, name nothing. `index` is the one
    that it reads.
    """

    verb: Verb
    table: str
    named: Item | None = None
    index: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    is_statement: bool = False

    @property
    def writes(self) -> bool:
        return self.verb in ("Put", "Update", "Delete", "Check")


def actions_of(engine: Engine, request: Request) -> list[Action]:
    """In the order of the request; one action on the whole table for what is no read or write of items."""
    return list(_actions(engine, request))


def _actions(engine: Engine, request: Request) -> Iterator[Action]:
    body = request.body
    match request.operation:
        case "GetItem" | "PutItem" | "UpdateItem" | "DeleteItem":
            yield _on_item(_OF_OPERATION[request.operation], body)
        case "Query" | "Scan":
            verb = _OF_OPERATION[request.operation]
            named = _partition(engine, request) if verb == "Query" else None
            yield Action(verb, request.table, named, body.get("IndexName") or "", body)
        case "TransactWriteItems" | "TransactGetItems":
            for one in body.get("TransactItems") or []:
                for kind, action in one.items():
                    yield _on_item(_OF_TRANSACTION.get(kind, "Other"), action)
        case "BatchWriteItem":
            for name, writes in (body.get("RequestItems") or {}).items():
                for write in writes:
                    verb = "Put" if "PutRequest" in write else "Delete"
                    yield _on_item(verb, {"TableName": name, **(write.get(f"{verb}Request") or {})})
        case "BatchGetItem":
            for name, gets in (body.get("RequestItems") or {}).items():
                for key in gets.get("Keys") or []:
                    yield _on_item("Get", {**gets, "TableName": name, "Key": key})
        case "ExecuteStatement":
            yield _statement(engine, body)
        case "BatchExecuteStatement" | "ExecuteTransaction":
            for statement in body.get("Statements") or body.get("TransactStatements") or []:
                yield _statement(engine, statement)
        case "GetRecords":
            yield Action("Other", table_name(iterator(body.get("ShardIterator")).get("arn")), body=body)
        case _:
            whole = body.get("TableName") or body.get("ResourceArn") or body.get("StreamArn")
            if whole:
                yield Action("Other", table_name(whole), body=body)


def _on_item(verb: Verb, body: Mapping[str, Any]) -> Action:
    return Action(verb, table_name(body.get("TableName")), body.get("Item") or body.get("Key"), "", body)


def _statement(engine: Engine, statement: Mapping[str, Any]) -> Action:
    parsed = engine.parsed(statement) or {}
    name, named = engine.named_by(statement)
    verb = _OF_STATEMENT.get(str(parsed.get("op")), "Other")
    return Action(verb, name or str(parsed.get("table") or ""), named, str(parsed.get("index") or ""), statement, True)


def _partition(engine: Engine, request: Request) -> Item | None:
    """The partition key of a Query, from either form of its condition."""
    table = engine.table(request.table)
    if table is None:
        return None
    name, body = engine.partition_attribute(table, request.body.get("IndexName")), request.body
    if name in (body.get("KeyConditions") or {}):
        values = body["KeyConditions"][name].get("AttributeValueList") or []
        return {name: values[0]} if values else None
    names = {alias for alias, real in (body.get("ExpressionAttributeNames") or {}).items() if real == name} | {name}
    for left, right in re.findall(r"([#\w.-]+)\s*=\s*(:\w+)", body.get("KeyConditionExpression") or ""):
        if left in names and right in (body.get("ExpressionAttributeValues") or {}):
            return {name: body["ExpressionAttributeValues"][right]}
    return None


def effect_of(engine: Engine, action: Action) -> tuple[Item | None, Item | None]:
    """The item before and after a write that is not refused. A statement's UPDATE is taken to change nothing."""
    table = engine.table(action.table)
    if table is None or action.named is None or not action.writes:
        return None, None
    before = engine.item(table, engine.key(table, action.named))
    match action.verb:
        case "Put":
            return before, action.named
        case "Update" if not action.is_statement:
            return before, engine.updated(before or action.named, action.body)
        case "Delete":
            return before, None
        case _:
            return before, before


def units_of(engine: Engine, action: Action) -> dict[str, Any]:
    """ConsumedCapacity in the INDEXES form of one action on one item, done or refused by its condition (facts §4.1)."""
    table = engine.table(action.table)
    if table is None or action.named is None:
        return of_table(action.table, 0.0)
    if action.writes:
        return engine.write_units(table, *effect_of(engine, action))
    item = engine.item(table, engine.key(table, action.named))
    return of_table(action.table, read_units(engine.size(item or {}), action.body.get("ConsistentRead")))


def indexes_of(engine: Engine, action: Action) -> frozenset[str]:
    """The indexes that an action reads, writes entries of, or makes, changes or removes."""
    if action.index:
        return frozenset({action.index})
    if action.writes and action.named is not None and engine.table(action.table) is not None:
        units = units_of(engine, action)
        return frozenset(units.get("GlobalSecondaryIndexes", {})) | frozenset(units.get("LocalSecondaryIndexes", {}))
    updates = action.body.get("GlobalSecondaryIndexUpdates") or []
    return frozenset(one["IndexName"] for update in updates for one in update.values() if "IndexName" in one)
