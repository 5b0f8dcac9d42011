"""Values that go for good while nothing can bring the table back to the moment before."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.plan import Plan
from migrator.core.rewrite.steps import DropOldSide, ReleaseAttributes
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.rules.standing import setting_before
from migrator.core.settings import PointInTimeRecovery
from migrator.core.steps import DeleteItems, TransformItems


def judge(release: Release) -> Iterator[Remark]:
    """A remark at each operation that removes what items hold, at once or past its gate, with recovery off."""
    for one in release.todo():
        if one.plan is None or not loses_items(one.plan):
            continue
        recovery = setting_before(release, one, PointInTimeRecovery)
        if recovery is not None and not recovery.enabled:
            yield Remark(
                one,
                f"this removes what items of {one.alias} hold, and point-in-time recovery is off: if it was wrong, no "
                "earlier state of the table can be restored",
                "SetPointInTimeRecovery(True) in an earlier revision, or a backup right before",
            )


def loses_items(plan: Plan) -> bool:
    """Whether items lose for good what they hold: past a gate, or by a step that keeps no journal of it."""
    final = TransformItems | DeleteItems | DropOldSide | ReleaseAttributes
    is_final = any(isinstance(step, final) for step in plan.on("complete"))
    return is_final or any(
        isinstance(step, TransformItems) and plan.destructive and not step.is_journalled for step in plan.apply
    )


RULE = Rule(
    "recovery-off-before-destructive",
    Severity.WARNING,
    "Items lose values on a table without point-in-time recovery.",
    judge,
)
