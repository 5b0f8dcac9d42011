"""The rule for PartiQL writes: stream records, index keys, capacity and batch shapes that the engine lacks.

It looks at the store before and after the engine has run the statements in one piece, and undoes what the
service would have refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from migrator.sandbox.capacity import added, shown
from migrator.sandbox.engine import Engine, Item, Key
from migrator.sandbox.index_items import cancelled
from migrator.sandbox.index_keys import first_fault
from migrator.sandbox.layer import Proceed
from migrator.sandbox.wire import Reply, Request, Response

_WRITES = ("INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Write:
    """One statement that may change an item: where it stands, what it names, and the item before."""

    position: int
    operation: str
    table: dict[str, Any]
    key: Key
    before: Item | None


class PartiQL:
    """Writes by statement behave as writes by item do."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        match request.operation:
            case "ExecuteStatement":
                statements = [request.body]
            case "BatchExecuteStatement":
                statements = request.body.get("Statements") or []
            case "ExecuteTransaction":
                statements = request.body.get("TransactStatements") or []
            case _:
                return await proceed(request)
        kinds = [(self._engine.parsed(statement) or {}).get("op", "") for statement in statements]
        if refused := _mixed(request.operation, kinds):
            return refused
        writes = [
            write
            for position, (kind, statement) in enumerate(zip(kinds, statements, strict=True))
            if (write := self._write(position, kind, statement)) is not None
        ]
        places = [(write.table["TableName"], write.key) for write in writes]
        if len(set(places)) < len(places):
            return Response.error("ValidationException", _TWICE[request.operation])
        reply = await proceed(request)
        if not isinstance(reply, Response) or not reply.ok or not writes:
            return reply
        return self._settled(request, reply, writes, len(statements))

    def _write(self, position: int, kind: str, statement: dict[str, Any]) -> Write | None:
        name, named = self._engine.named_by(statement)
        table = self._engine.table(name)
        if kind not in _WRITES or table is None or named is None:
            return None
        key = self._engine.key(table, named)
        return Write(position, kind, table, key, self._engine.item(table, key))

    def _settled(self, request: Request, reply: Response, writes: list[Write], length: int) -> Response:
        """Refuse what breaks an index, record the rest in the streams, and count its capacity."""
        refused = {write.position: text for write in writes if (text := self._fault(write)) is not None}
        undone = writes if request.operation == "ExecuteTransaction" and refused else [
            write for write in writes if write.position in refused
        ]  # fmt: skip
        for write in undone:
            self._engine.put(write.table, write.key, write.before)
        if refused and request.operation == "ExecuteStatement":
            return Response.error("ValidationException", refused[0])
        if refused and request.operation == "ExecuteTransaction":
            return cancelled(length, {position: ("ValidationError", text) for position, text in refused.items()})
        for write in writes:
            self._engine.emit(write.table, write.before, self._engine.item(write.table, write.key))
        body = reply.body
        for position, text in refused.items():
            body["Responses"][position] = {"Error": {"Code": "ValidationError", "Message": text}}
        if body.pop("ConsumedCapacity", None) is not None:
            body["ConsumedCapacity"] = self._consumed(request, writes)
        return reply.with_body(body)

    def _fault(self, write: Write) -> str | None:
        after = self._engine.item(write.table, write.key)
        if after is None or after == write.before:
            return None
        fault = first_fault(write.table, after)
        if fault is None:
            return None
        return fault.of_put() if write.operation == "INSERT" else fault.of_update()

    def _consumed(self, request: Request, writes: list[Write]) -> dict[str, Any] | list[dict[str, Any]]:
        """By table: what the same writes by item would have consumed, twice in a transaction (facts §4.1)."""
        tables: dict[str, dict[str, Any]] = {}
        for write in writes:
            after = self._engine.item(write.table, write.key)
            units = self._engine.write_units(write.table, write.before, after)
            if request.operation == "ExecuteTransaction":
                units = added(units, {"CapacityUnits": units["Table"]["CapacityUnits"], "Table": units["Table"]})
            name = write.table["TableName"]
            tables[name] = added(tables[name], units) if name in tables else units
        listed = [shown(units, request.body["ReturnConsumedCapacity"]) for units in tables.values()]
        return listed[0] if request.operation == "ExecuteStatement" else listed


_TWICE = {
    "BatchExecuteStatement": "Provided list of item keys contains duplicates",
    "ExecuteTransaction": "Transaction request cannot include multiple operations on one item",
}


def _mixed(operation: str, kinds: list[str]) -> Response | None:
    """A batch and a transaction read or write, never both; EXISTS is a condition of a transaction's "
    "writes."""
    reads = kinds.count("SELECT")
    if reads in (0, len(kinds)):
        return None
    what = "batch" if operation == "BatchExecuteStatement" else "transaction"
    return Response.error("ValidationException", f"The statements of a {what} must be all reads or all writes")
