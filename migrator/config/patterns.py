"""access_patterns.toml as access patterns: read as strictly as the configuration."""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast

from migrator.config.keys import Section
from migrator.core.item import AttributeValue, from_python
from migrator.core.patterns.pattern import AccessPattern, Answer, Cardinality, Condition, Example, Operand
from migrator.core.patterns.question import OPERATORS, Operator
from migrator.core.template import Template
from migrator.errors import MigratorError, UsageError

FILE_NAME = "access_patterns.toml"
_KEYS = (
    "name", "question", "table", "index", "operation", "holds", "key", "filter", "order", "limit", "expect", "returns",
    "consistent", "since", "until", "show", "example",
)  # fmt: skip
_HEADER = re.compile(r"\s*\[\[\s*pattern\s*\]\]")
_CARDINALITY = re.compile(r"(\d+)(?:\.\.(\d*))?", re.ASCII)


def read_patterns(path: Path) -> tuple[AccessPattern, ...]:
    """The patterns of the file, in its order. Raises UsageError `no-patterns` or `bad-patterns`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise UsageError(
            "no-patterns",
            f"{path} cannot be read: {exc.strerror}",
            hint="`migrator patterns init MODEL.json` drafts one; access_patterns in migrator.toml names another file",
        ) from exc
    except ValueError as exc:
        raise UsageError("bad-patterns", f"{path} is not UTF-8") from exc
    return parse_patterns(path, text)


def parse_patterns(path: Path, text: str) -> tuple[AccessPattern, ...]:
    """The patterns that a text declares; `path` is for messages. Raises UsageError `bad-patterns`."""
    try:
        entries = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as exc:
        raise UsageError("bad-patterns", f"{path} is not TOML: {exc}") from exc
    top = Section(path, (), entries, "bad-patterns")
    top.only(("show", "pattern"))
    show = _template(top, "show")
    sections = top.list_of_sections("pattern")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]
    if len(lines) != len(sections):  # one stands inside a text, or the patterns are written inline
        lines = [1] * len(sections)
    patterns: list[AccessPattern] = []
    for section, line in zip(sections, lines, strict=True):
        pattern = _pattern(section, show, line)
        if pattern.name in {one.name for one in patterns}:
            raise section.bad("name", f"two patterns are called {pattern.name!r}", "give each a name of its own")
        patterns.append(pattern)
    return tuple(patterns)


def _pattern(section: Section, show: Template | None, line: int) -> AccessPattern:
    section.only(_KEYS)
    name = section.text("name")
    if name is None:
        raise section.bad("name", "missing: what the pattern is called", 'such as name = "AP1"')
    pattern = AccessPattern(
        name,
        section.text("question") or "",
        section.text("table") or "",
        section.text("index") or "",
        cast(Literal["", "get", "query", "scan"], section.choice("operation", ("get", "query", "scan"), "")),
        section.names("holds"),
        tuple(_conditions(section.section("key"))),
        tuple(_conditions(section.section("filter"))),
        cast(Literal["", "ascending", "descending"], section.choice("order", ("ascending", "descending"), "")),
        section.integer("limit", 1),
        _cardinality(section),
        section.names("returns"),
        section.flag("consistent"),
        section.text("since") or "",
        section.text("until") or "",
        _template(section, "show") or show,
        line=line,
    )
    examples = tuple(_example(one, pattern) for one in section.list_of_sections("example"))
    return replace(pattern, examples=examples)


def _cardinality(section: Section) -> Cardinality:
    if isinstance(section.entries.get("expect"), int):
        number = section.integer("expect", 0) or 0
        return Cardinality(number, number)
    text = section.text("expect")
    if text is None or text == "many":
        return Cardinality()
    match = _CARDINALITY.fullmatch(text)
    if match is None:
        raise section.bad("expect", f"{text!r} is no number of items", 'such as 1, "0..1", "1..100", "1.." or "many"')
    least = int(match[1])
    most = least if match[2] is None else int(match[2]) if match[2] else None
    if most is not None and most < least:
        raise section.bad("expect", f"{text!r} ends below its beginning")
    return Cardinality(least, most)


# --- conditions -------------------------------------------------------------------------------------------------------


def _conditions(section: Section) -> Iterator[Condition]:
    for attribute, value in section.entries.items():
        if not isinstance(value, dict) or set(value) == {"base64"}:
            yield Condition(attribute, "=", (_operand(section, attribute, value),))
            continue
        inner = section.section(attribute)
        inner.only(OPERATORS)
        if len(value) != 1:
            raise section.bad(
                attribute, "one comparison, please: a key attribute takes one", "a range of two bounds is between"
            )
        ((operator, given),) = value.items()
        operands = given if operator == "between" else [given]
        if not isinstance(operands, list) or (operator == "between" and len(operands) != 2):
            raise inner.bad(operator, "takes a list of two values, the lower one first")
        yield Condition(
            attribute, cast(Operator, operator), tuple(_operand(inner, operator, operand) for operand in operands)
        )


def _operand(section: Section, key: str, value: Any) -> Operand:
    if not isinstance(value, str):
        return _value(section, key, value)
    template = _parsed(section, key, value)
    if template.references:
        return template
    return {"S": "".join(part for part in template.parts if isinstance(part, str))}


def _template(section: Section, key: str) -> Template | None:
    text = section.text(key)
    return None if text is None else _parsed(section, key, text)


def _parsed(section: Section, key: str, text: str) -> Template:
    try:
        return Template.parse(text)
    except UsageError as exc:
        raise section.bad(key, exc.message, exc.hint) from exc


# --- examples ---------------------------------------------------------------------------------------------------------


def _example(section: Section, pattern: AccessPattern) -> Example:
    section.only(("given", "answer", "absent"))
    given = {name: _value(section, "given", value) for name, value in section.section("given").entries.items()}
    if stray := sorted(set(given) - set(pattern.holds)):
        raise section.bad("given", f"{pattern.name} does not hold {', '.join(stray)}", "add it to holds =")
    if absent := [name for name in pattern.holds if name not in given]:
        raise section.bad("given", f"{', '.join(absent)} of holds is not given")
    answer = None if "answer" not in section.entries else tuple(_answers(section, "answer", pattern))
    return Example(given, answer, tuple(_answers(section, "absent", pattern)))


def _answers(section: Section, key: str, pattern: AccessPattern) -> Iterator[Answer]:
    found = section.entries.get(key, [])
    if not isinstance(found, list):
        raise section.bad(key, "expected a list: items as texts, or as some of their attributes")
    for entry in found:
        if isinstance(entry, dict):
            yield {name: _value(section, key, value) for name, value in entry.items()}
        elif not isinstance(entry, str):
            raise section.bad(key, f"{entry!r} is neither a text nor a table of attributes")
        elif pattern.show is None:
            raise section.bad(
                key, f"how is an item {entry!r}? No show = says how to write one", 'show = "{entity}:{id}", for example'
            )
        else:
            yield entry


def _value(section: Section, key: str, value: Any) -> AttributeValue:
    try:
        return from_python(_decoded(value))
    except (MigratorError, binascii.Error) as exc:
        raise section.bad(key, f"{value!r} is no value that an item can hold: {exc}") from exc


def _decoded(value: Any) -> Any:
    """`{ base64 = "…" }` is binary, on any level."""
    match value:
        case {"base64": str(text)} if len(value) == 1:
            return base64.b64decode(text, validate=True)
        case Mapping():
            return {name: _decoded(entry) for name, entry in value.items()}
        case list():
            return [_decoded(entry) for entry in value]
        case _:
            return value
