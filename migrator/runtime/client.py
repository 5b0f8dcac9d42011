"""The client that an application uses in place of boto3's while keys are being rewritten."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from migrator.core.item import Item
from migrator.core.rewrite.phases import Side
from migrator.dynamo.borrowed import ask_before_signing, attempt_seconds, raise_as_client
from migrator.errors import UsageError
from migrator.runtime.calls import LEGACY, METHODS, Call, Kind, calls_of
from migrator.runtime.errors import NotExpressible
from migrator.runtime.expressions.paths import Path, projected
from migrator.runtime.planning import ConditionLost, Refused
from migrator.runtime.reader import PhaseReader, Stance
from migrator.runtime.reading import Listing, get, pages, passed
from migrator.runtime.sending import FAILED, Sender
from migrator.runtime.sides import Sides

_log = logging.getLogger("migrator.runtime")
MOST_OF_THE_APPLICATION = 50
"""Actions of a transaction that always fit when both sides are written."""
STATEMENTS = frozenset({"execute_statement", "batch_execute_statement", "execute_transaction"})


@dataclass(frozen=True, slots=True)
class UnsupportedCall:
    """A call that works now, and will be refused when both sides are written."""

    method: str
    why: str


class RewritingClient:
    """Low-level DynamoDB calls as boto3's client has them, in one form through all phases of a rewrite.

    `form` is the one that the application speaks: "old" or "new". Calls on other tables, and what is not named here,
    go to `client` as they are. `on_unsupported` is told, in expand, of calls that later phases refuse; by default they
    are logged, each kind once. Raises, beside what the client raises: PhaseUnknown, NotExpressible, WrongForm,
    KeyUnknown, KeyCollision, PageMoved; each is a MigratorError, and nothing was written.
    """

    def __init__(
        self,
        client: Any,
        reader: PhaseReader,
        *,
        form: Side,
        on_unsupported: Callable[[UnsupportedCall], None] | None = None,
    ):
        if form not in ("old", "new"):
            raise UsageError("bad-form", f"form={form!r}: a client speaks the 'old' form or the 'new' one")
        self._client = client
        self._reader = reader
        self._form = form
        self._told = on_unsupported
        self._met: set[UnsupportedCall] = set()
        self._sender = Sender(client, reader, form)
        self._attempt = attempt_seconds(client)
        ask_before_signing(client)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name in STATEMENTS:
            return lambda **request: self._statement(name, request)
        return found

    @property
    def unsupported(self) -> frozenset[UnsupportedCall]:
        """The calls met so far that later phases refuse."""
        return frozenset(self._met)

    # --- writes -------------------------------------------------------------------------------------------------------

    def put_item(self, **request: Any) -> dict[str, Any]:
        return self._write_one("put", request)

    def update_item(self, **request: Any) -> dict[str, Any]:
        return self._write_one("update", request)

    def delete_item(self, **request: Any) -> dict[str, Any]:
        return self._write_one("delete", request)

    def _write_one(self, kind: Kind, request: dict[str, Any]) -> dict[str, Any]:
        return self._sender.holding(lambda stance: self._one(stance, Call(kind, request)))

    def _one(self, stance: Stance, call: Call) -> dict[str, Any]:
        sides = self._sides(stance, [call.table])
        method = METHODS[call.kind]
        if sides is None or self._passes(stance, sides, call):
            if sides is not None:
                self._report(stance, call.refusal, method)
            answer = passed(self._sender, stance, method, call.request)
            hidden = frozenset[str]() if sides is None else sides.hidden
            if "Attributes" in answer and hidden & answer["Attributes"].keys():
                answer["Attributes"] = {n: v for n, v in answer["Attributes"].items() if n not in hidden}
            return dict(answer)
        if call.refusal:
            raise NotExpressible(call.refusal)
        exact = call.returns != "NONE"
        operation = {"put": "PutItem", "update": "UpdateItem", "delete": "DeleteItem"}[call.kind]
        try:
            done = self._sender.write_under(stance, [call], exact=exact)
        except ConditionLost as lost:
            shown = {"Item": sides.shown(lost.item)} if call.wants_old and lost.item else {}
            raise_as_client(
                self._client, operation, "ConditionalCheckFailedException", "The conditional request failed", shown
            )
        except Refused as refused:
            raise_as_client(self._client, operation, "ValidationException", str(refused))
        answer = {"ResponseMetadata": done.answer.get("ResponseMetadata", {})}
        if exact and done.images:
            attributes = _returned(call, *done.images[0])
            if attributes:
                answer["Attributes"] = sides.shown(attributes)
        return answer

    def _passes(self, stance: Stance, sides: Sides, call: Call) -> bool:
        """Whether the call may go as it was said: it concerns one side alone, the client's own."""
        if stance.rules.authority == self._form and not stance.rules.writes_twin:
            return True
        return sides.by_key(call.table, call.key(sides.key_names(call.table))) == "neither"

    def transact_write_items(self, **request: Any) -> dict[str, Any]:
        return self._sender.holding(lambda stance: self._transaction(stance, request))

    def _transaction(self, stance: Stance, request: Mapping[str, Any]) -> dict[str, Any]:
        calls = calls_of(request["TransactItems"])
        sides = self._sides(stance, [call.table for call in calls])
        if sides is None:
            return dict(passed(self._sender, stance, "transact_write_items", request))
        ours = sum(sides.has(call.table) for call in calls)
        if stance.rules.authority == self._form and not stance.rules.writes_twin:
            if len(calls) + ours > 2 * MOST_OF_THE_APPLICATION:
                self._report(stance, f"a transaction of {len(calls)} actions", "transact_write_items")
            for call in calls:
                self._report(stance, call.refusal, "transact_write_items")
            return dict(passed(self._sender, stance, "transact_write_items", request))
        places = [
            (c.table, tuple(str(v) for v in c.key(sides.key_names(c.table)).values()))
            for c in calls
            if sides.has(c.table)
        ]
        if len(set(places)) < len(places):
            text = "Transaction request cannot include multiple operations on one item"
            raise_as_client(self._client, "TransactWriteItems", "ValidationException", text)
        try:
            done = self._sender.write_under(stance, calls, token=request.get("ClientRequestToken"))
        except ConditionLost as lost:
            self._cancelled(calls, lost, sides)
        except Refused as refused:
            raise_as_client(self._client, "TransactWriteItems", "ValidationException", str(refused))
        return {"ResponseMetadata": done.answer.get("ResponseMetadata", {})}

    def _cancelled(self, calls: Sequence[Call], lost: ConditionLost, sides: Sides) -> NoReturn:
        reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in calls]
        reasons[lost.position] = {"Code": FAILED, "Message": "The conditional request failed"}
        if calls[lost.position].wants_old and lost.item is not None:
            reasons[lost.position]["Item"] = sides.shown(lost.item)
        codes = ", ".join(str(reason["Code"]) for reason in reasons)
        raise_as_client(
            self._client,
            "TransactWriteItems",
            "TransactionCanceledException",
            f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
            {"CancellationReasons": reasons},
        )

    def batch_write_item(self, **request: Any) -> dict[str, Any]:
        def act(stance: Stance) -> dict[str, Any]:
            sides = self._sides(stance, request["RequestItems"])
            if sides is not None:
                why = "BatchWriteItem, which has no conditions and no transaction: use transact_write_items"
                self._refuse_later(stance, why, "batch_write_item")
            return dict(passed(self._sender, stance, "batch_write_item", request))

        return self._sender.holding(act)

    def _statement(self, method: str, request: Mapping[str, Any]) -> Any:
        def act(stance: Stance) -> Any:
            sides = None if stance.rewrite is None else Sides(stance.rewrite, self._form)
            if sides is not None and any(table in str(request) for table in sides.rewrite.tables):
                self._refuse_later(stance, "PartiQL: say it with the calls of items", method)
            return passed(self._sender, stance, method, request)

        return self._sender.holding(act)

    # --- reads --------------------------------------------------------------------------------------------------------

    def get_item(self, **request: Any) -> dict[str, Any]:
        def act(stance: Stance) -> dict[str, Any]:
            sides = self._sides(stance, [request["TableName"]])
            if sides is None or self._reads_as_said(stance):
                return dict(passed(self._sender, stance, "get_item", request))
            return get(self._sender, stance, sides, request)

        return self._sender.holding(act)

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        """Items of the rewrite's tables are read one by one, consistently."""

        def act(stance: Stance) -> dict[str, Any]:
            sides = self._sides(stance, request["RequestItems"])
            if sides is None or self._reads_as_said(stance):
                return dict(passed(self._sender, stance, "batch_get_item", request))
            ours = {name: one for name, one in request["RequestItems"].items() if sides.has(_name(name))}
            others = {name: one for name, one in request["RequestItems"].items() if name not in ours}
            answer: dict[str, Any] = {"Responses": {}, "UnprocessedKeys": {}}
            if others:
                answer |= passed(self._sender, stance, "batch_get_item", {**request, "RequestItems": others})
            for name, one in ours.items():
                asked = {key: value for key, value in one.items() if key != "Keys"}
                found = [
                    get(self._sender, stance, sides, {**asked, "TableName": name, "Key": key}) for key in one["Keys"]
                ]
                answer["Responses"][name] = [each["Item"] for each in found if "Item" in each]
            return answer

        return self._sender.holding(act)

    def transact_get_items(self, **request: Any) -> dict[str, Any]:
        def act(stance: Stance) -> dict[str, Any]:
            gets = [one["Get"] for one in request["TransactItems"]]
            sides = self._sides(stance, [one["TableName"] for one in gets])
            if sides is not None and stance.rules.authority != self._form:
                raise NotExpressible("TransactGetItems of items that stand in another form: read them one by one")
            answer = dict(passed(self._sender, stance, "transact_get_items", request))
            if sides is not None and not self._reads_as_said(stance):
                answer["Responses"] = [
                    self._own(sides, one, found) for one, found in zip(gets, answer["Responses"], strict=True)
                ]
            return answer

        return self._sender.holding(act)

    def _own(self, sides: Sides, asked: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
        table = _name(asked["TableName"])
        if "Item" not in found or not sides.has(table):
            return dict(found)
        side = sides.side_of(table, {**found["Item"], **asked["Key"]})
        return {} if side not in (None, self._form) else {"Item": sides.shown(found["Item"])}

    def query(
        self, *, old: Mapping[str, Any] | None = None, new: Mapping[str, Any] | None = None, **request: Any
    ) -> dict[str, Any]:
        """As Query. `old` and `new` say what is different on each side: conditions, values, the index."""
        return self._list("query", request, old, new)

    def scan(
        self, *, old: Mapping[str, Any] | None = None, new: Mapping[str, Any] | None = None, **request: Any
    ) -> dict[str, Any]:
        """As Scan. `old` and `new` say what is different on each side, such as the index."""
        return self._list("scan", request, old, new)

    def _list(
        self, method: str, request: dict[str, Any], old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        overrides: dict[Side, Mapping[str, Any] | None] = {"old": old, "new": new}
        own = overrides[self._form]

        def act(stance: Stance) -> dict[str, Any]:
            sides = self._sides(stance, [request["TableName"]])
            said = {**request, **(own or {})}
            legacy = sorted(LEGACY & said.keys())
            why = f"{', '.join(legacy)} of {method}: say it as an expression" if legacy else None
            if sides is None or self._reads_as_said(stance):
                if sides is not None:
                    self._report(stance, why, method)
                return dict(passed(self._sender, stance, method, said))
            if why:
                raise NotExpressible(why)
            return Listing(self._sender, stance, sides, method, said, overrides).page()

        return self._sender.holding(act)

    def _reads_as_said(self, stance: Stance) -> bool:
        """In expand no twins stand yet, and old code sees what it always saw; twins that stay are there to be read."""
        stays = stance.rewrite is not None and not stance.rewrite.moves
        return self._form == "old" and (stays or stance.phase == "expand")

    def get_paginator(self, operation: str) -> Any:
        if operation in ("query", "scan"):
            return _Paginator(getattr(self, operation))
        return self._client.get_paginator(operation)

    # --- how ----------------------------------------------------------------------------------------------------------

    def _sides(self, stance: Stance, tables: Sequence[str] | Mapping[str, Any]) -> Sides | None:
        """None where the call is none of the rewrite's business."""
        if stance.rewrite is None:
            if self._form == "new":
                raise NotExpressible(
                    "there is no phase record yet, so nothing says what the old form is",
                    hint="run `migrator upgrade` to the gate before code of the new form takes requests",
                )
            return None
        if self._attempt is not None and self._attempt * 1000 > stance.attempt_ms:
            raise UsageError(
                "attempt-too-long",
                f"one attempt of this client may last {self._attempt:.0f} s, the rewrite waits for "
                f"{stance.attempt_ms / 1000:.0f} s after a change of phase",
                hint="open the client with Config(connect_timeout=2, read_timeout=5)",
            )
        sides = Sides(stance.rewrite, self._form)
        return sides if any(sides.has(_name(table)) for table in tables) else None

    def _refuse_later(self, stance: Stance, why: str, method: str) -> None:
        if stance.phase == "expand" and self._form == "old":
            self._report(stance, why, method)
        elif stance.rules.writes_twin or stance.rules.authority != self._form:
            raise NotExpressible(why)

    def _report(self, stance: Stance, why: str | None, method: str) -> None:
        if why is None or stance.phase != "expand":
            return
        call = UnsupportedCall(method, why)
        if call in self._met:
            return
        self._met.add(call)
        if self._told is not None:
            self._told(call)
        else:
            _log.warning("%s will be refused from dual-write on: %s", method, why)


class _Paginator:
    def __init__(self, method: Callable[..., dict[str, Any]]):
        self._method = method

    def paginate(self, **request: Any) -> Iterator[dict[str, Any]]:
        config = request.pop("PaginationConfig", {})
        if "PageSize" in config:
            request["Limit"] = config["PageSize"]
        if config.keys() - {"PageSize"}:
            raise NotExpressible(f"PaginationConfig with {', '.join(sorted(config.keys() - {'PageSize'}))}")
        return pages(self._method, request)


def _name(table: str) -> str:
    return table.rpartition("/")[2]


def _returned(call: Call, before: Item | None, after: Item | None) -> Item | None:
    match call.returns:
        case "ALL_OLD":
            return before
        case "ALL_NEW":
            return after
    paths: list[Path] = []
    if call.kind == "update":
        changed = call.update
        paths = [path for path, _ in (*changed.sets, *changed.adds, *changed.deletes)] + list(changed.removes)
    image = before if call.returns == "UPDATED_OLD" else after
    return projected(image or {}, paths)
