"""The rule for transactions in flight: what touches one of their items meanwhile is refused (facts §6)."""

from __future__ import annotations

import asyncio

from migrator.sandbox.actions import Action, actions_of
from migrator.sandbox.engine import Engine, Key
from migrator.sandbox.layer import Proceed
from migrator.sandbox.trouble import Trouble, refuse
from migrator.sandbox.wire import Reply, Request, Response

Place = tuple[str, str, str, Key]
CONFLICT = Trouble("TransactionConflictException", "Transaction is ongoing for the item")
_MEETING = frozenset(
    {
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "ExecuteStatement",
        "TransactGetItems",
        "BatchWriteItem",
        "BatchExecuteStatement",
    }
)
"""What is refused while a transaction holds its item; a plain read is not."""


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
            case _ if self._held and request.operation in _MEETING:
                places = self._places(request)
                return await refuse(request, len(places), self._conflicts(places), proceed)
        return await proceed(request)

    async def _transaction(self, request: Request, proceed: Proceed) -> Reply:
        token = (request.account, request.region, str(request.body.get("ClientRequestToken", "")))
        if token[2] and token in self._tokens:
            text = "The transaction with the given request token is already in progress."
            return Response.error("TransactionInProgressException", text)
        places = self._places(request)
        if conflicts := self._conflicts(places):
            return await refuse(request, len(places), conflicts, proceed)
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

    def _conflicts(self, places: list[Place | None]) -> dict[int, Trouble]:
        return {position: CONFLICT for position, place in enumerate(places) if place in self._held}

    def _places(self, request: Request) -> list[Place | None]:
        """The item of each single action of the request, in its order; None where it names none."""
        return [self._place(request, action) for action in actions_of(self._engine, request)]

    def _place(self, request: Request, action: Action) -> Place | None:
        table = self._engine.table(action.table)
        if table is None or not isinstance(action.named, dict):
            return None
        return request.account, request.region, action.table, self._engine.key(table, action.named)
