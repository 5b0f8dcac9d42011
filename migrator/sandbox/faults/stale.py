"""Answers of DescribeTable that lag behind (facts §1.2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from migrator.sandbox.faults.kind import Kind, Seconds, Situation
from migrator.sandbox.layer import Proceed
from migrator.sandbox.wire import Reply, Request, Response

_CHANGES = frozenset({"CreateTable", "UpdateTable", "DeleteTable"})


@dataclass
class StaleItemCount(Kind):
    """Tells `items` as ItemCount, of the table and its indexes: the service counts about every six hours."""

    items: int = 0

    happens_to: ClassVar[frozenset[str] | None] = frozenset({"DescribeTable"})
    by_default: ClassVar[frozenset[str] | None] = happens_to

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        reply = await proceed(here.request)
        if not isinstance(reply, Response) or not reply.ok:
            return reply
        table = reply.body["Table"]
        for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            if kind in table:
                table[kind] = [self._counted(index, "IndexSizeBytes") for index in table[kind]]
        return reply.with_body({"Table": self._counted(table, "TableSizeBytes")})

    def _counted(self, shown: dict[str, Any], size: str) -> dict[str, Any]:
        counted, told = shown.get("ItemCount", 0), shown.get(size, 0)
        return {**shown, "ItemCount": self.items, size: told * self.items // counted if counted else 0}


@dataclass
class StaleDescribe(Kind):
    """For `behind` after a table was made, changed or deleted, DescribeTable answers what it did before that."""

    behind: Seconds = 2.0

    happens_to: ClassVar[frozenset[str] | None] = frozenset()
    by_default: ClassVar[frozenset[str] | None] = _CHANGES | {"DescribeTable"}
    decides: ClassVar[bool] = True
    former: dict[tuple[str, str, str], tuple[Reply, float]] = field(default_factory=dict, init=False)
    """By account, region and table: the last answer before the change, and when it is told no more."""

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        request, now = here.request, here.clock.now()
        place = (request.account, request.region, request.table)
        old, end = self.former.get(place, (None, 0.0))
        if request.operation in _CHANGES:
            before = await proceed(_describing(request)) if old is None or now >= end else old
            reply = await proceed(request)
            if isinstance(reply, Response) and reply.ok:
                self.former[place] = (before, now + self.behind)
            return reply
        if old is not None and now < end and here.dice.falls():
            return old
        return await proceed(request)


def _describing(request: Request) -> Request:
    headers = {**request.headers, "x-amz-target": "DynamoDB_20120810.DescribeTable"}
    asked = replace(request, operation="DescribeTable", headers=headers)
    return asked.with_body({"TableName": request.table})
