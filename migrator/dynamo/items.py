"""Application items over boto3: consistent reads, and guarded writes that are sent once and judged by their answer."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, assert_never

from migrator.core.change import Check, Delete, GuardLost, Outcome, Put, Refused, Update, Write, Written
from migrator.core.expression import Substitutions
from migrator.core.item import Item, Key
from migrator.core.ports import Consumed, Entropy, Joint, Outcomes, Page, Permit, RecordAction
from migrator.dynamo import writes
from migrator.dynamo.client import Clients, under
from migrator.dynamo.errors import Cancelled, ConditionFailed, translated
from migrator.dynamo.joint import JointItems
from migrator.dynamo.layout import Layout, describe_record
from migrator.dynamo.retry import Retry
from migrator.errors import MigratorError

MAX_ACTIONS = 100


@dataclass(frozen=True, slots=True)
class _Done:
    outcome: Outcome
    consumed: Consumed = field(default_factory=Consumed)


class DynamoItems:
    """The Items port. Reads are retried here; a guarded write is one request, whose outcome the engine judges.

    `layout` is where the control records of `transact` live. Close it: it owns a pool of `clients.workers` threads.
    """

    def __init__(self, clients: Clients, retry: Retry, entropy: Entropy, layout: Layout):
        self._clients = clients
        self._retry = retry
        self._entropy = entropy
        self._layout = layout
        self._joint = JointItems(clients, retry, entropy, layout)
        self._pool = ThreadPoolExecutor(clients.workers, thread_name_prefix="write")

    def close(self) -> None:
        """Waits for the writes under way."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> DynamoItems:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- reads --------------------------------------------------------------------------------------------------------

    def get(self, table: str, key: Key) -> Item | None:
        answer = self._retry.request(
            "dynamodb:GetItem",
            table,
            lambda: self._clients.items.get_item(TableName=table, Key=key, ConsistentRead=True),
            self._clients.access.hint,
        )
        return answer.get("Item")

    def scan(
        self,
        table: str,
        *,
        segment: int = 0,
        total: int = 1,
        start: Key | None = None,
        limit: int | None = None,
    ) -> Page:
        request: dict[str, Any] = {
            "TableName": table,
            "ConsistentRead": True,
            "ReturnConsumedCapacity": "INDEXES",
            "Segment": segment,
            "TotalSegments": total,
        }
        if start is not None:
            request["ExclusiveStartKey"] = start
        if limit is not None:
            request["Limit"] = limit
        answer = self._retry.request(
            "dynamodb:Scan", table, lambda: self._clients.items.scan(**request), self._clients.access.hint
        )
        return Page(
            answer["Items"],
            answer.get("LastEvaluatedKey"),
            writes.consumed(answer.get("ConsumedCapacity"), reading=True),
        )

    def query(self, table: str, partition: Key, *, most: int) -> Sequence[Item]:
        ((name, value),) = partition.items()
        subs = Substitutions()
        request: dict[str, Any] = {
            "TableName": table,
            "ConsistentRead": True,
            "KeyConditionExpression": f"{subs.name(name)} = {subs.value(value)}",
            "ExpressionAttributeNames": subs.names,
            "ExpressionAttributeValues": subs.values,
        }
        found: list[Item] = []
        while True:
            request["Limit"] = most + 1 - len(found)
            answer = self._retry.request(
                "dynamodb:Query", table, lambda: self._clients.items.query(**request), self._clients.access.hint
            )
            found += answer["Items"]
            start = answer.get("LastEvaluatedKey")
            if start is None or len(found) > most:
                return found
            request["ExclusiveStartKey"] = start

    # --- writes -------------------------------------------------------------------------------------------------------

    def write(self, table: str, writes: Sequence[Write], permit: Permit) -> Outcomes:
        """Raises LeaseLost, or an error that ends the run, when no request of these writes is under way any more."""
        for one in writes:
            if isinstance(one, Update) and one.change.checks:
                raise ValueError("an update with checks is a transaction: transact()")
        pending = [self._pool.submit(self._write_one, table, one, permit) for one in writes]
        return _gathered(pending)

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
        names = [*map(writes.describe_check, checks), *map(describe_record, records)]
        try:
            with under(permit), translated("dynamodb:TransactWriteItems", table, self._clients.access.hint):
                answer = self._clients.items.transact_write_items(
                    TransactItems=actions,
                    ReturnConsumedCapacity="INDEXES",
                    # Fresh for each call: the engine decides anew before each, so no two are the same request.
                    ClientRequestToken=self._entropy.nonce(),
                )
        except Cancelled as exc:
            return Outcomes([self._cancelled(exc, table, write, names)])
        except MigratorError as exc:
            return Outcomes([_outcome_or_raise(exc)])
        return Outcomes([Written()], writes.consumed(answer.get("ConsumedCapacity"), reading=False))

    def get_together(self, places: Sequence[tuple[str, Key]]) -> Sequence[Item | None]:
        """Raises ValueError for more than a hundred places, or one that is named twice."""
        return self._joint.get_together(places)

    def together(
        self,
        writes: Sequence[tuple[str, Write]],
        checks: Sequence[Check],
        records: Sequence[RecordAction],
        permit: Permit,
    ) -> Joint:
        return self._joint.together(writes, checks, records, permit)

    def _write_one(self, table: str, write: Write, permit: Permit) -> _Done:
        try:
            with under(permit), translated(_action(write), table, self._clients.access.hint):
                answer = self._send(table, write)
        except ConditionFailed as exc:
            return _Done(self._guard_lost(table, write, exc.item))
        except MigratorError as exc:
            return _Done(_outcome_or_raise(exc))
        before = answer.get("Attributes") if isinstance(write, Delete) else None
        return _Done(Written(before), writes.consumed(answer.get("ConsumedCapacity"), reading=False))

    def _send(self, table: str, write: Write) -> Any:
        request = writes.request(table, write) | {"ReturnConsumedCapacity": "INDEXES"}
        match write:
            case Update():
                return self._clients.items.update_item(**request)
            case Put():
                return self._clients.items.put_item(**request)
            case Delete():
                return self._clients.items.delete_item(**request, ReturnValues="ALL_OLD")
            case _:
                assert_never(write)

    def _cancelled(self, exc: Cancelled, table: str, write: Write, names: Sequence[str]) -> Outcome:
        own = exc.reasons[0] if exc.reasons else {}
        if own.get("Code") == writes.CONDITION_FAILED:
            return self._guard_lost(table, write, own.get("Item") or None)
        return writes.cancellation(exc, names)

    def _guard_lost(self, table: str, write: Write, item: Item | None) -> GuardLost:
        # No item in the answer: it is gone, or this engine gives none. Only reading tells.
        return GuardLost(item if item is not None else self.get(table, write.key))


def _gathered(pending: Sequence[Future[_Done]]) -> Outcomes:
    """The outcomes in order. On an error nothing more is begun, and what is under way is waited for."""
    try:
        done = [future.result() for future in pending]
    except BaseException:
        for future in pending:
            future.cancel()
        wait(pending)
        raise
    return Outcomes([one.outcome for one in done], writes.added([one.consumed for one in done]))


def _outcome_or_raise(error: MigratorError) -> Outcome:
    outcome = writes.outcome_of(error)
    if outcome is None:
        raise error
    return outcome


def _action(write: Write) -> str:
    match write:
        case Update():
            return "dynamodb:UpdateItem"
        case Put():
            return "dynamodb:PutItem"
        case Delete():
            return "dynamodb:DeleteItem"
        case _:
            assert_never(write)
