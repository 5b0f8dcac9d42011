"""The drop of an index that no release before it gave readers a way to leave."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import CreateIndex, CreateTable, DeleteIndex


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each drop without an index that an earlier file added in its place."""
    for place, one in enumerate(release.operations):
        if one.migration.revision not in release.judged:
            continue
        for step in one.steps:
            if isinstance(step, DeleteIndex):
                yield from _judge_drop(release, place, one, step.index)


def _judge_drop(release: Release, place: int, one: PlacedOperation, dropped: str) -> Iterator[Remark]:
    if one.table is None or (dropped not in one.table.indexes and _is_created(release, one.alias)):
        return  # `unknown-index` says so
    beside = [
        other
        for other in release.operations
        if other.alias == one.alias and other.migration is one.migration and other is not one
    ]
    added_beside = [name for other in beside for name in _added(other)]
    if dropped in added_beside:
        return  # `index-recreated` says so
    if _replacements(release.operations[:place], one, dropped):
        return
    table = one.alias
    if added_beside:
        yield Remark(
            one,
            f"index {dropped} of {table} is dropped in the file that adds {', '.join(added_beside)}: no release lies "
            "between them in which the readers could move",
            f"drop {dropped} in a later revision, once every running version of the application reads the new index",
        )
        return
    yield Remark(
        one,
        f"index {dropped} of {table} is dropped, and no earlier revision adds one in its place: queries of it fail as "
        "soon as its deletion begins",
        f"if nothing reads {dropped} any more, say how you know: allow this rule with a reason",
    )


def _replacements(earlier: tuple[PlacedOperation, ...], one: PlacedOperation, dropped: str) -> list[str]:
    """The indexes that files before this one added after the dropped one, and that still stand."""
    standing = one.table.indexes if one.table is not None else {}
    found: list[str] = []
    born = None
    for other in earlier:
        if other.alias != one.alias or other.migration is one.migration or other.migration is born:
            continue
        if dropped in _added(other) or dropped in _made_with_table(other):
            # What came before it or with it was there for something else.
            found.clear()
            born = other.migration
            continue
        found += [name for name in _added(other) if name in standing]
    return found


def _added(one: PlacedOperation) -> list[str]:
    return [step.index.name for step in one.steps if isinstance(step, CreateIndex)]


def _made_with_table(one: PlacedOperation) -> list[str]:
    return [name for step in one.steps if isinstance(step, CreateTable) for name in step.shape.indexes]


def _is_created(release: Release, alias: str) -> bool:
    """Whether a migration creates the table, so that its indexes are all known."""
    return any(
        isinstance(step, CreateTable) and other.alias == alias for other in release.operations for step in other.steps
    )


RULE = Rule(
    "drop-not-retired",
    Severity.WARNING,
    "An index is dropped without an earlier revision that adds its replacement.",
    judge,
)
