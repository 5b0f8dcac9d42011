"""A pattern followed over the revisions: which first serves it, which break it, how it stands at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from migrator.core.findings import Finding, Severity
from migrator.core.graph import Graph
from migrator.core.patterns.judge import is_get, judge, serves
from migrator.core.patterns.pattern import AccessPattern
from migrator.core.schema import Schema
from migrator.errors import UsageError


@dataclass(frozen=True, slots=True)
class Shape:
    """The tables as a revision leaves them."""

    revision: str
    path: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Broken:
    """A revision after which the pattern is not served and should be, and why."""

    revision: str
    path: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """How a pattern fares over the revisions."""

    pattern: AccessPattern
    state: Literal["served", "not-served", "retired", "unknown"]
    """At the end. "unknown": no file says what the table's key or indexes are."""
    operation: Literal["get", "query", "scan"]
    first: str = ""
    """The revision that first serves it."""
    broken: tuple[Broken, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Of the shape at the end; none for a retired pattern."""


def wanted(pattern: AccessPattern, graph: Graph) -> frozenset[str]:
    """The revisions after which it is to be served, if it ever was before. Raises `bad-patterns`."""
    try:
        every = frozenset(migration.revision for migration in graph)
        if pattern.since:
            every = graph.descendants(graph.find(pattern.since), inclusive=True)
        if pattern.until:
            every -= graph.descendants(graph.find(pattern.until), inclusive=True)
    except UsageError as exc:
        raise UsageError(
            "bad-patterns",
            f"access pattern {pattern.name}: since or until: {exc.message}",
            hint="give the id of a revision, or a unique beginning of one",
        ) from exc
    return every


def follow(
    patterns: Iterable[AccessPattern], graph: Graph, shapes: Sequence[Shape], unknown: frozenset[str] = frozenset()
) -> tuple[Course, ...]:
    """Each pattern over the shapes, which are in the graph's order. `unknown`: aliases whose key no file tells."""
    return tuple(_follow(pattern, wanted(pattern, graph), graph, shapes, unknown) for pattern in patterns)


def changes(
    patterns: Iterable[AccessPattern], before: Schema, after: Schema
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of those that the second shape newly serves, and of those that it no longer does."""
    serving, breaking = [], []
    for pattern in patterns:
        was, now = (serves(pattern, schema.tables.get(schema.alias(pattern.table))) for schema in (before, after))
        if now and not was:
            serving.append(pattern.name)
        if was and not now:
            breaking.append(pattern.name)
    return tuple(serving), tuple(breaking)


def _follow(
    pattern: AccessPattern, due: frozenset[str], graph: Graph, shapes: Sequence[Shape], unknown: frozenset[str]
) -> Course:
    start = graph.find(pattern.since) if pattern.since else ""
    first, was, broken = "", False, list[Broken]()
    for shape in shapes:
        if _is_unknown(pattern, shape.schema, unknown):
            continue
        table = shape.schema.tables.get(shape.schema.alias(pattern.table))
        now = serves(pattern, table)
        if now and not first:
            first = shape.revision
        if not now and shape.revision in due and (was or shape.revision == start):
            broken.append(Broken(shape.revision, shape.path, judge(pattern, table)))
        was = now
    last = shapes[-1] if shapes else Shape("", "", Schema())
    if pattern.until and last.revision not in due:
        return Course(pattern, "retired", _operation(pattern, last.schema), first, tuple(broken))
    operation = _operation(pattern, last.schema)
    if _is_unknown(pattern, last.schema, unknown):
        return Course(pattern, "unknown", operation, first, tuple(broken))
    findings = judge(pattern, last.schema.tables.get(last.schema.alias(pattern.table)))
    fails = any(finding.severity is Severity.ERROR for finding in findings)
    return Course(pattern, "not-served" if fails else "served", operation, first, tuple(broken), findings)


def _is_unknown(pattern: AccessPattern, schema: Schema, unknown: frozenset[str]) -> bool:
    """Whether only the live table tells. An index that a file adds is known, whatever its table."""
    alias = schema.alias(pattern.table)
    if alias not in unknown:
        return False
    table = schema.tables.get(alias)
    return table is None or not pattern.index or pattern.index not in table.indexes


def _operation(pattern: AccessPattern, schema: Schema) -> Literal["get", "query", "scan"]:
    table = schema.tables.get(schema.alias(pattern.table))
    if pattern.operation == "scan" or not pattern.key:
        return "scan"
    return "get" if table is not None and is_get(pattern, table) else "query"
