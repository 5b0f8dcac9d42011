"""A step without a way back that does not say so in the file."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import TransformItems


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each irreversible operation but those that are written with `undo="none"`."""
    for one in release.todo():
        if one.plan is None or one.plan.irreversible is None:
            continue
        if any(isinstance(step, TransformItems) and step.undo == "none" for step in one.steps):
            continue
        yield Remark(
            one,
            f"a downgrade cannot take this back, and the file does not say so: {one.plan.irreversible}",
            "give it a way back (undo=), or allow this rule with the reason why none is needed",
        )


RULE = Rule(
    "irreversible-step",
    Severity.WARNING,
    "A step has no way back, and its file does not say so.",
    judge,
)
