"""Several items at one moment: read together, and written together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from migrator.core.change import Check, ChecksLost, Refused, TryAgain, Write, Written
from migrator.core.item import Item, Key, key_text
from migrator.core.ports import Entropy, Joint, Permit, RecordAction
from migrator.core.together import MAX_ACTIONS, refuse_reads, refuse_writes
from migrator.dynamo import writes
from migrator.dynamo.errors import Cancelled, Conflict
from migrator.dynamo.layout import Layout, describe_record
from migrator.dynamo.retry import Retry
from migrator.dynamo.sending import Sender
from migrator.errors import MigratorError, ServiceError, Throttled

if TYPE_CHECKING:
    pass

CONFLICT = "TransactionConflict"


class JointItems:
    """The part of the Items port that spans items: TransactGetItems and TransactWriteItems."""

    def __init__(self, sender: Sender, retry: Retry, entropy: Entropy, layout: Layout):
        self._sender = sender
        self._retry = retry
        self._entropy = entropy
        self._layout = layout

    def get_together(self, places: Sequence[tuple[str, Key]]) -> Sequence[Item | None]:
        """Raises ValueError for more than a hundred places, or one that is named twice."""
        refuse_reads(places)
        if not places:
            return []
        gets: list[Any] = [{"Get": {"TableName": table, "Key": key}} for table, key in places]
        tables = ", ".join(dict.fromkeys(table for table, _ in places))

        def attempt() -> Sequence[Item | None]:
            try:
                return self._sender.read_together(tables, {"TransactItems": gets})
            except Cancelled as exc:
                raise _why_not_read(exc) from exc

        return self._retry.call(attempt)

    def together(
        self,
        written: Sequence[tuple[str, Write]],
        checks: Sequence[Check],
        records: Sequence[RecordAction],
        permit: Permit,
    ) -> Joint:
        """Sent once. A Delete's `before` stays None: a transaction returns no images."""
        refuse_writes(written, checks)
        actions: list[Any] = [
            *(writes.transact(table, write) for table, write in written),
            *map(writes.condition_check, checks),
            *(self._layout.transact(action, self._entropy.nonce()) for action in records),
        ]
        if not 1 <= len(actions) <= MAX_ACTIONS:
            message = f"{len(actions)} actions in one transaction, 1 to {MAX_ACTIONS} are allowed"
            return Joint(Refused("too-many-actions", message))
        names = [
            *(f"{table} {key_text(write.key)} is no longer as it was read" for table, write in written),
            *map(writes.describe_check, checks),
            *map(describe_record, records),
        ]
        tables = ", ".join(dict.fromkeys(table for table, _ in written))
        request = {
            "TransactItems": actions,
            "ReturnConsumedCapacity": "INDEXES",
            # Fresh for each call: the engine decides anew before each, so no two are the same request.
            "ClientRequestToken": self._entropy.nonce(),
        }
        try:
            answer = self._sender.write("TransactWriteItems", tables, request, permit)
        except Cancelled as exc:
            return _cancelled(exc, names)
        except MigratorError as exc:
            outcome = writes.outcome_of(exc)
            if outcome is None:
                raise
            return Joint(outcome)
        return Joint(Written(), (), writes.consumed(answer.get("ConsumedCapacity"), reading=False))


def _cancelled(error: Cancelled, names: Sequence[str]) -> Joint:
    """Failed conditions first: to try again what must fail again is no use. Then what will never do, then waits."""
    codes = [str(reason.get("Code", "None")) for reason in error.reasons]
    lost = _at(codes, {writes.CONDITION_FAILED})
    if lost:
        return Joint(ChecksLost("; ".join(names[n] for n in lost)), lost)
    refused = tuple(n for n, code in enumerate(codes) if code != "None" and code not in writes.PASSING)
    if refused:
        return Joint(Refused("validation", _words(error.reasons[refused[0]])), refused)
    conflicts = _at(codes, {CONFLICT})
    if conflicts:
        return Joint(TryAgain("transaction-conflict", error.message), conflicts)
    return Joint(TryAgain("throttled", error.message), _at(codes, writes.PASSING))


def _why_not_read(error: Cancelled) -> MigratorError:
    """What the retry layer waits for, or what no wait mends."""
    codes = {str(reason.get("Code", "None")) for reason in error.reasons} - {"None"}
    if not codes <= writes.PASSING:
        reason = next(one for one in error.reasons if one.get("Code") in codes - writes.PASSING)
        return ServiceError("validation", _words(reason))
    return Conflict(error.message) if CONFLICT in codes else Throttled(error.message, ())


def _at(codes: Sequence[str], wanted: frozenset[str] | set[str]) -> tuple[int, ...]:
    return tuple(n for n, code in enumerate(codes) if code in wanted)


def _words(reason: Mapping[str, Any]) -> str:
    return f"{reason.get('Code')}: {reason.get('Message', '')}"
