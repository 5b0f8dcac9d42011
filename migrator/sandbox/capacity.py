"""The rule for consumed read capacity: by the bytes that a request evaluated (facts §4.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from migrator.sandbox.engine import Engine, Item
from migrator.sandbox.layer import Proceed
from migrator.sandbox.wire import Reply, Request, Response, table_name

READ_UNIT = 4096
"""Bytes of a strongly consistent read unit; an eventually consistent read costs half."""

_NARROWING = (
    "FilterExpression",
    "ProjectionExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "AttributesToGet",
    "ScanFilter",
    "QueryFilter",
    "ConditionalOperator",
    "Select",
    "ReturnConsumedCapacity",
)
Capacity = dict[str, Any]


class ReadCapacity:
    """Answers ReturnConsumedCapacity of reads; the engine counts one unit for each."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        reply = await proceed(request)
        mode = request.body.get("ReturnConsumedCapacity", "NONE")
        if mode == "NONE" or not isinstance(reply, Response) or not reply.ok:
            return reply
        consumed: Capacity | list[Capacity]
        match request.operation:
            case "GetItem":
                consumed = self._got(request.table, [request.body["Key"]], request.body)
            case "Query" | "Scan":
                consumed = await self._page(request, reply, proceed)
            case "ExecuteStatement" if (parsed := self._engine.parsed(request.body)) and parsed["op"] == "SELECT":
                consumed = self._selected(parsed, reply.body["Items"], request.body)
            case "BatchGetItem":
                gets = request.body["RequestItems"].items()
                consumed = [self._got(table_name(name), get["Keys"], get) for name, get in gets]
            case "TransactGetItems":
                consumed = self._transaction(request)
            case _:
                return reply
        each = consumed if isinstance(consumed, list) else [consumed]
        listed = [shown(capacity, mode) for capacity in each]
        return reply.with_body({**reply.body, "ConsumedCapacity": listed if isinstance(consumed, list) else listed[0]})

    def _got(self, name: str, keys: Iterable[Item], options: dict[str, Any]) -> Capacity:
        """Single items round up each for itself, and an absent one costs the least."""
        table = self._engine.table(name) or {}
        items = [self._engine.item(table, self._engine.key(table, key)) for key in keys]
        units = sum(read_units(self._engine.size(item or {}), options.get("ConsistentRead")) for item in items)
        return of_table(name, units)

    def _transaction(self, request: Request) -> list[Capacity]:
        units: dict[str, float] = {}
        for action in request.body["TransactItems"]:
            name = table_name(action["Get"]["TableName"])
            one = self._got(name, [action["Get"]["Key"]], {"ConsistentRead": True})
            units[name] = units.get(name, 0.0) + 2 * one["CapacityUnits"]
        return [of_table(name, total) for name, total in units.items()]

    def _selected(self, parsed: dict[str, Any], items: list[Item], options: dict[str, Any]) -> Capacity:
        """By the returned items: a statement's filter is not told apart from its key condition."""
        size = sum(self._engine.size(item) for item in items)
        units = read_units(size, options.get("ConsistentRead"))
        return self._of_index(str(parsed["table"]), parsed.get("index"), units)

    async def _page(self, request: Request, reply: Response, proceed: Proceed) -> Capacity:
        """A page is rounded up as a whole, over all items evaluated: before the filter and the projection."""
        body = request.body
        if any(member in body for member in _NARROWING[:-1]):
            wide = {k: v for k, v in body.items() if k not in _NARROWING}
            condition = body.get("KeyConditionExpression", "")
            for member, sign in (("ExpressionAttributeNames", "#"), ("ExpressionAttributeValues", ":")):
                used = set(re.findall(rf"{sign}\w+", condition))
                if kept := {k: v for k, v in (body.get(member) or {}).items() if k in used}:
                    wide[member] = kept
            evaluated = await proceed(request.with_body(wide))
            reply = evaluated if isinstance(evaluated, Response) and evaluated.ok else reply
        size = sum(self._engine.size(item) for item in reply.body.get("Items", []))
        units = read_units(size, body.get("ConsistentRead"))
        return self._of_index(request.table, body.get("IndexName"), units)

    def _of_index(self, name: str, index: str | None, units: float) -> Capacity:
        if index is None:
            return of_table(name, units)
        local = (self._engine.table(name) or {}).get("LocalSecondaryIndexes") or []
        kind = "LocalSecondaryIndexes" if any(i["IndexName"] == index for i in local) else "GlobalSecondaryIndexes"
        return {**of_table(name, 0.0), "CapacityUnits": units, kind: {index: {"CapacityUnits": units}}}


def read_units(size: int, consistent: object) -> float:
    """Units of one read of `size` bytes; nothing at all costs as much as one block."""
    blocks = max(1, -(-size // READ_UNIT))
    return float(blocks) if consistent else blocks / 2


def of_table(name: str, units: float) -> Capacity:
    return {"TableName": name, "CapacityUnits": units, "Table": {"CapacityUnits": units}}


def added(one: Capacity, other: Capacity) -> Capacity:
    """The sum of two capacities of one table, index by index."""
    total = {**one, "CapacityUnits": one["CapacityUnits"] + other["CapacityUnits"]}
    total["Table"] = {"CapacityUnits": one["Table"]["CapacityUnits"] + other["Table"]["CapacityUnits"]}
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        units = dict(one.get(kind, {}))
        for index, more in other.get(kind, {}).items():
            units[index] = {
                "CapacityUnits": units.get(index, {"CapacityUnits": 0.0})["CapacityUnits"] + more["CapacityUnits"]
            }
        if units:
            total[kind] = units
    return total


def shown(capacity: Capacity, mode: str) -> Capacity:
    """What the asked mode tells: INDEXES all, TOTAL only the sum."""
    return capacity if mode == "INDEXES" else {k: capacity[k] for k in ("TableName", "CapacityUnits")}
