"""Two rewrites in one revision, or a rewrite beside data steps on the tables that it rewrites."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rewrite.steps import PrepareRewrite, RewriteStep
from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import DataStep, tables_of


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each further rewrite of a file, and for each operation that works on the items of one."""
    files: dict[str, list[PlacedOperation]] = {}
    for one in release.todo():
        files.setdefault(one.migration.revision, []).append(one)
    for operations in files.values():
        rewriting = [one for one in operations if _rewritten(one)]
        for one in rewriting[1:]:
            yield Remark(
                one,
                f"{_name(rewriting[0])} and {_name(one)} in one revision: its phases are those of one rewrite",
                "one file for each, and the first through `migrator contract` before the second; or, within one table, "
                "RewriteKeys with several forms=",
            )
        for one in operations if rewriting else ():
            shared = sorted(_rewritten(rewriting[0]) & _worked_on(one))
            if shared:
                yield Remark(
                    one,
                    f"{_name(one)} changes items of {', '.join(shared)}, which {_name(rewriting[0])} rewrites in the "
                    "same revision: what it writes before the rewrite has ended would be on one side alone",
                    "a revision of its own, before the rewrite begins or after it has ended",
                )


def _rewritten(one: PlacedOperation) -> frozenset[str]:
    """The aliases of the tables that an operation rewrites."""
    return frozenset(alias for step in one.steps if isinstance(step, PrepareRewrite) for alias in step.rewrite.tables)


def _worked_on(one: PlacedOperation) -> frozenset[str]:
    """The aliases of the tables whose items an operation changes, but for a rewrite."""
    every = one.plan.steps if one.plan is not None else ()
    return frozenset(
        one.before.alias(alias)
        for step in every
        if isinstance(step, DataStep) and not isinstance(step, RewriteStep)
        for alias in tables_of(step)
    )


def _name(one: PlacedOperation) -> str:
    return type(one.operation).__name__


RULE = Rule(
    "rewrite-not-alone",
    Severity.ERROR,
    "A key rewrite shares its revision with another one, or with data steps on its tables.",
    judge,
)
