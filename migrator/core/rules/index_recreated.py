"""An index changed in place: dropped and added again under its name in one file."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.schema import Index, differences
from migrator.core.steps import CreateIndex, DeleteIndex


def judge(release: Release) -> Iterator[Remark]:
    """A remark at each index that is added under the name of one that the same file drops."""
    dropped: dict[tuple[str, str, str], Index | None] = {}
    for one, step in release.index_changes():
        file, table = one.migration.revision, one.table
        if isinstance(step, DeleteIndex):
            dropped[file, one.alias, step.index] = table.indexes.get(step.index) if table is not None else None
        elif isinstance(step, CreateIndex) and (file, one.alias, step.index.name) in dropped:
            former = dropped[file, one.alias, step.index.name]
            lines = () if former is None or table is None else differences(former, step.index, table.key_names)
            # The words are of a live index and a wanted one; here the former is no longer live.
            changed = "; ".join(lines).replace("live ", "was ").replace("wanted ", "becomes ")
            name = step.index.name
            yield Remark(
                one,
                f"index {name} of {one.alias} is dropped and added again{f' ({changed})' if changed else ''}: from the "
                "drop to the end of the build every query of it fails",
                f"add it under another name, move the readers, and drop {name} in a later revision",
            )


RULE = Rule(
    "index-recreated",
    Severity.WARNING,
    "An index is changed in place: dropped and added again under its name.",
    judge,
)
