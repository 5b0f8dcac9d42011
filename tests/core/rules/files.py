"""Migration files as values, and what one rule says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from migrator import CreateTable
from migrator.core.graph import Graph
from migrator.core.lint import Subject
from migrator.core.places import Place
from migrator.core.plan import Migration, Operation
from migrator.core.rules.release import Release, fold
from migrator.core.rules.rule import Rule
from migrator.core.schema import KeyAttribute, Schema, Table

TABLE = CreateTable(partition_key="PK", sort_key="SK")


def files(*operations: Sequence[Operation]) -> list[Migration]:
    """Files `001`, `002`, … in a line; the operations of each stand on lines 10, 11, …"""
    found: list[Migration] = []
    for number, listed in enumerate(operations, 1):
        parents = (found[-1].revision,) if found else ()
        places = tuple(Place(10 + line, 10 + line) for line in range(len(listed)))
        name = f"{number:03}"
        found.append(Migration(name, parents, tuple(listed), name, f"m/{name}.py", "v1:0", "v1:0", (), places))
    return found


def subject(migrations: Sequence[Migration], **more: object) -> Subject:
    usual = Subject(Graph(migrations), {"app": "migrator"}, "app")
    return replace(usual, **more)  # type: ignore[arg-type]


def says(
    rule: Rule,
    *operations: Sequence[Operation],
    judged: set[str] | None = None,
    is_one: bool = False,
    managers: Mapping[str, str] = {},
) -> list[tuple[str, int]]:
    """(revision, position) of each remark of the rule."""
    return [(at, place) for at, place, _ in told(rule, *operations, judged=judged, is_one=is_one, managers=managers)]


def told(
    rule: Rule,
    *operations: Sequence[Operation],
    judged: set[str] | None = None,
    is_one: bool = False,
    managers: Mapping[str, str] = {},
) -> list[tuple[str, int, str]]:
    """(revision, position, message) of each remark; the table stands already unless the first file creates it."""
    migrations = files(*operations)
    creates = any(isinstance(one, CreateTable) for one in operations[0])
    start = {} if creates else {"app": Table("app", KeyAttribute("PK"), KeyAttribute("SK"))}
    release = Release(
        fold(migrations, Schema(start, "app")),
        frozenset(judged if judged is not None else {one.revision for one in migrations}),
        is_one,
        managers,
    )
    return [
        (one.migration.revision, one.position, finding.message)
        for one, finding in rule.findings(release)
        if (finding.rule, finding.severity) == (rule.id, rule.severity)
    ]
