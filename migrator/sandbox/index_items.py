"""The rule for index contents: what a build leaves out, and the size limits of later writes (facts §3).

The engine refuses wrong types and empty values itself; it indexes them in a build, and knows no sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from migrator.sandbox.engine import Engine, Key
from migrator.sandbox.index_keys import Fault, faults, first_fault, indexes_of
from migrator.sandbox.layer import Proceed
from migrator.sandbox.reads import read_of
from migrator.sandbox.wire import Reply, Request, Response, table_name

_TYPE_MISMATCH = "Type mismatch for Index Key"


class IndexItems:
    """Hides from an index the items that its build left out, and refuses keys that are too long."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._left_out: dict[tuple[str, str], set[Key]] = {}
        """By table id and index: the items that were not indexable when it was built."""

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        name, index = read_of(self._engine, request)
        if index is not None:
            table = self._engine.table(name)
            with self._engine.hidden(table or {"items": {}}, self._unindexable(table, index)):
                return await proceed(request)
        for position, fault in self._oversized(request):
            return _refused(request, position, fault)
        reply = await proceed(request)
        if not isinstance(reply, Response):
            return reply
        if request.operation == "UpdateTable" and reply.ok:
            self._note_left_out(request)
        if request.operation == "UpdateItem" and _TYPE_MISMATCH in reply.error_message:
            text = "The update expression attempted to update the secondary index key to unsupported type"
            return Response.error("ValidationException", text)
        return reply

    def _note_left_out(self, request: Request) -> None:
        """Remember what a build just begun leaves out: writes that would add to it are refused from "
        "now on."""
        table = self._engine.table(request.table)
        made = [u["Create"]["IndexName"] for u in request.body.get("GlobalSecondaryIndexUpdates", []) if "Create" in u]
        for index in indexes_of(table or {}):
            if table is not None and index["IndexName"] in made:
                place = (table["TableId"], index["IndexName"])
                self._left_out[place] = {
                    key for key, item in self._engine.items(table) if any(faults(table, index, item))
                }

    def _unindexable(self, table: dict[str, Any] | None, name: str) -> set[Key]:
        """The items left out at the build that still are not indexable: a repaired one is in the index."""
        index = next((i for i in indexes_of(table or {}) if i["IndexName"] == name), None)
        if table is None or index is None:
            return set()
        left_out = self._left_out.get((table["TableId"], name), set())
        items = {key: self._engine.item(table, key) for key in left_out}
        return {key for key, item in items.items() if item is not None and any(faults(table, index, item))}

    def _oversized(self, request: Request) -> Iterator[tuple[int, Fault]]:
        for position, (name, item) in enumerate(self._written(request)):
            table = self._engine.table(name)
            if table is None or item is None or not indexes_of(table):
                continue
            fault = first_fault(table, item)
            if fault is not None and fault.kind == "size":
                yield position, fault

    def _written(self, request: Request) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """Table and item after each single write of the request; None for a deletion or a mere check."""
        body = request.body
        match request.operation:
            case "PutItem":
                yield request.table, body.get("Item")
            case "UpdateItem":
                yield request.table, self._updated(body)
            case "BatchWriteItem":
                for name, writes in (body.get("RequestItems") or {}).items():
                    yield from ((table_name(name), write.get("PutRequest", {}).get("Item")) for write in writes)
            case "TransactWriteItems":
                for action in body.get("TransactItems") or []:
                    put, update = action.get("Put", {}), action.get("Update", {})
                    yield (
                        table_name((put or update).get("TableName")),
                        put.get("Item") or self._updated(update),
                    )

    def _updated(self, update: dict[str, Any]) -> dict[str, Any] | None:
        table = self._engine.table(table_name(update.get("TableName")))
        if table is None or not indexes_of(table) or not isinstance(update.get("Key"), dict):
            return None
        before = self._engine.item(table, self._engine.key(table, update["Key"]))
        return self._engine.updated(before or update["Key"], update)


def _refused(request: Request, position: int, fault: Fault) -> Response:
    if request.operation != "TransactWriteItems":
        text = fault.of_update() if request.operation == "UpdateItem" else fault.of_put()
        return Response.error("ValidationException", text)
    actions = request.body["TransactItems"]
    text = fault.of_update() if "Update" in actions[position] else fault.of_put()
    return cancelled(len(actions), {position: ("ValidationError", text)})


def cancelled(length: int, reasons: dict[int, tuple[str, str]]) -> Response:
    """A TransactionCanceledException with these reasons, by position; the others are "None"."""
    listed: list[dict[str, str]] = [{"Code": "None"} for _ in range(length)]
    for position, (code, text) in reasons.items():
        listed[position] = {"Code": code, "Message": text}
    codes = ", ".join(reason["Code"] for reason in listed)
    return Response.error(
        "TransactionCanceledException",
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        CancellationReasons=listed,
    )
