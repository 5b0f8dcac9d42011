"""What a kind of fault is, and what it sees of a request that it meets."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ClassVar

from migrator.sandbox.actions import Action
from migrator.sandbox.clock import Clock
from migrator.sandbox.engine import Engine
from migrator.sandbox.faults.match import Dice, Match
from migrator.sandbox.faults.shards import Shards
from migrator.sandbox.layer import Proceed
from migrator.sandbox.trouble import Trouble, refuse
from migrator.sandbox.wire import Reply, Request

Seconds = Annotated[float, "duration"]
"""An option that is written as a duration."""
Share = Annotated[float, "share"]
"""An option from 0 to 1."""

READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
STATEMENTS = frozenset({"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})
ITEMS = READS | WRITES | STATEMENTS


@dataclass(frozen=True, slots=True)
class Situation:
    """A request that a fault meets; `chosen` are the positions of the actions that it selects."""

    engine: Engine
    clock: Clock
    match: Match
    dice: Dice
    request: Request
    actions: Sequence[Action]
    chosen: tuple[int, ...]
    shards: Shards
    ended: asyncio.Event
    """Set when the fault is taken away or the sandbox stops."""

    def arn(self, table: str, index: str = "") -> str:
        name = f"{table}/index/{index}" if index else table
        return f"arn:aws:dynamodb:{self.request.region}:{self.request.account}:table/{name}"

    async def pause(self, seconds: float) -> None:
        """Let real time pass, as the client counts it; not beyond the end of the fault."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), seconds)

    async def refuse(self, troubles: dict[int, Trouble], proceed: Proceed) -> Reply:
        """Refuse these actions in the form of the operation, and let the others proceed."""
        return await refuse(self.request, len(self.actions), troubles, proceed)


@dataclass
class Kind(ABC):
    """One kind of fault: a dataclass whose fields are its options, and whose docstring says what it does."""

    happens_to: ClassVar[frozenset[str] | None] = None
    """The operations that may be named for it; None for all."""
    by_default: ClassVar[frozenset[str] | None] = None
    """Those that it meets where none is named; None for all of DynamoDB."""
    decides: ClassVar[bool] = False
    """Whether it meets every selected request and rolls the dice itself, rather than only those that are struck."""
    everywhere: ClassVar[bool] = False
    """Whether it meets the other services too where no operation is named."""
    by_action: ClassVar[bool] = False
    """Whether an operation that is named means an action of IAM, inside whatever request."""

    @abstractmethod
    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        """Answer the request, or let it proceed."""


@dataclass
class Act(Kind):
    """A kind that changes the state of a table: at once, or before a request where one is named."""

    def act(self, engine: Engine, shards: Shards, match: Match) -> str:
        """Do it to the table of `match`, which exists where the engine is bound to; why it cannot be, or ""."""
        raise NotImplementedError

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        if here.engine.table(here.match.table) is not None:
            self.act(here.engine, here.shards, here.match)
        return await proceed(here.request)
