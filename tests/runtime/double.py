"""DynamoDB as boto3's client shows it, in memory and with hooks: fast enough to try every interleaving.

It evaluates expressions with the runtime's own evaluator, which `test_expressions.py` holds against an engine.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from migrator.core.item import Item, fingerprint, to_python
from migrator.runtime.expressions.conditions import Condition
from migrator.runtime.expressions.paths import projected
from migrator.runtime.expressions.tokens import paths_of
from migrator.runtime.expressions.updates import NotApplicable, UpdateText

Hook = Callable[[str, Mapping[str, Any]], None]
TRANSACT = {"Put": "put_item", "Update": "update_item", "Delete": "delete_item", "ConditionCheck": "check"}


def failure(code: str, operation: str, message: str = "", **further: Any) -> ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": message or code},
        "ResponseMetadata": {"HTTPStatusCode": 400},
        **further,
    }
    return ClientError(response, operation)


@dataclass
class Store:
    """The tables, shared by the clients of several instances."""

    keys: dict[str, tuple[str, ...]]
    items: dict[str, dict[str, Item]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def key(self, table: str, item: Item) -> dict[str, Any]:
        return {name: item[name] for name in self.keys[table]}

    def put(self, table: str, *items: Item) -> None:
        for item in items:
            self.items.setdefault(table, {})[fingerprint(self.key(table, item))] = dict(item)

    def get(self, table: str, key: Item) -> Item | None:
        return self.items.get(table, {}).get(fingerprint(self.key(table, key)))

    def remove(self, table: str, key: Item) -> None:
        self.items.get(table, {}).pop(fingerprint(self.key(table, key)), None)

    def all(self, table: str) -> list[Item]:
        """In the order of their keys."""
        names = self.keys[table]
        return sorted(self.items.get(table, {}).values(), key=lambda item: [str(to_python(item[n])) for n in names])


@dataclass
class Double:
    """A client. `before` is called with each request, in which another instance may do its work, or it may fail.

    `lost` holds the numbers of transactions, counted from 0, whose answer does not come although they happen.
    """

    store: Store
    before: Hook = lambda name, request: None
    lost: set[int] = field(default_factory=set)
    requests: list[tuple[str, Any]] = field(default_factory=list)
    transactions: int = 0

    # --- requests -----------------------------------------------------------------------------------------------------

    def get_item(self, **request: Any) -> dict[str, Any]:
        self._begin("get_item", request)
        found = self.store.get(request["TableName"], request["Key"])
        return {} if found is None else {"Item": copy.deepcopy(_projected(request, found))}

    def put_item(self, **request: Any) -> dict[str, Any]:
        return self._single("put_item", "PutItem", request)

    def update_item(self, **request: Any) -> dict[str, Any]:
        return self._single("update_item", "UpdateItem", request)

    def delete_item(self, **request: Any) -> dict[str, Any]:
        return self._single("delete_item", "DeleteItem", request)

    def _single(self, method: str, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self._begin(method, request)
        before = self._stored(request)
        if not self._holds(request):
            shown = {"Item": before} if before is not None and _wants_old(request) else {}
            raise failure("ConditionalCheckFailedException", operation, "The conditional request failed", **shown)
        after = self._after(method, request, operation)
        self._write(request, after)
        return _returned(request, before, after)

    def transact_write_items(self, **request: Any) -> dict[str, Any]:
        number = self.transactions
        self.transactions += 1
        self._begin("transact_write_items", request)
        token = request.get("ClientRequestToken")
        payload = json.dumps(request, default=str, sort_keys=True)
        if token is not None and token in self.store.tokens:
            if self.store.tokens[token] != payload:
                raise failure("IdempotentParameterMismatchException", "TransactWriteItems")
            return {}
        self._transact(request["TransactItems"])
        if token is not None:
            self.store.tokens[token] = payload
        if number in self.lost:
            raise ReadTimeoutError(endpoint_url="http://double")
        return {}

    def _transact(self, actions: Sequence[Mapping[str, Any]]) -> None:
        assert 1 <= len(actions) <= 100
        members = [next(iter(action.items())) for action in actions]
        places = [
            (one["TableName"], fingerprint(self.store.key(one["TableName"], one.get("Item") or one["Key"])))
            for _, one in members
        ]
        if len(set(places)) < len(places):
            text = "Transaction request cannot include multiple operations on one item"
            raise failure("ValidationException", "TransactWriteItems", text)
        reasons: list[dict[str, Any]] = []
        for _, one in members:
            if self._holds(one):
                reasons.append({"Code": "None"})
            else:
                before = self._stored(one)
                shown = {"Item": dict(before)} if before is not None and _wants_old(one) else {}
                reasons.append({"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", **shown})
        if any(reason["Code"] != "None" for reason in reasons):
            text = f"Transaction cancelled [{', '.join(reason['Code'] for reason in reasons)}]"
            raise failure("TransactionCanceledException", "TransactWriteItems", text, CancellationReasons=reasons)
        afters = [(kind, one, self._after(TRANSACT[kind], one, "TransactWriteItems")) for kind, one in members]
        for kind, one, after in afters:
            if kind != "ConditionCheck":
                self._write(one, after)

    def transact_get_items(self, **request: Any) -> dict[str, Any]:
        self._begin("transact_get_items", request)
        found = [self.store.get(one["Get"]["TableName"], one["Get"]["Key"]) for one in request["TransactItems"]]
        return {"Responses": [{} if item is None else {"Item": copy.deepcopy(dict(item))} for item in found]}

    def query(self, **request: Any) -> dict[str, Any]:
        self._begin("query", request)
        return self._list(request, request["KeyConditionExpression"])

    def scan(self, **request: Any) -> dict[str, Any]:
        self._begin("scan", request)
        return self._list(request, None)

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        self._begin("batch_get_item", request)
        found = {
            table: [item for key in one["Keys"] if (item := self.store.get(table, key)) is not None]
            for table, one in request["RequestItems"].items()
        }
        return {"Responses": found, "UnprocessedKeys": {}}

    def batch_write_item(self, **request: Any) -> dict[str, Any]:
        self._begin("batch_write_item", request)
        for table, writes in request["RequestItems"].items():
            for write in writes:
                if "PutRequest" in write:
                    self.store.put(table, write["PutRequest"]["Item"])
                else:
                    self.store.remove(table, write["DeleteRequest"]["Key"])
        return {"UnprocessedItems": {}}

    def execute_statement(self, **request: Any) -> dict[str, Any]:
        self._begin("execute_statement", request)
        return {"Items": []}

    # --- how ----------------------------------------------------------------------------------------------------------

    def _begin(self, method: str, request: Any) -> None:
        self.requests.append((method, request))
        self.before(method, request)

    def _stored(self, request: Mapping[str, Any]) -> Item | None:
        return self.store.get(request["TableName"], request.get("Item") or request["Key"])

    def _holds(self, request: Mapping[str, Any]) -> bool:
        text = request.get("ConditionExpression")
        return not text or _condition(text, request).holds(self._stored(request) or {})

    def _after(self, method: str, request: Mapping[str, Any], operation: str) -> Item | None:
        _refuse_unused(request, operation)
        if method == "put_item":
            return dict(request["Item"])
        if method == "delete_item":
            return None
        before = self._stored(request)
        if method == "check":
            return before
        update = UpdateText.parse(request.get("UpdateExpression") or "", _names(request), _values(request))
        moved = sorted(update.writes & set(self.store.keys[request["TableName"]]))
        if moved:
            text = f"Cannot update attribute {moved[0]}. This attribute is part of the key"
            raise failure("ValidationException", operation, text)
        try:
            return {**request["Key"], **update.applied_to(before or {})}
        except NotApplicable as exc:
            raise failure("ValidationException", operation, str(exc)) from exc

    def _write(self, request: Mapping[str, Any], after: Item | None) -> None:
        table = request["TableName"]
        if after is None:
            self.store.remove(table, request["Key"])
        else:
            self.store.put(table, copy.deepcopy(dict(after)))

    def _list(self, request: Mapping[str, Any], key_condition: str | None) -> dict[str, Any]:
        table = request["TableName"]
        items = self.store.all(table)
        if request.get("ScanIndexForward") is False:
            items.reverse()
        start = request.get("ExclusiveStartKey")
        if start is not None:
            assert set(start) == set(self.store.keys[table]), "The provided starting key is invalid"
            position = [fingerprint(self.store.key(table, item)) for item in items].index(fingerprint(start))
            items = items[position + 1 :]
        if key_condition is not None:
            condition = _condition(key_condition, request)
            items = [item for item in items if condition.holds(item)]
        limit = request.get("Limit")
        assert limit is None or limit > 0
        page = items if limit is None else items[:limit]
        text = request.get("FilterExpression")
        kept = [item for item in page if not text or _condition(text, request).holds(item)]
        found: dict[str, Any] = {"Count": len(kept), "ScannedCount": len(page)}
        if request.get("Select") != "COUNT":
            found["Items"] = [copy.deepcopy(dict(_projected(request, item))) for item in kept]
        if limit is not None and len(page) == limit:
            found["LastEvaluatedKey"] = self.store.key(table, page[-1])
        return found


def _names(request: Mapping[str, Any]) -> Mapping[str, str]:
    return request.get("ExpressionAttributeNames") or {}


def _values(request: Mapping[str, Any]) -> Mapping[str, Any]:
    return request.get("ExpressionAttributeValues") or {}


def _condition(text: str, request: Mapping[str, Any]) -> Condition:
    return Condition.parse(text, _names(request), _values(request))


def _refuse_unused(request: Mapping[str, Any], operation: str) -> None:
    """As the service does: a name or a value that no expression uses is an error."""
    text = f"{request.get('ConditionExpression', '')} {request.get('UpdateExpression', '')}"
    words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").replace(".", " ").replace("[", " ").split())
    unused = sorted({*_names(request), *_values(request)} - words)
    if unused:
        raise failure("ValidationException", operation, f"unused in expressions: {unused}")
    if request.get("ExpressionAttributeValues") == {} or request.get("ExpressionAttributeNames") == {}:
        raise failure("ValidationException", operation, "ExpressionAttributeValues must not be empty")


def _projected(request: Mapping[str, Any], item: Item) -> Item:
    text = request.get("ProjectionExpression")
    return projected(item, paths_of(text, _names(request))) if text else item


def _wants_old(request: Mapping[str, Any]) -> bool:
    return request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def _returned(request: Mapping[str, Any], before: Item | None, after: Item | None) -> dict[str, Any]:
    asked = request.get("ReturnValues", "NONE")
    if asked == "ALL_OLD":
        return {} if before is None else {"Attributes": dict(before)}
    if asked == "ALL_NEW":
        return {"Attributes": dict(after or {})}
    if asked.startswith("UPDATED_"):
        update = UpdateText.parse(request["UpdateExpression"], _names(request), _values(request))
        paths = [path for path, _ in (*update.sets, *update.adds, *update.deletes)] + list(update.removes)
        shown = projected((before if asked == "UPDATED_OLD" else after) or {}, paths)
        return {"Attributes": shown} if shown else {}
    return {}
