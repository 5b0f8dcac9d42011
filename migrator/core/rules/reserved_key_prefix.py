"""Keys that look like those of control records."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.rules.written import written_texts


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each value that begins with the reserved prefix."""
    for one in release.todo():
        for step in one.steps:
            for written in written_texts(step):
                if written.begins and written.text.startswith(release.reserved):
                    yield Remark(
                        one,
                        f"{written.where}: {written.text!r} begins with {release.reserved}, which marks the records of "
                        "this tool: an item with such a partition key is passed over by every step",
                        "choose another beginning, or another [control] key_prefix before the first upgrade",
                    )


RULE = Rule(
    "reserved-key-prefix",
    Severity.WARNING,
    "A value begins with the prefix that is reserved for control records.",
    judge,
)
