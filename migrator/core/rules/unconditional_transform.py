"""A backfill that speaks of every item, of whatever kind, in a table that holds several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import DeleteItems, Step, TransformItems
from migrator.core.template import Template


def judge(release: Release) -> Iterator[Remark]:
    """A note for each step without `where` whose templates need attributes, or whose function sees every item.

    That a table holds several kinds of items is known where other steps of the files select some of them.
    """
    kinds = {one.alias for one in release.operations if any(map(_selects, one.steps))}
    for one in release.todo():
        if one.alias not in kinds:
            continue
        for step in one.steps:
            if not isinstance(step, TransformItems) or step.transform.where or step.label != "backfill":
                continue
            work = step.transform
            reads = sorted(
                {name for value in work.set.values() if isinstance(value, Template) for name in value.attributes}
            )
            if work.function is not None:
                said = f"{getattr(work.function, '__name__', 'the function')}() is called for it"
            elif reads and work.missing == "fail":
                said = f"one that lacks {' or '.join(reads)} fails"
            else:
                continue
            yield Remark(
                one,
                f"without where= the backfill takes every item of {one.alias}, of whatever kind: {said}",
                'say which items are meant, such as where={"entity": "Task"}, or missing="skip" for those without',
            )


def _selects(step: Step) -> bool:
    match step:
        case TransformItems(transform=work):
            return isinstance(work.where, Mapping) and bool(work.where)
        case DeleteItems(where=where):
            return isinstance(where, Mapping)
        case _:
            return False


RULE = Rule(
    "unconditional-transform",
    Severity.NOTE,
    "A backfill has no `where`.",
    judge,
)
