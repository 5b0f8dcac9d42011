"""An index that copies whole items, on a table that has many indexes."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import CreateIndex

MANY = 5
"""Indexes of a table from which on another whole copy of each item is worth a thought."""


def judge(release: Release) -> Iterator[Remark]:
    """A note for each added index that projects everything where there are many."""
    for one, step in release.index_changes():
        if not isinstance(step, CreateIndex) or step.index.projection.type != "ALL" or one.after is None:
            continue
        count = len(one.after.indexes)
        if count >= MANY:
            yield Remark(
                one,
                f"index {step.index.name} is the {count}th of {one.alias} and projects ALL: a change of any attribute "
                "of an item is then written to every such index, and paid for in each",
                "project what its queries return: a list of attributes, or KEYS_ONLY",
            )


RULE = Rule(
    "projection-all",
    Severity.NOTE,
    f"An index projects ALL on a table with {MANY} indexes or more.",
    judge,
)
