"""Writes of items on a table whose changes somebody reads from a stream."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.rules.standing import setting_before
from migrator.core.settings import Stream
from migrator.core.steps import DataStep


def judge(release: Release) -> Iterator[Remark]:
    """A note at the first operation of each file that writes items of such a table."""
    told = set()
    for one in release.todo():
        where = (one.migration.revision, one.alias)
        writes = any(isinstance(step, DataStep) for step in one.steps)
        stream = setting_before(release, one, Stream) if writes and where not in told else None
        if stream is not None and stream.view is not None:
            told.add(where)
            yield Remark(
                one,
                f"the {stream} of {one.alias} is on: its consumers get a record for every item that this changes, as "
                "quickly as it is written",
                "see that each consumer takes such a record twice without harm and keeps up; write_units sets the pace",
            )


RULE = Rule(
    "stream-consumers",
    Severity.NOTE,
    "Items are written on a table that has a stream.",
    judge,
)
