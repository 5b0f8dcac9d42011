"""PutItems: items that the application needs to find, put where none are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.item import MAX_ITEM_BYTES, Item, fingerprint, item_size, key_of, key_text
from migrator.core.plan import Plan
from migrator.core.schema import Schema, Table
from migrator.core.transform import index_key_problem
from migrator.errors import UsageError
from migrator.operations.arguments import assign, attribute_name, constant
from migrator.operations.tables import error, unknown_table, written_indexes


@dataclass(frozen=True, slots=True, init=False)
class PutItems:
    """Put items, given as Python values, where none are: never over an item that stands there.

    An equal one is adopted, a different one is a failed item. The way back deletes those that are still as put.
    """

    items: tuple[Item, ...]
    table: str = ""

    def __init__(self, items: Iterable[Mapping[str, Any]], *, table: str = ""):
        given = (items,) if isinstance(items, Mapping) else tuple(items)
        if not given:
            raise UsageError("nothing-to-do", "PutItems: no item is given")
        assign(self, items=tuple(_wire(number, item) for number, item in enumerate(given, 1)), table=table)

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        found: list[Finding] = []
        seen: dict[str, int] = {}
        for number, item in enumerate(self.items, 1):
            problems = _item_findings(table, number, item)
            found += problems
            if any(name not in item for name in table.key_names):
                continue
            key = key_of(item, table.key_names)
            first = seen.setdefault(fingerprint(key), number)
            if first != number:
                found.append(error("duplicate-key", f"items {first} and {number} have the same key: {key_text(key)}"))
        return tuple(found)

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        step = steps.PutItems(table.alias, self.items)
        indexes = written_indexes(table, None)
        return Plan(
            after=schema,
            apply=(step,),
            rollback=(steps.UndoItems(table.alias, of=step, step=0),),
            notes=(f"items with the keys of {', '.join(indexes)} are written there too",) if indexes else (),
        )


def _wire(number: int, item: Mapping[str, Any]) -> Item:
    if not isinstance(item, Mapping):
        raise UsageError("bad-item", f"PutItems: item {number} is a {type(item).__name__}, not a dict of attributes")
    for name in item:
        attribute_name(f"PutItems: item {number}", name)
    return {name: constant(f"item {number}, {name}", value) for name, value in item.items()}


def _item_findings(table: Table, number: int, item: Item) -> list[Finding]:
    found = []
    for attribute, role in zip(table.key, ("partition", "sort"), strict=False):
        value = item.get(attribute.name)
        if value is None:
            found.append(error("key-missing", f"item {number} lacks {attribute.name}, a key of table {table.alias}"))
            continue
        problem = index_key_problem(value, attribute.type, "partition" if role == "partition" else "sort")
        if problem is not None:
            code = problem[0].replace("index-key", "key")
            found.append(
                error(code, f"item {number}, {attribute.name}: {problem[1]}, and it is the table's {role} key")
            )
    for name, uses in sorted(table.index_key_types().items()):
        if name in table.key_names or name not in item:
            continue
        for index, (kind, index_role) in sorted(uses.items()):
            problem = index_key_problem(item[name], kind, index_role)
            if problem is not None:
                found.append(
                    error(problem[0], f"item {number}, {name}: {problem[1]}, and it is a key of index {index}")
                )
    size = item_size(item)
    if size > MAX_ITEM_BYTES:
        found.append(error("item-too-large", f"item {number} has {size} bytes: {MAX_ITEM_BYTES} are the most"))
    return found
