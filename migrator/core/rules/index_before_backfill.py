"""An index built before the backfill that gives items its keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from migrator.core.findings import Severity
from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import CreateIndex, TransformItems
from migrator.core.transform import Transform


def judge(release: Release) -> Iterator[Remark]:
    """A remark where a backfill sets keys of an index that stands already, and none set them before it."""
    for place, one in enumerate(release.operations):
        for step in one.steps:
            if isinstance(step, CreateIndex):
                yield from _judge_index(release, place, one, step)


def _judge_index(release: Release, place: int, one: PlacedOperation, step: CreateIndex) -> Iterator[Remark]:
    keys = {key.name for key in step.index.keys}
    keys -= _given(release.operations[:place], one.alias)
    for later in release.operations[place + 1 :]:
        if later.alias != one.alias or later.table is None or step.index.name not in later.table.indexes:
            continue
        late = sorted(keys & _given([later], one.alias))
        if not late:
            continue
        keys -= set(late)
        # In one file the order is what is wrong; later on, it is the backfill that somebody is writing now.
        at = one if later.migration is one.migration else later
        if at.migration.revision in release.judged:
            noun = "key" if len(late) == 1 else "keys"
            yield Remark(
                at,
                f"index {step.index.name} of {one.alias} is built before the backfill that sets its "
                f"{noun} {', '.join(late)}: until that is done its queries miss items, and each write of the backfill "
                "is paid for in the index too",
                "put the backfill first and the index after it: the build then takes the items as they are",
            )


def _given(operations: Sequence[PlacedOperation], alias: str) -> set[str]:
    """The attributes that these operations give to items that stand in the table."""
    return {
        name
        for one in operations
        if one.alias == alias
        for step in one.steps
        if isinstance(step, TransformItems)
        for name in _targets(step.transform)
    }


def _targets(work: Transform) -> set[str]:
    return {*work.set, *work.rename.values(), *work.copy.values()}


RULE = Rule(
    "index-before-backfill",
    Severity.WARNING,
    "An index is added before the backfill that gives items its keys.",
    judge,
)
