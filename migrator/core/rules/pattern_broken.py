"""A change after which the application's own question can no longer be asked."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.patterns.judge import serves
from migrator.core.patterns.pattern import AccessPattern
from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import DeleteIndex


def judge(release: Release) -> Iterator[Remark]:
    """A remark at each operation after which declared access patterns are not served any more."""
    for one in release.todo():
        broken = [
            pattern
            for pattern in release.patterns.get(one.migration.revision, ())
            if one.before.alias(pattern.table) == one.alias and one.plan is not None and _breaks(one, pattern)
        ]
        if broken:
            named = "; ".join(f"{one.name} ({one.question})" if one.question else one.name for one in broken)
            verb = "asks" if len(broken) == 1 else "ask"
            yield Remark(
                one,
                f"access pattern {named} {verb} {broken[0].place} of {one.alias} and cannot be served any more after "
                "this: its reads fail",
                "move the pattern to what replaces it, in access_patterns.toml and in the application; or say that no "
                f'one asks it any more: until = "{one.migration.revision}"',
            )


def _breaks(one: PlacedOperation, pattern: AccessPattern) -> bool:
    # A table of which the files know little may well have the index: dropping it says that it has.
    drops = any(isinstance(step, DeleteIndex) and step.index == pattern.index for step in one.steps)
    return (drops or serves(pattern, one.table)) and not serves(pattern, one.after)


RULE = Rule(
    "pattern-broken",
    Severity.ERROR,
    "A declared access pattern can no longer be served.",
    judge,
)
"""The only rule over operations whose finding is an error by itself: the application's reads would fail."""
