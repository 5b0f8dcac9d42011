"""Several index changes of one table in one release: they run one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import CreateIndex, CreateTable, DeleteIndex


def judge(release: Release) -> Iterator[Remark]:
    """One remark a table and release, at the second change."""
    groups: dict[tuple[str, str], list[tuple[PlacedOperation, str]]] = {}
    new = _new_tables(release) if release.is_one else set()
    for one, step in release.index_changes():
        if one.alias in new:
            # A new environment goes through its whole history: nobody can spread that over releases any more.
            continue
        if isinstance(step, CreateIndex | DeleteIndex):
            words = f"add {step.index.name}" if isinstance(step, CreateIndex) else f"drop {step.index}"
            within = "" if release.is_one else one.migration.revision
            groups.setdefault((one.alias, within), []).append((one, words))
    for (table, _), changes in groups.items():
        if len(changes) > 1:
            at, _ = changes[1]
            where = "release" if release.is_one else "file"
            listed = ", ".join(words for _, words in changes)
            yield Remark(
                at,
                f"{len(changes)} index changes of table {table} in one {where} ({listed}): "
                "DynamoDB does one at a time, each takes minutes to hours, and the upgrade waits for them all",
                "give each a release of its own, so that one that goes wrong holds up nothing else",
            )


def _new_tables(release: Release) -> set[str]:
    """The tables that the release itself creates, or adopts with all that came after."""
    return {one.alias for one in release.todo() for step in one.steps if isinstance(step, CreateTable)}


RULE = Rule(
    "several-index-changes",
    Severity.WARNING,
    "Several indexes of one table are added or dropped in one release.",
    judge,
    looks_across_files=True,
)
