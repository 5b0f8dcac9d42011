"""What lint says about an operation's table and about attributes that are keys in it."""

from __future__ import annotations

from collections.abc import Iterable

from migrator.core.findings import Finding, Severity
from migrator.core.schema import Schema, Table


def error(rule: str, message: str, hint: str | None = None) -> Finding:
    return Finding(rule, Severity.ERROR, message, hint)


def warning(rule: str, message: str, hint: str | None = None) -> Finding:
    return Finding(rule, Severity.WARNING, message, hint)


def note(rule: str, message: str, hint: str | None = None) -> Finding:
    return Finding(rule, Severity.NOTE, message, hint)


def unknown_table(schema: Schema, alias: str) -> tuple[Finding, ...]:
    """An error where the schema has no such table; empty where it has."""
    resolved = schema.alias(alias)
    if resolved in schema.tables:
        return ()
    if not resolved:
        return (
            error(
                "unknown-table",
                "the operation names no table and the project has no default_table",
                "give table=ALIAS, or set default_table in migrator.toml",
            ),
        )
    known = ", ".join(sorted(schema.tables)) or "none"
    return (
        error(
            "unknown-table",
            f"no table {resolved!r} at this revision (known: {known})",
            f"add [tables.{resolved}] to migrator.toml, or a CreateTable before this revision",
        ),
    )


def table_key_written(table: Table, attributes: Iterable[str]) -> tuple[Finding, ...]:
    """An error for each attribute that is the table's key: a data step cannot move an item."""
    return tuple(
        error(
            "table-key",
            f"{name} is a key of table {table.alias}: an item's key cannot be changed in place",
            "an item under another key is another item: put the new ones and delete the old, in separate steps",
        )
        for name in sorted(set(attributes) & set(table.key_names))
    )


def leaves_index(table: Table, attributes: Iterable[str]) -> tuple[Finding, ...]:
    """A warning for each index that items leave when one of these attributes goes."""
    gone = set(attributes)
    found = []
    for name, index in sorted(table.indexes.items()):
        keys = [attribute.name for attribute in index.keys if attribute.name in gone]
        if keys:
            found.append(
                warning(
                    "leaves-index",
                    f"{', '.join(keys)} is a key of index {name}: items without it are no longer in that index",
                    f"if nothing reads {name} any more, drop it first: DropIndex({name!r})",
                )
            )
    return tuple(found)


def written_indexes(table: Table, attributes: Iterable[str] | None) -> tuple[str, ...]:
    """The indexes that a write to these attributes also writes to; None means any attribute."""
    if attributes is None:
        return tuple(sorted(table.indexes))
    written = set(attributes)
    return tuple(
        sorted(
            name
            for name, index in table.indexes.items()
            if index.projection.type == "ALL"
            or written & index.projection.attributes
            or written & {attribute.name for attribute in index.keys}
        )
    )
