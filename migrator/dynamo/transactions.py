"""Writes that go together with checks and control records: TransactWriteItems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrator.core.change import Outcome, Refused, Write, Written
from migrator.core.ports import Entropy, Outcomes, Permit, RecordAction
from migrator.dynamo import writes
from migrator.dynamo.errors import Cancelled
from migrator.dynamo.layout import Layout, address_of
from migrator.dynamo.reads import Reads
from migrator.dynamo.sending import Sender
from migrator.dynamo.singles import guard_lost, outcome_or_raise
from migrator.errors import MigratorError

MAX_ACTIONS = 100


class Transactions:
    """The transactions of the Items port; `layout` is where their control records live."""

    def __init__(self, sender: Sender, reads: Reads, entropy: Entropy, layout: Layout):
        self._sender = sender
        self._reads = reads
        self._entropy = entropy
        self._layout = layout

    def transact(self, table: str, write: Write, records: Sequence[RecordAction], permit: Permit) -> Outcomes:
        """A Delete's `before` stays None: a transaction returns no images."""
        checks = writes.checks_of(write)
        actions: list[Any] = [
            writes.transact(table, write),
            *map(writes.condition_check, checks),
            *(self._layout.transact(action, self._entropy.nonce()) for action in records),
        ]
        if len(actions) > MAX_ACTIONS:
            message = f"{len(actions)} actions in one transaction, {MAX_ACTIONS} are allowed"
            return Outcomes([Refused("too-many-actions", message)])
        names = [*map(writes.describe_check, checks), *map(_describe_record, records)]
        request = {
            "TransactItems": actions,
            "ReturnConsumedCapacity": "INDEXES",
            # Fresh for each call: the engine decides anew before each, so no two are the same request.
            "ClientRequestToken": self._entropy.nonce(),
        }
        try:
            answer = self._sender.write("TransactWriteItems", table, request, permit)
        except Cancelled as exc:
            return Outcomes([self._cancelled(exc, table, write, names)])
        except MigratorError as exc:
            return Outcomes([outcome_or_raise(exc)])
        return Outcomes([Written()], writes.consumed(answer.get("ConsumedCapacity"), reading=False))

    def _cancelled(self, exc: Cancelled, table: str, write: Write, names: Sequence[str]) -> Outcome:
        own = exc.reasons[0] if exc.reasons else {}
        if own.get("Code") == writes.CONDITION_FAILED:
            return guard_lost(self._reads, table, write, own.get("Item") or None)
        return writes.cancellation(exc, names)


def _describe_record(action: RecordAction) -> str:
    address = address_of(action)
    return f"control record {address.partition} {address.sort} is no longer as expected"
