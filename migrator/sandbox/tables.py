"""The rule for tables: creation, change, deletion and description, with the states that the engine lacks."""

from __future__ import annotations

from typing import Any

from migrator.sandbox.engine import Engine
from migrator.sandbox.layer import Proceed
from migrator.sandbox.life import Lives
from migrator.sandbox.refusals import Refusal, check_create
from migrator.sandbox.updates import check_delete, check_update
from migrator.sandbox.wire import Reply, Request, Response

_ITEM_OPERATIONS = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"})


class Tables:
    """States by the clock, and the service's refusals before the engine changes anything."""

    def __init__(self, engine: Engine, lives: Lives) -> None:
        self._engine = engine
        self._lives = lives

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        match request.operation:
            case "DescribeTable":
                return self._described(request, await proceed(request), "Table")
            case "CreateTable":
                return await self._create(request, proceed)
            case "UpdateTable":
                return await self._update(request, proceed)
            case "DeleteTable":
                return await self._delete(request, proceed)
            case operation if operation in _ITEM_OPERATIONS and self._lives.clock.now() < self._lives.of(request).ready:
                return Response.error("ResourceNotFoundException", "Requested resource not found")
        return await proceed(request)

    def _described(self, request: Request, reply: Reply, member: str) -> Reply:
        if not isinstance(reply, Response):
            return reply
        if not reply.ok:
            departed = self._lives.departed(request)
            return Response.json({"Table": departed}) if departed and member == "Table" else reply
        shown = self._lives.of(request).describe(reply.body[member], self._lives.clock.now())
        return reply.with_body({member: shown})

    async def _create(self, request: Request, proceed: Proceed) -> Reply:
        if self._engine.table(request.table) is not None or self._lives.departed(request) is not None:
            return Response.error("ResourceInUseException", f"Table already exists: {request.table}")
        if refused := check_create(request.body):
            return _error(refused)
        reply = await proceed(request)
        if not isinstance(reply, Response) or not reply.ok:
            return reply
        self._engine.sort_indexes(request.table)
        self._lives.created(request)
        body = reply.body["TableDescription"]
        body = self._lives.of(request).describe(body, float("-inf"))
        return reply.with_body({"TableDescription": body})

    async def _update(self, request: Request, proceed: Proceed) -> Reply:
        before = self._engine.description(request.table)
        if before is None:
            return await proceed(request)
        refused = check_update(request.body, before, self._lives.of(request), self._lives.clock.now())
        if refused:
            return _error(refused)
        reply = await proceed(request)
        if not isinstance(reply, Response) or not reply.ok:
            return reply
        self._engine.sort_indexes(request.table)
        self._keep_capacity(request)
        self._begin(request, before)
        described = self._described(request, reply, "TableDescription")
        return _with_old_throughput(described, before) if isinstance(described, Response) else described

    def _keep_capacity(self, request: Request) -> None:
        """The engine forgets an index's on-demand maximum and warm throughput (facts §1.8): kept here, as described."""
        table = self._engine.table(request.table) or {}
        indexes = {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes", [])}
        for update in request.body.get("GlobalSecondaryIndexUpdates") or []:
            change = update.get("Create") or update.get("Update") or {}
            index = indexes.get(change.get("IndexName"), {})
            if "OnDemandThroughput" in change:
                index["OnDemandThroughput"] = {**index.get("OnDemandThroughput", {}), **change["OnDemandThroughput"]}
            if "WarmThroughput" in change:
                index["WarmThroughput"] = {**index.get("WarmThroughput", {}), **change["WarmThroughput"]}

    def _begin(self, request: Request, before: dict[str, Any]) -> None:
        body = request.body
        for update in body.get("GlobalSecondaryIndexUpdates") or []:
            if "Create" in update:
                self._lives.begin_build(request, update["Create"]["IndexName"])
            elif "Delete" in update:
                self._lives.begin_removal(request, update["Delete"]["IndexName"], before)
            elif "Update" in update:
                self._lives.begin_change(request, f"index {update['Update']['IndexName']}")
        switched = body.get("BillingMode") not in (
            None,
            before.get("BillingModeSummary", {}).get("BillingMode"),
        )
        if "ProvisionedThroughput" in body or switched:
            self._lives.begin_change(request, "throughput")
        if "StreamSpecification" in body:
            self._lives.begin_change(request, "stream")
        if "TableClass" in body:
            self._lives.begin_change(request, "class")

    async def _delete(self, request: Request, proceed: Proceed) -> Reply:
        before = self._engine.description(request.table)
        life, now = self._lives.of(request), self._lives.clock.now()
        if before is not None and (refused := check_delete(before, life, now)):
            return _error(refused)
        reply = await proceed(request)
        if isinstance(reply, Response) and reply.ok:
            self._lives.deleted(request, reply.body["TableDescription"])
        return reply


def _error(refused: Refusal) -> Response:
    return Response.error(refused.code, refused.message, status=refused.status)


def _with_old_throughput(reply: Response, before: dict[str, Any]) -> Response:
    """UpdateTable answers with the throughput of before (facts §1.1)."""
    table = reply.body["TableDescription"]
    old = {index["IndexName"]: index for index in before.get("GlobalSecondaryIndexes", [])}
    table["ProvisionedThroughput"] = before["ProvisionedThroughput"]
    for index in table.get("GlobalSecondaryIndexes", []):
        if index["IndexName"] in old:
            index["ProvisionedThroughput"] = old[index["IndexName"]]["ProvisionedThroughput"]
    return reply.with_body({"TableDescription": table})
