"""The rule for reads: no index that is still being built, no cursor of another segment (facts §1.3, §5)."""

from __future__ import annotations

import hashlib
from typing import Any

from migrator.sandbox.engine import Engine
from migrator.sandbox.layer import Proceed
from migrator.sandbox.life import Lives
from migrator.sandbox.wire import Reply, Request, Response, table_name


class Reads:
    """What the service refuses to read and the engine would."""

    def __init__(self, engine: Engine, lives: Lives) -> None:
        self._engine = engine
        self._lives = lives

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        table, index = read_of(self._engine, request)
        if index is not None:
            build = self._lives.of(request, table).building(self._lives.clock.now())
            if build is not None and build.index == index:
                text = f"Cannot read from backfilling global secondary index: {index}"
                return Response.error("ValidationException", text)
        if request.operation == "Scan" and self._strays(request.body):
            body = request.body
            return Response.error(
                "ValidationException",
                "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
                "ExclusiveStartKey with "
                f"correct Segment. TotalSegments: {body['TotalSegments']} Segment: {body['Segment']}",
            )
        return await proceed(request)

    def _strays(self, body: dict[str, Any]) -> bool:
        """Whether a segment's cursor lies in another segment; by the engine's own division of keys."""
        start, table = body.get("ExclusiveStartKey"), self._engine.table(table_name(body.get("TableName")))
        if not start or table is None or "Segment" not in body or not body.get("TotalSegments"):
            return False
        name = self._engine.partition_attribute(table, body.get("IndexName"))
        value = next(iter(start.get(name, {"S": ""}).values()))
        digest = hashlib.sha1(str(value).encode(), usedforsecurity=False).digest()
        return int.from_bytes(digest[:4], "big") % int(body["TotalSegments"]) != int(body["Segment"])


def read_of(engine: Engine, request: Request) -> tuple[str, str | None]:
    """The table and the index that a request reads; no index for anything but a read of an index."""
    if request.operation in ("Query", "Scan"):
        return request.table, request.body.get("IndexName")
    if request.operation == "ExecuteStatement":
        parsed = engine.parsed(request.body)
        if parsed is not None and parsed["op"] == "SELECT":
            return str(parsed["table"]), parsed.get("index")
    return "", None
