"""ministack's DynamoDB inside this process: the one file that knows its insides.

The extra pins one exact version, so these names cannot move under us. A DynamoDB operation is called as a
plain function: it runs to its end without yielding to the event loop, so a rule next to the engine sees the
store before and after one operation and nothing in between. All other services go through ministack's ASGI
application.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from migrator.sandbox.extra import extra
from migrator.sandbox.wire import Request, Response

Item = dict[str, Any]
Key = tuple[Any, Any]
"""Where the engine keeps an item: the values of its partition and sort key."""


def _imported() -> tuple[Any, ...]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        names = ("app", "core.responses", "core.router", "services.cloudwatch", "services.dynamodb")
        return tuple(extra(f"ministack.{name}") for name in names)
    finally:
        # Its import configures the root logger, which belongs to the program and not to a library.
        root.handlers[:] = handlers
        root.setLevel(level)


class Engine:
    """The store and the operations. State is global to the process, apart by account and by region."""

    def __init__(self) -> None:
        self._app, self._responses, self._router, self._metrics, self._db = _imported()
        logging.getLogger("ministack").setLevel(logging.WARNING)
        for name in ("dynamodb", "cloudwatch"):
            logging.getLogger(name).setLevel(logging.WARNING)
        # A lock that an earlier event loop waited on is bound to that loop.
        self._app._reset_lock = None

    @property
    def asgi(self) -> Any:
        """ministack's ASGI application, for all that is not an operation of DynamoDB."""
        return self._app.app

    def enter(self, headers: Mapping[str, str]) -> tuple[str, str]:
        """Bind the running task to the account and the region of the signature, and return them."""
        self._responses.set_request_account_id(self._router.extract_access_key_id(headers))
        self._responses.set_request_region(self._router.extract_region(headers))
        return self._responses.get_account_id(), self._responses.get_region()

    def bind(self, account: str, region: str) -> None:
        """Bind the running task to an account and a region, outside of any request."""
        self._responses.set_request_account_id(account)
        self._responses.set_request_region(region)

    def call(self, request: Request) -> Response:
        """Run one DynamoDB operation to its end."""
        work = self._db.handle_request(request.method, request.path, request.headers, request.raw, {})
        try:
            work.send(None)
        except StopIteration as done:
            status, headers, payload = done.value
            raw = payload if isinstance(payload, bytes) else payload.encode()
            return Response(status, raw, {k.lower(): str(v) for k, v in headers.items()})
        work.close()
        raise RuntimeError(f"{request.operation} yielded: this version of ministack is not the pinned one")

    def forget(self, scopes: Collection[tuple[str, str]]) -> None:
        """Forget all tables, streams and metrics of these pairs of account and region."""
        for module in (self._db, self._metrics):
            for store in vars(module).values():
                if isinstance(store, self._responses.AccountRegionScopedDict):
                    for account, region, key in [place for place in store._data if place[:2] in scopes]:
                        store.pop_scoped(account, region, key)

    # Tables

    def table(self, name: str) -> dict[str, Any] | None:
        """The engine's own record of a table: `items`, `pk_name`, `sk_name` and the description's members."""
        found: dict[str, Any] | None = self._db._tables.get(name)
        return found

    def description(self, name: str) -> dict[str, Any] | None:
        """What DescribeTable would return; a copy."""
        return copy.deepcopy(self._db._table_description(name)) if self.table(name) is not None else None

    def partition_attribute(self, table: dict[str, Any], index: str | None) -> str:
        """The attribute by which the engine divides a parallel scan into segments."""
        return str(self._db._resolve_index_keys(table, index)[0] if index else table["pk_name"])

    def sort_indexes(self, name: str) -> None:
        """Order a table's indexes by name: the service names the first one in that order when it refuses."""
        table = self.table(name)
        for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            if table is not None and table.get(kind):
                table[kind].sort(key=lambda index: index["IndexName"])

    # Items

    def key(self, table: dict[str, Any], item: Item) -> Key:
        """Where `item` (or a bare key) lies in `table`."""
        sort = self._db._extract_key_val(item.get(table["sk_name"])) if table["sk_name"] else "__no_sort__"
        return self._db._extract_key_val(item.get(table["pk_name"])), sort

    def item(self, table: dict[str, Any], key: Key) -> Item | None:
        found: Item | None = table["items"].get(key[0], {}).get(key[1])
        return found

    def items(self, table: dict[str, Any]) -> Iterator[tuple[Key, Item]]:
        for partition, sorted_items in table["items"].items():
            for sort, item in sorted_items.items():
                yield (partition, sort), item

    def put(self, table: dict[str, Any], key: Key, item: Item | None) -> None:
        """Set an item as it is, or remove it: no checks, no stream record."""
        if item is None:
            self._db._remove_item(table, *key)
        else:
            self._db._set_item(table, *key, item)

    @contextmanager
    def hidden(self, table: dict[str, Any], keys: Iterable[Key]) -> Iterator[None]:
        """Take items out of the store for the length of one call."""
        held = {key: item for key in keys if (item := self.item(table, key)) is not None}
        for partition, sort in held:
            del table["items"][partition][sort]
        try:
            yield
        finally:
            for (partition, sort), item in held.items():
                table["items"].setdefault(partition, {})[sort] = item

    def updated(self, item: Item, update: Mapping[str, Any]) -> Item | None:
        """`item` after an UpdateExpression or AttributeUpdates; None where the engine will refuse it."""
        draft = copy.deepcopy(item)
        names, values = (
            update.get("ExpressionAttributeNames") or {},
            update.get("ExpressionAttributeValues") or {},
        )
        try:
            if update.get("UpdateExpression"):
                draft, _ = self._db._apply_update_expression(draft, update["UpdateExpression"], values, names)
            elif update.get("AttributeUpdates"):
                draft = self._db._apply_attribute_updates(draft, update["AttributeUpdates"])
        except (ValueError, self._db._AttributeUpdatesValidationError):
            return None
        return draft

    def size(self, item: Item) -> int:
        """Bytes of an item, as the service counts them (facts §4.3)."""
        return int(self._db._item_size_bytes(item))

    def index_entry(self, table: dict[str, Any], index: str, item: Item) -> Item:
        """What `index` projects of `item`."""
        entry: Item = self._db._apply_index_projection(item, table, index)
        return entry

    def write_units(self, table: dict[str, Any], before: Item | None, after: Item | None) -> dict[str, Any]:
        """ConsumedCapacity of one write that made `after` of `before`, in the INDEXES form."""
        result: dict[str, Any] = {}
        self._db._add_consumed_capacity(
            result,
            {"ReturnConsumedCapacity": "INDEXES"},
            table["TableName"],
            write=True,
            old_item=before,
            new_item=after,
        )
        capacity: dict[str, Any] = result["ConsumedCapacity"]
        return capacity

    # PartiQL, streams, metrics

    def parsed(self, statement: Mapping[str, Any]) -> dict[str, Any] | None:
        """A parsed PartiQL statement (`op`, `table`, `index`, …); None where the engine will refuse it."""
        try:
            parsed: dict[str, Any] = self._db._parse_partiql(
                statement.get("Statement", ""), statement.get("Parameters", [])
            )
        except ValueError:
            return None
        return parsed

    def named_by(self, statement: Mapping[str, Any]) -> tuple[str, Item | None]:
        """The table and the key attributes of the item that a statement names; None if it names no "
        "single one."""
        parsed = self.parsed(statement)
        table = self.table(parsed["table"]) if parsed is not None else None
        if parsed is None or table is None:
            return "", None
        if parsed["op"] == "INSERT":
            item = parsed.get("item") or {}
            return str(parsed["table"]), item["M"] if set(item) == {"M"} else item
        where = (parsed["select"] if parsed["op"] == "EXISTS" else parsed).get("conditions") or []
        key = {attribute: value for attribute, operator, value in where if operator == "="}
        names = {table["pk_name"], table["sk_name"] or table["pk_name"]}
        return str(parsed["table"]), key if names <= key.keys() else None

    def emit(self, table: dict[str, Any], before: Item | None, after: Item | None) -> None:
        """Write the stream record of one change, if the table has a stream."""
        event = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
        if before != after:
            self._db._emit_stream_event(table["TableName"], event, before, copy.deepcopy(after))

    def ttl_attribute(self, name: str) -> str:
        """The attribute by which the items of a table expire; empty where they do not."""
        setting = self._db._ttl_settings.get(name) or {}
        return str(setting.get("AttributeName", "")) if setting.get("TimeToLiveStatus") == "ENABLED" else ""

    def expire(self, table: dict[str, Any], key: Key) -> None:
        """Delete an item as Time to Live does: the stream record names the service."""
        name, item = table["TableName"], self.item(table, key)
        recorded = len(self._db._stream_records.get(name) or [])
        self.put(table, key, None)
        self.emit(table, item, None)
        for record in (self._db._stream_records.get(name) or [])[recorded:]:
            record["userIdentity"] = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}

    def trim_stream(self, name: str) -> int:
        """Drop all records of a table's stream, as 24 hours do; how many there were."""
        records = self._db._stream_records.get(name) or []
        trimmed = len(records)
        records.clear()
        self._db._stream_trimmed[name] = self._db._stream_trimmed.get(name, 0) + trimmed
        return trimmed

    def last_sequence_number(self, name: str) -> int:
        """That of the newest record of a table's stream; 0 where there is none."""
        records = self._db._stream_records.get(name) or []
        return int(records[-1]["dynamodb"]["SequenceNumber"]) if records else 0

    def record_metric(self, name: str, value: float, dimensions: Mapping[str, str]) -> None:
        """Publish one point of a metric of AWS/DynamoDB, stamped now."""
        self._metrics.record_metric("AWS/DynamoDB", name, value, "Count", dict(dimensions))
