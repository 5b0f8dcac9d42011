"""What a sandbox is made to account for: every request is asked what it consumed, and the answers are summed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from migrator.sandbox import Proceed, Reply, Request, Response

READS = frozenset({"GetItem", "Query", "Scan", "TransactGetItems"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})


@dataclass
class Meter:
    """A rule of the sandbox that asks on behalf of whoever did not. Units by table, and by `table/index`."""

    reads: Counter[str] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    """Operations on items that would consume and are not known here: there must be none."""

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        if not request.is_dynamodb or request.operation not in READS | WRITES:
            if request.operation.startswith(("Batch", "Transact", "Execute")):
                self.others[request.operation] += 1
            return await proceed(request)
        reply = await proceed(request.with_body({**request.body, "ReturnConsumedCapacity": "INDEXES"}))
        if isinstance(reply, Response) and reply.ok:
            into = self.reads if request.operation in READS else self.writes
            consumed = reply.body["ConsumedCapacity"]
            for one in [consumed] if isinstance(consumed, dict) else consumed:
                self._add(into, one)
        return reply

    def _add(self, into: Counter[str], one: dict[str, Any]) -> None:
        indexes = one.get("GlobalSecondaryIndexes") or {}
        into[one["TableName"]] += one["CapacityUnits"] - sum(index["CapacityUnits"] for index in indexes.values())
        for name, index in indexes.items():
            into[f"{one['TableName']}/{name}"] += index["CapacityUnits"]

    def clear(self) -> None:
        for counter in (self.reads, self.writes, self.others):
            counter.clear()
