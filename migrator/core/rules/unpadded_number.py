"""Numbers in the text of a sort key: text sorts "10" before "9"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from migrator.core.findings import Severity
from migrator.core.item import type_of
from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.schema import Table
from migrator.core.steps import PutItems, TransformItems
from migrator.core.template import Template
from migrator.core.transform import Transform
from migrator.core.where import OneOf


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each template of a sort key that holds an attribute known as a number."""
    for one in release.todo():
        for step in one.steps:
            if not isinstance(step, TransformItems):
                continue
            for name, value in step.transform.set.items():
                # One field alone is copied with its type, and numbers sort as numbers.
                if not isinstance(value, Template) or len(value.parts) == 1 or name not in _sorted(release, one.alias):
                    continue
                numbers = sorted(value.attributes & known_numbers(release, one.alias))
                if numbers:
                    yield Remark(
                        one,
                        f"set {name}: {', '.join(numbers)} is a number, and {name} is a sort key of text: without a "
                        'fixed width "10" sorts before "9"',
                        "store it padded with zeros to a fixed width, or key the index by the number itself: "
                        f'sort_key=[…, N("{numbers[0]}")]',
                    )


def _tables(release: Release, alias: str) -> Iterator[Table]:
    """The table as it is before and after each operation."""
    for one in release.operations:
        if one.alias == alias:
            yield from (table for table in (one.table, one.after) if table is not None)


def _sorted(release: Release, alias: str) -> set[str]:
    """Attributes of text that are sort keys at any time: an index is often added after the backfill of its keys."""
    return {
        key.name
        for table in _tables(release, alias)
        for key in (
            *((table.sort_key,) if table.sort_key is not None else ()),
            *(key for index in table.indexes.values() for key in index.sort_key),
        )
        if key.type == "S"
    }


def known_numbers(release: Release, alias: str) -> set[str]:
    """Attributes that a key declares as numbers, or that a file writes or asks for as numbers."""
    declared = {
        key.name
        for table in _tables(release, alias)
        for key in (*table.key, *(key for index in table.indexes.values() for key in index.keys))
        if key.type == "N"
    }
    seen = {name for one in release.operations if one.alias == alias for name in _seen(one)}
    return declared | seen


def _seen(one: PlacedOperation) -> Iterator[str]:
    for step in one.steps:
        match step:
            case PutItems(items=items):
                yield from (name for item in items for name, value in item.items() if type_of(value) == "N")
            case TransformItems(transform=work):
                yield from _seen_in(work)
            case _:
                pass


def _seen_in(work: Transform) -> Iterator[str]:
    for name, value in work.set.items():
        if not isinstance(value, Template) and type_of(value) == "N":
            yield name
    if isinstance(work.where, Mapping):
        for name, condition in work.where.items():
            if any(map(_is_number, condition.values if isinstance(condition, OneOf) else (condition,))):
                yield name


def _is_number(value: object) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


RULE = Rule(
    "unpadded-number",
    Severity.WARNING,
    "A sort key of text holds a number without a fixed width.",
    judge,
)
