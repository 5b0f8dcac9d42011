"""Loading of models and items from files into tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from migrator.errors import MigratorError, ServiceError
from migrator.sandbox.load.documents import Format, read
from migrator.sandbox.load.models import create_request
from migrator.sandbox.load.writing import TableKey, create, key_of, write

__all__ = ["LoadReport", "LoadedTable", "load_file"]


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """What was done to one table: whether it was made, and how many items were put and deleted."""

    name: str
    created: bool
    put: int
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What was loaded from one file."""

    path: Path
    format: Format
    tables: tuple[LoadedTable, ...]

    @property
    def items(self) -> int:
        return sum(table.put for table in self.tables)


def load_file(
    client: Any,
    path: str | Path,
    *,
    table: str | None = None,
    tables: Mapping[str, str] | None = None,
    with_indexes: bool = True,
) -> LoadReport:
    """Load a file through a boto3 DynamoDB client; an item that exists is overwritten.

    Knows NoSQL Workbench models (tables are made if absent, with their indexes unless `with_indexes` is
    False), BatchWriteItem request files, exported items and items in wire form or plain JSON (one a line, or
    an array; gzip too). `tables` maps names in the file to names of the service; `table` is the name for a
    file with one table or none. Raises MigratorError: `bad-model` and `bad-item` name the file and the place.
    """
    document = read(Path(path))
    names = _names(document.path, list(document.entries), table, tables or {})
    report: list[LoadedTable] = []
    try:
        created = set()
        for model in document.tables:
            name = names[model["TableName"]]
            request = create_request(document.path, model, name, with_indexes=with_indexes)
            if create(client, document.path, request):
                created.add(name)
        keys: dict[str, TableKey] = {name: key_of(client, name) for name in names.values()}
        for source, entries in document.entries.items():
            keys[names[source]].check(document.path, entries)
        for source, entries in document.entries.items():
            name = names[source]
            write(client, document.path, keys[name], entries)
            deleted = sum(entry.delete for entry in entries)
            report.append(LoadedTable(name, name in created, len(entries) - deleted, deleted))
    except (ClientError, BotoCoreError) as exc:
        raise ServiceError(
            "load-refused", f"{document.path}: {exc}", hint="load the file again: it overwrites"
        ) from exc
    return LoadReport(document.path, document.format, tuple(report))


def _names(path: Path, sources: list[str], table: str | None, tables: Mapping[str, str]) -> dict[str, str]:
    """The service's table name for each name in the file."""
    unknown = [name for name in tables if name not in sources]
    if unknown:
        known = ", ".join(name for name in sources if name) or "none"
        raise MigratorError("unknown-table", f"{path} has no table {unknown[0]}", hint=f"tables in the file: {known}")
    if table is not None and len(sources) > 1:
        hint = "map each of them with `tables`, or leave `table` away"
        raise MigratorError("several-tables", f"{path} has several tables: {', '.join(sources)}", hint=hint)
    names = {source: tables.get(source) or table or source for source in sources}
    if "" in names.values():
        raise MigratorError(
            "table-missing", f"{path} holds items and names no table", hint="say which with --table NAME"
        )
    return names
