"""A first access_patterns.toml from a NoSQL Workbench model: facets, keys, indexes, and rows as examples."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from migrator.core.item import Item, from_json, same, to_python
from migrator.errors import UsageError

ANSWERS = 10
"""An example with more items than this is left out of the draft: nobody would read it."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_FIELD = re.compile(r"[^\[\]{}]+")
_HEADER = """\
# What the application asks. Drafted from the NoSQL Workbench model {name}: say what each
# pattern is for, give the conditions on sort keys that the application uses, and add the patterns that no index shows.
# `migrator patterns check` holds every revision to it.
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """The table or one of its indexes, with the attributes of its key."""

    index: str
    partition: tuple[str, ...]
    sort: tuple[str, ...]


def drafted_patterns(model: Path, given: Mapping[str, str], aliases: Sequence[str], default_table: str) -> str:
    """The text of the file. `given` maps tables of the model to aliases; `aliases` are those of the project.

    Raises UsageError `bad-model` where the file is no such model, `unknown-table` where a table has no alias.
    """
    content = _read(model)
    tables = [table for table in content["DataModel"] if isinstance(table, dict)]
    parts = [_HEADER.format(name=model.name)]
    taken: set[str] = set()
    for table in tables:
        name = str(table.get("TableName"))
        alias = given.get(name) or (name if name in aliases else default_table if len(tables) == 1 else "")
        if alias not in aliases:
            raise UsageError(
                "unknown-table",
                f"table {name} of the model is none of [tables] (known: {', '.join(aliases) or 'none'})",
                hint=f"say which one it is: --table {name}=ALIAS",
            )
        shown = "" if alias == default_table else alias
        try:
            parts += _table(table, shown, taken)
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise UsageError("bad-model", f"{model}: table {name} is not as NoSQL Workbench writes it: {exc}") from exc
    return "\n".join(parts)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as exc:
        raise UsageError("bad-model", f"{path} cannot be read: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:
        raise UsageError("bad-model", f"{path} is not JSON: {exc}") from exc
    if not isinstance(content, dict) or not isinstance(content.get("DataModel"), list):
        raise UsageError("bad-model", f"{path} is no NoSQL Workbench model: it has no DataModel")
    return content


def _table(table: dict[str, Any], alias: str, taken: set[str]) -> Iterator[str]:
    name = table["TableName"]
    own = _place("", table["KeyAttributes"])
    rows = [from_json(row) for row in table.get("TableData") or []]
    facets = table.get("TableFacets") or []
    for facet in facets:
        yield _facet(facet, own, rows, alias, taken)
    if not facets:
        if own.sort:
            yield _pattern(f"{name}-item", f"one item of {name}, by its whole key", own, rows, alias, taken, whole=True)
        yield _pattern(f"{name}-{own.partition[0]}", f"items of {name} by {own.partition[0]}", own, rows, alias, taken)
    for index in table.get("GlobalSecondaryIndexes") or []:
        place = _place(index["IndexName"], index["KeyAttributes"])
        keys = " and ".join(place.partition)
        yield _pattern(f"{name}-{place.index}", f"items of {name} by {keys}", place, rows, alias, taken, own=own)


def _place(index: str, keys: Mapping[str, Any]) -> _Place:
    def names(member: str) -> tuple[str, ...]:
        found = keys.get(member) or []
        return tuple(str(one["AttributeName"]) for one in (found if isinstance(found, list) else [found]))

    place = _Place(index, names("PartitionKey"), names("SortKey"))
    if not place.partition:
        raise ValueError(f"{index or 'the table'} has no PartitionKey")
    return place


def _facet(facet: Any, own: _Place, rows: Sequence[Item], alias: str, taken: set[str]) -> str:
    """A facet is what a kind of item looks like; its rows, where it has some, tell how their sort keys begin."""
    listed = [from_json(row) for row in facet.get("TableData") or []]
    aliases = facet.get("KeyAttributeAlias") or {}
    sorts = [str(to_python(row[own.sort[0]])) for row in listed if own.sort and own.sort[0] in row]
    same_prefix = _beginning(sorts)
    condition: dict[str, Any] = {}
    if sorts and len(set(sorts)) == 1:
        condition = {own.sort[0]: sorts[0]}
    elif same_prefix:
        condition = {own.sort[0]: {"begins_with": same_prefix}}
    held = {own.partition[0]: str(aliases.get("PartitionKeyAlias") or own.partition[0])}
    fitting = [
        row for row in rows or listed if not condition or str(to_python(row[own.sort[0]])).startswith(same_prefix)
    ]
    return _pattern(
        str(facet["FacetName"]), f"{facet['FacetName']} items", own, fitting, alias, taken, held=held, more=condition
    )


def _beginning(texts: Sequence[str]) -> str:
    """What all of them begin with."""
    together = ""
    for letters in zip(*texts, strict=False):
        if len(set(letters)) > 1:
            break
        together += letters[0]
    return together


def _pattern(
    name: str,
    question: str,
    place: _Place,
    rows: Sequence[Item],
    alias: str,
    taken: set[str],
    *,
    whole: bool = False,
    own: _Place | None = None,
    held: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> str:
    table = own or place
    asked = (*place.partition, *(place.sort if whole else ()))
    fields = {key: (held or {}).get(key, key) for key in asked}
    fields = {
        key: field if _FIELD.fullmatch(field) else f"value{n}" for n, (key, field) in enumerate(fields.items(), 1)
    }
    unique = name
    for number in range(2, len(taken) + 3):
        if unique not in taken:
            break
        unique = f"{name}-{number}"
    taken.add(unique)
    entries: dict[str, Any] = {"name": unique, "question": question, "holds": list(fields.values())}
    if alias:
        entries["table"] = alias
    if place.index:
        entries["index"] = place.index
    entries["key"] = {key: f"{{{field}}}" for key, field in fields.items()} | dict(more or {})
    if whole:
        entries["expect"] = "0..1"
    lines = ["[[pattern]]", *(f"{key} = {_inline(value)}" for key, value in entries.items())]
    example = _example(place, table, rows, fields)
    if example is not None:
        lines += ["", "[[pattern.example]]", *(f"{key} = {_inline(value)}" for key, value in example.items())]
    return "\n".join(lines) + "\n"


def _example(place: _Place, table: _Place, rows: Sequence[Item], fields: Mapping[str, str]) -> dict[str, Any] | None:
    """The value under which most rows stand, with them in order; and a row that is not in a sparse index."""
    keys = (*place.partition, *place.sort)
    inside = [row for row in rows if all(key in row for key in keys)]
    groups = [[row for row in inside if all(same(row[key], first[key]) for key in fields)] for first in inside]
    groups = [group for group in groups if len(group) <= ANSWERS]
    if not groups:
        return None
    largest = max(groups, key=lambda group: len(group))
    chosen = sorted(largest, key=lambda row: [_order(row[key]) for key in place.sort])
    key_names = (*table.partition, *table.sort)
    example: dict[str, Any] = {
        "given": {field: to_python(chosen[0][key]) for key, field in fields.items()},
        "answer": [{name: to_python(row[name]) for name in key_names} for row in chosen],
    }
    if outside := [row for row in rows if not all(key in row for key in keys)]:
        example["absent"] = [{name: to_python(outside[0][name]) for name in key_names}]
    return example


def _order(value: Any) -> Any:
    plain = to_python(value)
    return plain.encode() if isinstance(plain, str) else plain


def _inline(value: Any) -> str:
    """A TOML value in one line."""
    match value:
        case Mapping():
            return "{ " + ", ".join(f"{_key(name)} = {_inline(entry)}" for name, entry in value.items()) + " }"
        case [Mapping(), *_]:
            return "[\n" + "".join(f"    {_inline(entry)},\n" for entry in value) + "]"
        case list():
            return "[" + ", ".join(map(_inline, value)) + "]"
        case Decimal():
            return str(value)
        case bytes():
            return _inline({"base64": base64.b64encode(value).decode()})
        case _:
            return _toml(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    # Here: checksums are taken by every Python, those without this library included.
    import tomli_w

    return tomli_w.dumps({"v": value}).removeprefix("v = ").strip()
