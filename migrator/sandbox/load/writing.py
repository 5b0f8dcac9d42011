"""Writing of entries: tables made where absent, then batches until nothing is left unprocessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from migrator.errors import MigratorError
from migrator.sandbox.clock import pause
from migrator.sandbox.load.documents import Entry, bad

BATCH = 25
PATIENCE = 12
"""Attempts at a batch with unprocessed items, from 50 ms apart to 2 s."""


@dataclass(frozen=True, slots=True)
class TableKey:
    """A table's name, and its key attributes with their types."""

    table: str
    types: dict[str, str]

    def of(self, entry: Entry) -> tuple[str, ...]:
        return tuple(str(entry.item[name]) for name in self.types)

    def check(self, path: Path, entries: Iterable[Entry]) -> None:
        """Refuse an entry without the table's key, before anything is written."""
        for entry in entries:
            for name, kind in self.types.items():
                value = entry.item.get(name, {})
                if kind not in value:
                    found = f"is of type {next(iter(value))}" if value else "is missing"
                    raise bad(
                        path,
                        "bad-item",
                        f"{entry.place}: key attribute {name} ({kind}) of {self.table} {found}",
                    )


def create(client: Any, path: Path, request: dict[str, Any]) -> bool:
    """Make a table and wait for it; False if it exists with the same key."""
    name = request["TableName"]
    try:
        client.create_table(**request)
    except ClientError as exc:
        if exc.response["Error"]["Code"] != "ResourceInUseException":
            raise
        if client.describe_table(TableName=name)["Table"]["KeySchema"] == request["KeySchema"]:
            return False
        raise bad(path, "table-differs", f"table {name} exists with another key than the model's") from exc
    while client.describe_table(TableName=name)["Table"]["TableStatus"] != "ACTIVE":
        pause(0.2)
    return True


def key_of(client: Any, name: str) -> TableKey:
    try:
        table = client.describe_table(TableName=name)["Table"]
    except ClientError as exc:
        if exc.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        hint = "make it first: items alone do not tell a table's key"
        raise MigratorError("table-missing", f"there is no table {name}", hint=hint) from exc
    types = {a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]}
    return TableKey(name, {e["AttributeName"]: types[e["AttributeName"]] for e in table["KeySchema"]})


def write(client: Any, path: Path, key: TableKey, entries: Sequence[Entry]) -> None:
    """Put (or delete) all entries, in their order where one key comes twice."""
    for batch in _batches(key, entries):
        pending = {key.table: [_request(key, entry) for entry in batch]}
        for attempt in range(PATIENCE):
            try:
                pending = client.batch_write_item(RequestItems=pending).get("UnprocessedItems") or {}
            except ClientError as exc:
                if exc.response["Error"]["Code"] != "ValidationException":
                    raise
                text = exc.response["Error"]["Message"]
                raise MigratorError(
                    "bad-item",
                    f"{path}: {batch[0].place} to {batch[-1].place}: the service refuses one of them: {text}",
                    hint="what stands before them is loaded; correct the file and load it again",
                ) from exc
            if not pending:
                break
            pause(min(2.0, 0.05 * 2**attempt))
        else:
            raise MigratorError(
                "load-throttled", f"{key.table} still refuses items of {path}", hint="load it again later"
            )


def _batches(key: TableKey, entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Runs of up to 25 entries without a key twice, which one request may not have."""
    batch: dict[tuple[str, ...], Entry] = {}
    for entry in entries:
        place = key.of(entry)
        if len(batch) == BATCH or place in batch:
            yield list(batch.values())
            batch = {}
        batch[place] = entry
    if batch:
        yield list(batch.values())


def _request(key: TableKey, entry: Entry) -> dict[str, Any]:
    if entry.delete:
        return {"DeleteRequest": {"Key": {name: entry.item[name] for name in key.types}}}
    return {"PutRequest": {"Item": entry.item}}
