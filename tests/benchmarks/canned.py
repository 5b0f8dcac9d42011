"""A table that exists as answers only: items of about 410 bytes with 16 attributes."""

from __future__ import annotations

import json
import zlib
from functools import cache
from typing import Any

TABLE = "bench-app"
PAGE_ITEMS = 2_400
"""About a megabyte, as the service pages."""
_DIFFERENT = 5_000
_UNITS = {"TableName": TABLE, "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}}


def item(number: int, *, is_right: bool) -> dict[str, Any]:
    """In DynamoDB JSON; `is_right`: the backfill finds nothing to change on it."""
    tenant, project = f"t{number % 97:03}", f"p{number:06}"
    made: dict[str, Any] = {
        "PK": {"S": f"TENANT#{tenant}"},
        "SK": {"S": f"PROJECT#{project}"},
        "entity": {"S": "Project"},
        "tenantId": {"S": tenant},
        "projectId": {"S": project},
        "name": {"S": f"project number {number} of its tenant"},
        "owner": {"S": f"user-{number % 1000:04}@example.com"},
        "status": {"S": "active"},
        "amount": {"N": f"{number}.50"},
        "version": {"N": "7"},
        "createdAt": {"S": "2026-11-30T12:00:00Z"},
        "updatedAt": {"S": "2026-11-30T12:34:56Z"},
        "isPublic": {"BOOL": False},
        "tags": {"SS": ["alpha", "beta"]},
        "address": {"M": {"city": {"S": "Utrecht"}, "zip": {"S": "3511"}}},
        "note": {"S": "a few words that nobody reads here"},
    }
    if is_right:
        made["GSI1PK"] = {"S": f"TENANT#{tenant}#PROJECT#{project}"}
        made["upper"] = {"S": made["name"]["S"].upper()}
    return made


class Canned:
    """The answers for a table of `count` items; about each other item only its number says where it stands."""

    def __init__(self, count: int, *, is_right: bool):
        self._count = count
        self._items = [
            json.dumps(item(n, is_right=is_right), separators=(",", ":")).encode()
            for n in range(min(count, _DIFFERENT))
        ]
        self._page = cache(self._made_page)

    def answer(self, operation: str, body: bytes) -> bytes:
        """Headers and body."""
        match operation:
            case "Scan":
                return self._scan(json.loads(body))
            case "BatchExecuteStatement":
                return _batch(body.count(b'"Statement":'))
            case "DescribeTable":
                return _whole(b'{"Table":{"TableName":"%b","TableStatus":"ACTIVE"}}' % TABLE.encode())
            case _:
                return _single()

    def _scan(self, request: dict[str, Any]) -> bytes:
        total, segment = request.get("TotalSegments", 1), request.get("Segment", 0)
        first, end = self._count * segment // total, self._count * (segment + 1) // total
        start = request.get("ExclusiveStartKey")
        if start is not None:
            first = int(start["SK"]["S"])
        return self._page(first, min(end, first + min(request.get("Limit", PAGE_ITEMS), PAGE_ITEMS)), end)

    def _made_page(self, first: int, last: int, end: int) -> bytes:
        begin = first % len(self._items)
        chosen = self._items[begin : begin + last - first]
        while len(chosen) < last - first:
            chosen += self._items[: last - first - len(chosen)]
        more = b""
        if last < end:
            more = b',"LastEvaluatedKey":{"PK":{"S":"x"},"SK":{"S":"%d"}}' % last
        count = last - first
        units = json.dumps(_UNITS | {"CapacityUnits": count / 10, "Table": {"CapacityUnits": count / 10}}).encode()
        return _whole(
            b'{"Items":[%b],"Count":%d,"ScannedCount":%d,"ConsumedCapacity":%b%b}'
            % (b",".join(chosen), count, count, units, more)
        )


@cache
def _batch(count: int) -> bytes:
    units = {"TableName": TABLE, "CapacityUnits": float(count), "Table": {"CapacityUnits": float(count)}}
    return _whole(json.dumps({"Responses": [{"TableName": TABLE}] * count, "ConsumedCapacity": [units]}).encode())


@cache
def _single() -> bytes:
    return _whole(json.dumps({"ConsumedCapacity": _UNITS}).encode())


def _whole(body: bytes) -> bytes:
    head = (
        "HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n"
        f"Content-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\nConnection: keep-alive\r\n"
        "x-amzn-RequestId: 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF\r\n"
        f"x-amz-crc32: {zlib.crc32(body)}\r\n\r\n"
    )
    return head.encode() + body
