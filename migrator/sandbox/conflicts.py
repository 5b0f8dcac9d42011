"""The rule for transactions in flight: what touches one of their items meanwhile is refused (facts §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from migrator.sandbox.engine import Engine, Key
from migrator.sandbox.index_items import cancelled
from migrator.sandbox.layer import Proceed
from migrator.sandbox.wire import Reply, Request, Response, table_name

Place = tuple[str, str, str, Key]
ONGOING = "Transaction is ongoing for the item"


class Conflicts:
    """Holds the items of a transaction for `window` seconds before the engine runs it in one piece.

    The items are free again before the answer leaves, so a client that waits for its answers never conflicts
    with itself.
    """

    def __init__(self, engine: Engine, window: float) -> None:
        self._engine = engine
        self._window = window
        self._held: set[Place] = set()
        self._tokens: set[tuple[str, str, str]] = set()

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        match request.operation:
            case "TransactWriteItems" | "ExecuteTransaction":
                return await self._transaction(request, proceed)
            case "TransactGetItems" if self._held:
                places = list(self._places(request))
                return self._cancelled(places) or await proceed(request)
            case "PutItem" | "UpdateItem" | "DeleteItem" | "ExecuteStatement" if self._held:
                if self._held.intersection(place for place in self._places(request) if place):
                    return Response.error("TransactionConflictException", ONGOING)
            case "BatchWriteItem" if self._held:
                return await self._batch_write(request, proceed)
            case "BatchExecuteStatement" if self._held:
                return await self._batch_statements(request, proceed)
        return await proceed(request)

    async def _transaction(self, request: Request, proceed: Proceed) -> Reply:
        token = (request.account, request.region, str(request.body.get("ClientRequestToken", "")))
        if token[2] and token in self._tokens:
            text = "The transaction with the given request token is already in progress."
            return Response.error("TransactionInProgressException", text)
        places = list(self._places(request))
        if refused := self._cancelled(places):
            return refused
        held = {place for place in places if place is not None}
        self._held |= held
        self._tokens.add(token)
        try:
            if self._window > 0:
                await asyncio.sleep(self._window)
            return await proceed(request)
        finally:
            self._held -= held
            self._tokens.discard(token)

    def _cancelled(self, places: list[Place | None]) -> Response | None:
        taken = {position for position, place in enumerate(places) if place in self._held}
        if not taken:
            return None
        return cancelled(len(places), dict.fromkeys(taken, ("TransactionConflict", ONGOING)))

    async def _batch_write(self, request: Request, proceed: Proceed) -> Reply:
        """What conflicts comes back as unprocessed; the rest is written."""
        free: dict[str, list[Any]] = {}
        taken: dict[str, list[Any]] = {}
        places = self._places(request)
        for name, writes in request.body.get("RequestItems", {}).items():
            for write in writes:
                (taken if next(places, None) in self._held else free).setdefault(name, []).append(write)
        if not taken:
            return await proceed(request)
        if not free:
            return Response.json({"UnprocessedItems": taken})
        reply = await proceed(request.with_body({**request.body, "RequestItems": free}))
        if isinstance(reply, Response) and reply.ok:
            return reply.with_body({**reply.body, "UnprocessedItems": taken})
        return reply

    async def _batch_statements(self, request: Request, proceed: Proceed) -> Reply:
        statements = request.body.get("Statements") or []
        taken = [place in self._held for place in self._places(request)]
        if not any(taken):
            return await proceed(request)
        conflict = {"Error": {"Code": "TransactionConflict", "Message": ONGOING}}
        free = [statement for statement, is_taken in zip(statements, taken, strict=True) if not is_taken]
        if not free:
            return Response.json({"Responses": [conflict] * len(statements)})
        reply = await proceed(request.with_body({**request.body, "Statements": free}))
        if not isinstance(reply, Response) or not reply.ok:
            return reply
        answers = iter(reply.body["Responses"])
        return reply.with_body(
            {**reply.body, "Responses": [conflict if is_taken else next(answers) for is_taken in taken]}
        )

    def _places(self, request: Request) -> Iterator[Place | None]:
        """The item of each single action of the request, in its order; None where it names none."""
        for name, item in self._named(request):
            table = self._engine.table(name)
            if table is None or not isinstance(item, dict):
                yield None
            else:
                yield request.account, request.region, name, self._engine.key(table, item)

    def _named(self, request: Request) -> Iterator[tuple[str, Any]]:
        """Table, and item or key, of each single action of the request."""
        body = request.body
        match request.operation:
            case "PutItem" | "UpdateItem" | "DeleteItem":
                yield request.table, body.get("Item") or body.get("Key")
            case "TransactWriteItems" | "TransactGetItems":
                for actions in body.get("TransactItems") or []:
                    for action in actions.values():
                        yield table_name(action.get("TableName")), action.get("Item") or action.get("Key")
            case "BatchWriteItem":
                for name, writes in (body.get("RequestItems") or {}).items():
                    for write in writes:
                        yield (
                            table_name(name),
                            write.get("PutRequest", {}).get("Item") or write.get("DeleteRequest", {}).get("Key"),
                        )
            case "ExecuteStatement":
                yield self._engine.named_by(body)
            case "BatchExecuteStatement" | "ExecuteTransaction":
                for statement in body.get("Statements") or body.get("TransactStatements") or []:
                    yield self._engine.named_by(statement)
