"""Conflicts with a transaction of somebody else (facts §6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from migrator.sandbox.conflicts import CONFLICT
from migrator.sandbox.faults.kind import STATEMENTS, WRITES, Kind, Situation
from migrator.sandbox.layer import Proceed
from migrator.sandbox.wire import Reply


@dataclass
class Conflict(Kind):
    """Refuses a write, or cancels a transaction, as if one of its items were in another transaction.

    With --key these are all items that have it, else one of the request's.
    """

    happens_to: ClassVar[frozenset[str] | None] = WRITES | STATEMENTS | {"TransactGetItems"}
    by_default: ClassVar[frozenset[str] | None] = WRITES | STATEMENTS

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        positions = here.chosen if here.match.key else here.dice.one(here.chosen)
        return await here.refuse(dict.fromkeys(positions, CONFLICT), proceed)
