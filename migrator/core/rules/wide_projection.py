"""An index that copies whole items, and the items are large."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import CreateIndex

WIDE = 4096
"""Bytes of an item: four write units for each write of it to an index that has all of it."""


def judge(release: Release) -> Iterator[Remark]:
    """A note for each added index that projects everything of items that are large on average."""
    for one, step in release.index_changes():
        sample = release.samples.get(one.alias)
        if isinstance(step, CreateIndex) and step.index.projection.type == "ALL" and sample is not None:
            size = sample.average_bytes
            if size >= WIDE:
                yield Remark(
                    one,
                    f"index {step.index.name} projects ALL of items that have {size:,.0f} bytes on average: "
                    f"each write of an item costs some {-(-size // 1024):,.0f} write units in the index again",
                    "project what its queries return: a list of attributes, or KEYS_ONLY",
                )


RULE = Rule(
    "wide-projection",
    Severity.NOTE,
    f"An index projects ALL of items of {WIDE // 1024} KB or more.",
    judge,
)
