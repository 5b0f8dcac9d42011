"""A step that removes what items hold and keeps nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import TransformItems
from migrator.core.transform import Transform


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each data step with `undo="none"` that removes attributes, or may."""
    for one in release.todo():
        for step in one.steps:
            if isinstance(step, TransformItems) and step.undo == "none" and (gone := _gone(step.transform)):
                yield Remark(
                    one,
                    f"{gone} from items of {one.alias} and nothing keeps the values: only a backup brings them back",
                    'leave out undo="none": the journal costs one write an item and is the way back',
                )


def _gone(work: Transform) -> str:
    """What goes, as the beginning of a sentence; "" where nothing does."""
    if work.function is not None:
        return f"{getattr(work.function, '__name__', 'the function')}() may remove attributes"
    names = sorted({*work.remove, *work.rename})
    return f"{', '.join(names)} {'goes' if len(names) == 1 else 'go'}" if names else ""


RULE = Rule(
    "destructive-without-journal",
    Severity.WARNING,
    "A step removes values and keeps no journal of them.",
    judge,
)
