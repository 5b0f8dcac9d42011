"""What lint says about an index on a table: rules and limits of the service, checked before the first call."""

from __future__ import annotations

import re

from migrator.core.findings import Finding
from migrator.core.schema import Index, KeyAttribute, KeyType, Table
from migrator.operations.tables import error

MAX_INDEXES = 20
MAX_PARTITION_ATTRIBUTES = 4
MAX_SORT_ATTRIBUTES = 4
MAX_PROJECTED_PER_INDEX = 20
MAX_PROJECTED_PER_TABLE = 100
MAX_KEY_NAME_BYTES = 255
_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}")


def index_findings(table: Table, index: Index) -> tuple[Finding, ...]:
    """Everything that would make the service refuse `index` as an addition to `table`."""
    return (
        *_name(index),
        *_keys(index),
        *_types(table, index),
        *_counts(table, index),
        *throughput_findings(table, index),
    )


def _name(index: Index) -> tuple[Finding, ...]:
    if _NAME.fullmatch(index.name):
        return ()
    return (error("index-name", f"index name {index.name!r}: 3 to 255 characters of a-z A-Z 0-9 _ . - are allowed"),)


def _keys(index: Index) -> tuple[Finding, ...]:
    found = []
    if not index.partition_key:
        found.append(error("no-partition-key", f"index {index.name} has no partition key attribute"))
    for part, attributes, most in (
        ("partition", index.partition_key, MAX_PARTITION_ATTRIBUTES),
        ("sort", index.sort_key, MAX_SORT_ATTRIBUTES),
    ):
        if len(attributes) > most:
            found.append(
                error(
                    "too-many-key-attributes",
                    f"index {index.name} has {len(attributes)} {part} key attributes: {most} are the most",
                )
            )
    listed = [attribute.name for attribute in index.keys]
    found += [
        error("repeated-key-attribute", f"index {index.name} has {name!r} twice in its key")
        for name in sorted({name for name in listed if listed.count(name) > 1})
    ]
    found += [
        error("key-attribute-name", f"index {index.name}: a key attribute's name has 1 to 255 bytes, not {name!r}")
        for name in listed
        if not 1 <= len(name.encode()) <= MAX_KEY_NAME_BYTES
    ]
    return tuple(found)


def key_types(table: Table) -> dict[str, tuple[KeyType, str]]:
    """Attribute -> (type, whose key it is) over the table and its indexes."""
    known: dict[str, tuple[KeyType, str]] = {key.name: (key.type, f"table {table.alias}") for key in table.key}
    for name, index in sorted(table.indexes.items()):
        for key in index.keys:
            known.setdefault(key.name, (key.type, f"index {name}"))
    return known


def _types(table: Table, index: Index) -> tuple[Finding, ...]:
    known = key_types(table.without_index(index.name))
    found: list[Finding] = []
    seen: dict[str, KeyAttribute] = {}
    for key in index.keys:
        other = known.get(key.name)
        if other is not None and other[0] != key.type:
            found.append(
                error(
                    "attribute-type-conflict",
                    f"index {index.name} wants {key.name} as {key.type}, {other[1]} has it as {other[0]}",
                    "an attribute has one type over a table and all its indexes: use another attribute",
                )
            )
        elif seen.setdefault(key.name, key) != key:
            found.append(error("attribute-type-conflict", f"index {index.name} has {key.name} with two types"))
    return tuple(found)


def _counts(table: Table, index: Index) -> tuple[Finding, ...]:
    found = []
    others = table.without_index(index.name).indexes
    if len(others) >= MAX_INDEXES:
        found.append(
            error(
                "too-many-indexes",
                f"no room for index {index.name}: {table.alias} has {len(others)}, and {MAX_INDEXES} are the most",
                "drop one that nothing reads, in an earlier revision",
            )
        )
    own = len(index.projection.attributes)
    if own > MAX_PROJECTED_PER_INDEX:
        found.append(
            error(
                "too-many-projected-attributes",
                f"index {index.name} lists {own} projected attributes: {MAX_PROJECTED_PER_INDEX} are the most",
                'key attributes need no listing; projection="ALL" has no such limit',
            )
        )
    total = own + sum(len(other.projection.attributes) for other in others.values())
    if total > MAX_PROJECTED_PER_TABLE:
        found.append(
            error(
                "too-many-projected-attributes",
                f"with index {index.name} the indexes of {table.alias} list {total} projected attributes: "
                f"{MAX_PROJECTED_PER_TABLE} are the most, one listed twice counts twice",
            )
        )
    return tuple(found)


def throughput_findings(table: Table, index: Index, *, creates: bool = True) -> tuple[Finding, ...]:
    """Whether the index's throughput goes with the table's billing mode (facts §1.8)."""
    if table.billing_mode == "PAY_PER_REQUEST":
        if index.provisioned is not None:
            return (
                error(
                    "wrong-billing-mode",
                    f"index {index.name} asks for provisioned units, and table {table.alias} is on demand",
                    "leave provisioned out; on_demand_maximum caps an index of an on-demand table",
                ),
            )
        return ()
    if index.on_demand_maximum is not None:
        return (
            error(
                "wrong-billing-mode",
                f"index {index.name} asks for an on-demand maximum, and table {table.alias} is provisioned",
                "give provisioned=(read, write) instead",
            ),
        )
    if creates and index.provisioned is None:
        return (
            error(
                "throughput-missing",
                f"table {table.alias} is provisioned, so index {index.name} needs units of its own",
                "give provisioned=(read, write); an index written too slowly throttles its table's writes",
            ),
        )
    return ()
