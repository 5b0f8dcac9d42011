"""Strongly consistent reads of application items: one item, a page of a scan, an item collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrator.core.expression import Substitutions
from migrator.core.item import Item, Key
from migrator.core.ports import Page
from migrator.dynamo import writes
from migrator.dynamo.sending import Sender


class Reads:
    """The reading half of the Items port."""

    def __init__(self, sender: Sender):
        self._sender = sender

    def get(self, table: str, key: Key) -> Item | None:
        answer = self._sender.read("GetItem", table, {"TableName": table, "Key": key, "ConsistentRead": True})
        return answer.get("Item")

    def scan(self, table: str, *, segment: int, total: int, start: Key | None, limit: int | None) -> Page:
        answer = self._sender.read("Scan", table, scan_request(table, segment, total, start, limit))
        return Page(
            answer["Items"],
            answer.get("LastEvaluatedKey"),
            writes.consumed(answer.get("ConsumedCapacity"), reading=True),
        )

    def scan_index(self, table: str, index: str, names: Sequence[str], *, start: Key | None = None) -> Page:
        subs = Substitutions()
        request: dict[str, Any] = {
            "TableName": table,
            "IndexName": index,
            "ReturnConsumedCapacity": "INDEXES",
            "ProjectionExpression": ", ".join(map(subs.name, names)),
            "ExpressionAttributeNames": subs.names,
        }
        if start is not None:
            request["ExclusiveStartKey"] = start
        answer = self._sender.read("Scan", table, request)
        return Page(
            answer["Items"],
            answer.get("LastEvaluatedKey"),
            writes.consumed(answer.get("ConsumedCapacity"), reading=True),
        )

    def query(self, table: str, partition: Key, *, most: int) -> Sequence[Item]:
        ((name, value),) = partition.items()
        subs = Substitutions()
        request: dict[str, Any] = {
            "TableName": table,
            "ConsistentRead": True,
            "KeyConditionExpression": f"{subs.name(name)} = {subs.value(value)}",
            "ExpressionAttributeNames": subs.names,
            "ExpressionAttributeValues": subs.values,
        }
        found: list[Item] = []
        while True:
            request["Limit"] = most + 1 - len(found)
            answer = self._sender.read("Query", table, request)
            found += answer["Items"]
            start = answer.get("LastEvaluatedKey")
            if start is None or len(found) > most:
                return found
            request["ExclusiveStartKey"] = start


def scan_request(table: str, segment: int, total: int, start: Key | None, limit: int | None) -> dict[str, Any]:
    request: dict[str, Any] = {
        "TableName": table,
        "ConsistentRead": True,
        "ReturnConsumedCapacity": "INDEXES",
        "Segment": segment,
        "TotalSegments": total,
    }
    if start is not None:
        request["ExclusiveStartKey"] = start
    if limit is not None:
        request["Limit"] = limit
    return request
