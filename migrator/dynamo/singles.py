"""One guarded write by itself: one request, sent once and judged by its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, assert_never

from migrator.core.change import Delete, GuardLost, Outcome, Put, Update, Write, Written
from migrator.core.item import Item
from migrator.core.ports import Consumed, Permit
from migrator.dynamo import writes
from migrator.dynamo.errors import ConditionFailed
from migrator.dynamo.reads import Reads
from migrator.dynamo.sending import Sender
from migrator.errors import MigratorError


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one write, and what it consumed."""

    outcome: Outcome
    consumed: Consumed = field(default_factory=Consumed)


class Singles:
    """UpdateItem, PutItem and DeleteItem."""

    def __init__(self, sender: Sender, reads: Reads):
        self._sender = sender
        self._reads = reads

    def write(self, table: str, write: Write, permit: Permit) -> Done:
        """Raises what ends the run; all else is an outcome."""
        try:
            answer = self._sender.write(operation(write), table, single_request(table, write), permit)
        except ConditionFailed as exc:
            return Done(guard_lost(self._reads, table, write, exc.item))
        except MigratorError as exc:
            return Done(outcome_or_raise(exc))
        before = answer.get("Attributes") if isinstance(write, Delete) else None
        return Done(Written(before), writes.consumed(answer.get("ConsumedCapacity"), reading=False))


def single_request(table: str, write: Write) -> dict[str, Any]:
    """The request that is this write and nothing else."""
    request = writes.request(table, write) | {"ReturnConsumedCapacity": "INDEXES"}
    if isinstance(write, Delete):
        request["ReturnValues"] = "ALL_OLD"
    return request


def guard_lost(reads: Reads, table: str, write: Write, item: Item | None) -> GuardLost:
    """`item` is what the answer says stands there."""
    # No item in the answer: it is gone, or this engine gives none. Only reading tells.
    return GuardLost(item if item is not None else reads.get(table, write.key))


def outcome_or_raise(error: MigratorError) -> Outcome:
    outcome = writes.outcome_of(error)
    if outcome is None:
        raise error
    return outcome


def operation(write: Write) -> str:
    match write:
        case Update():
            return "UpdateItem"
        case Put():
            return "PutItem"
        case Delete():
            return "DeleteItem"
        case _:
            assert_never(write)
