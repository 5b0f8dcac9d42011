"""A stream on the table that keeps the control records: its consumers would meet them."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.settings import Stream
from migrator.core.steps import ChangeSetting, CreateTable, Step


def judge(release: Release) -> Iterator[Remark]:
    """A remark at each operation that switches a stream on there."""
    for one in release.todo():
        if release.control and one.alias == release.control and any(map(_starts_stream, one.steps)):
            yield Remark(
                one,
                f"table {one.alias} holds the history and the lock, and this switches a stream on: each beat of the "
                "lock would be a record that its consumers must parse, so the upgrade is refused",
                'give them a table of their own before the first upgrade, [control] name = "{stage}-migrator"; or '
                "allow_stream = true",
            )


def _starts_stream(step: Step) -> bool:
    match step:
        case ChangeSetting(setting=Stream(view=view)):
            return view is not None
        case CreateTable(settings=settings):
            return any(isinstance(setting, Stream) and setting.view is not None for setting in settings)
        case _:
            return False


RULE = Rule(
    "control-records-in-stream",
    Severity.WARNING,
    "A stream is switched on for the table that holds the control records.",
    judge,
)
