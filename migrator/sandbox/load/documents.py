"""Files with tables or items: their format detected, their contents with the place each came from."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from migrator.errors import MigratorError
from migrator.sandbox.load.items import MalformedError, WireItem, from_plain, from_wire, is_wire, parsed

Format = Literal["workbench-model", "batch-write", "items"]
_ACTIONS = ({"PutRequest"}, {"DeleteRequest"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One item (or, for a deletion, one key) and where it stands: `line 3`, `item 3`, `Orders row 3`."""

    place: str
    item: WireItem
    delete: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A file's contents: a model's tables as they stand there, or entries by table ("" where it "
    "names none)."""

    path: Path
    format: Format
    tables: tuple[dict[str, Any], ...]
    entries: dict[str, tuple[Entry, ...]]


def bad(path: Path, code: str, problem: str) -> MigratorError:
    return MigratorError(code, f"{path}: {problem}", hint="nothing was loaded from it; correct the file and load again")


def read(path: Path) -> Document:
    """Read and detect; raises MigratorError `bad-model` or `bad-item` with the file and the line."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as exc:
        raise bad(path, "unreadable-file", str(getattr(exc, "strerror", None) or exc)) from exc
    try:
        whole = parsed(text)
    except (ValueError, RecursionError) as exc:
        return _lines(path, text, exc)
    if isinstance(whole, dict) and "DataModel" in whole:
        return _model(path, whole)
    if isinstance(whole, dict) and (requests := _batch(whole)) is not None:
        return _batch_write(path, requests)
    items = whole if isinstance(whole, list) else [whole]
    return _items(path, [(f"item {number}", item) for number, item in enumerate(items, 1)])


def _lines(path: Path, text: str, whole: Exception) -> Document:
    """JSON lines, if the first line stands alone; else the file is one JSON document with an error in it."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    items = []
    for number, line in lines:
        try:
            items.append((f"line {number}", parsed(line)))
        except (ValueError, RecursionError) as exc:
            if number == lines[0][0]:
                code = "bad-model" if '"DataModel"' in text else "bad-item"
                raise bad(path, code, _syntax(whole)) from exc
            raise bad(path, "bad-item", f"line {number}: {_syntax(exc, of_line=True)}") from exc
    if not lines:
        raise bad(path, "bad-item", "the file is empty")
    return _items(path, items)


def _syntax(error: Exception, *, of_line: bool = False) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return str(error) or "nested too deeply"
    place = f"column {error.colno}" if of_line else f"line {error.lineno}, column {error.colno}"
    return f"{place}: {error.msg}"


def _items(path: Path, items: list[tuple[str, Any]]) -> Document:
    """Exported items (`{"Item": …}`), items in wire form, or plain JSON; one form for the whole file."""
    if items and all(isinstance(item, dict) and set(item) == {"Item"} for _, item in items):
        items = [(place, item["Item"]) for place, item in items]
    convert = from_wire if all(is_wire(item) for _, item in items) else from_plain
    return Document(path, "items", (), {"": tuple(_entry(path, place, item, convert) for place, item in items)})


def _entry(path: Path, place: str, item: Any, convert: Any, *, delete: bool = False) -> Entry:
    try:
        return Entry(place, convert(item), delete)
    except MalformedError as exc:
        raise bad(path, "bad-item", f"{place}: {exc}") from exc


def _batch(whole: dict[str, Any]) -> dict[str, Any] | None:
    """The requests by table, if `whole` is a BatchWriteItem request or its RequestItems."""
    requests = whole.get("RequestItems", whole)
    found = isinstance(requests, dict) and requests and all(map(_is_writes, requests.values()))
    return requests if found else None


def _is_writes(writes: Any) -> bool:
    shaped = isinstance(writes, list) and bool(writes)
    return shaped and all(isinstance(write, dict) and set(write) in _ACTIONS for write in writes)


def _batch_write(path: Path, requests: dict[str, Any]) -> Document:
    entries = {table: tuple(_writes(path, table, writes)) for table, writes in requests.items()}
    return Document(path, "batch-write", (), entries)


def _writes(path: Path, table: str, writes: list[dict[str, Any]]) -> Iterator[Entry]:
    for number, write in enumerate(writes, 1):
        (action, content), *_ = write.items()
        member, delete = ("Key", True) if action == "DeleteRequest" else ("Item", False)
        item = content.get(member) if isinstance(content, dict) else None
        yield _entry(path, f"{table} request {number}", item, from_wire, delete=delete)


def _model(path: Path, model: dict[str, Any]) -> Document:
    tables = model["DataModel"]
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise bad(path, "bad-model", "DataModel is not a list of tables")
    entries = {}
    for number, table in enumerate(tables, 1):
        name = table.get("TableName")
        if not isinstance(name, str) or not name:
            raise bad(path, "bad-model", f"table {number} has no TableName")
        rows = table.get("TableData") or []
        if not isinstance(rows, list):
            raise bad(path, "bad-model", f"{name}: TableData is not a list")
        entries[name] = tuple(_entry(path, f"{name} row {row}", item, from_wire) for row, item in enumerate(rows, 1))
    return Document(path, "workbench-model", tuple(tables), entries)
