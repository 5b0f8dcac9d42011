"""A provisioned index that takes fewer writes than its table."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.schema import Table


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each index whose write units an operation leaves below the table's."""
    for one in release.todo():
        table = one.after
        if table is None or table.provisioned is None:
            continue
        for name in sorted(_below(table) - (_below(one.table) if one.table is not None else set())):
            index = table.indexes[name].provisioned
            yield Remark(
                one,
                f"index {name} of {one.alias} has {index.write if index else 0} write units and the table "
                f"{table.provisioned.write}: an index that cannot keep up throttles the writes of its table",
                f"give {name} at least {table.provisioned.write} write units, unless few items have its keys",
            )


def _below(table: Table) -> set[str]:
    """The indexes with fewer write units than the table."""
    own = table.provisioned
    if table.billing_mode != "PROVISIONED" or own is None:
        return set()
    return {
        name
        for name, index in table.indexes.items()
        if index.provisioned is not None and index.provisioned.write < own.write
    }


RULE = Rule(
    "index-write-capacity",
    Severity.WARNING,
    "A provisioned index has fewer write units than its table.",
    judge,
)
