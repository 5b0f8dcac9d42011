"""Control records over boto3: conditional writes whose lost answers are resolved by reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from migrator.core.expression import Substitutions
from migrator.core.item import Item
from migrator.core.ports import Address, DeleteRecord, Entropy, PutRecord, Record, RecordAction
from migrator.dynamo.client import Clients
from migrator.dynamo.errors import Cancelled, ConditionFailed, Conflict, translated
from migrator.dynamo.layout import Layout, address_of
from migrator.dynamo.retry import Retry
from migrator.dynamo.writes import CONDITION_FAILED, PASSING
from migrator.errors import AnswerLost, RecordConflict, ServiceError, Throttled

MAX_ACTIONS = 100


class DynamoRecords:
    """The Records port: control records lie in the table that `layout` names."""

    def __init__(self, clients: Clients, retry: Retry, entropy: Entropy, layout: Layout):
        self._clients = clients
        self._retry = retry
        self._entropy = entropy
        self._layout = layout

    def get(self, address: Address) -> Record | None:
        answer = self._retry.request(
            "dynamodb:GetItem",
            self._layout.table,
            lambda: self._clients.items.get_item(
                TableName=self._layout.table, Key=self._layout.key(address), ConsistentRead=True
            ),
            self._clients.access.hint,
        )
        return self._record(answer.get("Item"))

    def query(self, partition: str, prefix: str = "") -> Iterator[Record]:
        subs = Substitutions()
        condition = f"{subs.name(self._layout.partition_name)} = {subs.value(self._layout.partition(partition))}"
        if prefix:
            condition += f" AND begins_with({subs.name(self._layout.sort_name)}, {subs.value({'S': prefix})})"
        request: dict[str, Any] = {
            "TableName": self._layout.table,
            "ConsistentRead": True,
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": subs.names,
            "ExpressionAttributeValues": subs.values,
        }
        while True:
            answer = self._retry.request(
                "dynamodb:Query",
                self._layout.table,
                lambda: self._clients.items.query(**request),
                self._clients.access.hint,
            )
            yield from map(self._layout.record, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def write(self, *actions: RecordAction) -> None:
        check_actions(actions)
        writing = _Writing(
            tuple((action, self._entropy.nonce()) for action in actions),
            # The same for every attempt: the service itself then applies a transaction once (facts §6).
            self._entropy.nonce(),
        )
        self._retry.call(lambda: self._attempt(writing))

    def _attempt(self, writing: _Writing) -> None:
        try:
            with translated(_action(writing), self._layout.table, self._clients.access.hint):
                self._send(writing)
        except AnswerLost:
            writing.is_in_doubt = True
            if self._is_applied(writing):
                return
            raise
        except ConditionFailed as exc:
            ((action, _),) = writing.actions
            self._conflict(writing, action, exc.item, exc)
        except Cancelled as exc:
            self._cancelled(writing, exc)

    def _send(self, writing: _Writing) -> None:
        client = self._clients.items
        match writing.actions:
            case ((PutRecord() as put, version),):
                client.put_item(**self._layout.request(put, version))
            case ((DeleteRecord() as delete, version),):
                client.delete_item(**self._layout.request(delete, version))
            case _:
                actions: list[Any] = [self._layout.transact(action, version) for action, version in writing.actions]
                client.transact_write_items(TransactItems=actions, ClientRequestToken=writing.token)

    def _is_applied(self, writing: _Writing) -> bool:
        """Whether a write whose answer was lost is there: its own versions stand, and what it deleted is gone."""
        changes = 0
        for action, version in writing.actions:
            if isinstance(action, PutRecord):
                stored = self.get(action.record.address)
                if stored is None or stored.version != version:
                    return False
                changes += 1
            elif isinstance(action, DeleteRecord):
                if self.get(action.address) is not None:
                    return False
                changes += 1
        return changes > 0

    def _cancelled(self, writing: _Writing, exc: Cancelled) -> None:
        for (action, _), reason in zip(writing.actions, exc.reasons, strict=True):
            if reason.get("Code") == CONDITION_FAILED:
                self._conflict(writing, action, reason.get("Item") or None, exc)
                return
        codes = {str(reason.get("Code", "None")) for reason in exc.reasons} - {"None"}
        if not codes <= PASSING:
            raise ServiceError("validation", exc.message) from exc
        if "TransactionConflict" in codes:
            raise Conflict(exc.message) from exc
        raise Throttled(exc.message) from exc

    def _conflict(self, writing: _Writing, action: RecordAction, item: Item | None, cause: Exception) -> None:
        """Raise RecordConflict, unless the expectation failed on what an earlier attempt of this very write left."""
        if writing.is_in_doubt and self._is_applied(writing):
            return
        address = address_of(action)
        current = self._record(item) if item is not None else self.get(address)
        shown = "it is absent" if current is None else f"it has token {current.token}, version {current.version}"
        raise RecordConflict(
            f"control record {address.partition} {address.sort} is not as expected: {shown}", current
        ) from cause

    def _record(self, item: Item | None) -> Record | None:
        return None if item is None else self._layout.record(item)


@dataclass(slots=True)
class _Writing:
    """One call of `write` over all its attempts: each action with the version that a put gets."""

    actions: tuple[tuple[RecordAction, str], ...]
    token: str
    is_in_doubt: bool = False
    """Whether the answer of an attempt was lost."""


def check_actions(actions: Sequence[RecordAction]) -> None:
    """Raises ServiceError for what the service would refuse."""
    addresses = [address_of(action) for action in actions]
    if len(set(addresses)) < len(addresses):
        raise ServiceError("validation", "one transaction names one control record twice")
    if not 1 <= len(actions) <= MAX_ACTIONS:
        raise ServiceError("validation", f"{len(actions)} actions in one transaction, 1 to {MAX_ACTIONS} are allowed")


def _action(writing: _Writing) -> str:
    match writing.actions:
        case ((PutRecord(), _),):
            return "dynamodb:PutItem"
        case ((DeleteRecord(), _),):
            return "dynamodb:DeleteItem"
    return "dynamodb:TransactWriteItems"
