"""What a reviewed plan said of items, looked at again before its first write: a worse result refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from migrator.errors import MigratorError, counted
from migrator.runner.estimates.look import look_at
from migrator.runner.planned import Planned
from migrator.runner.reviewed import Reviewed
from migrator.runner.session import Session

Findings = Mapping[str, Mapping[str, int]]
"""`REVISION STEP` -> reason -> items in the way that were read."""


def refuse_worse(session: Session, planned: Sequence[Planned], reviewed: Reviewed | None) -> None:
    """Raises `plan-worse` where items are in the way that the plan did not show.

    The look is of the kind that the plan was made with. A revision that has begun is not judged again: its table is
    half changed.
    """
    fresh = {one.migration.revision for one in planned} - session.unfinished
    if reviewed is None or reviewed.findings is None or not fresh:
        return
    look = look_at(session, planned, full=reviewed.is_full, samples=0)
    worse = [
        line
        for line in worsened(reviewed.findings, look.findings(), by_count=reviewed.is_full)
        if line.partition(" ")[0] in fresh
    ]
    if worse:
        more = f" (and {counted(len(worse) - 1, 'more reason')})" if len(worse) > 1 else ""
        raise MigratorError(
            "plan-worse",
            f"more items are in the way than when the plan was made: {worse[0]}{more}",
            hint="nothing was changed: see `migrator plan --full`, mend the items or the file, and have a new plan "
            "reviewed",
            exit_code=3,
        )


def worsened(before: Findings, now: Findings, *, by_count: bool) -> list[str]:
    """What is worse, a line each: a reason that was not there, or, where every item was read both times, more items."""
    found = []
    for step, reasons in sorted(now.items()):
        earlier = before.get(step, {})
        for reason, number in sorted(reasons.items()):
            was = earlier.get(reason, 0)
            if not was or (by_count and number > was):
                kind, code, attribute = (*reason.split(":", 2), "", "")[:3]
                what = "could not be indexed" if kind == "unindexable" else "would fail"
                where = f" in {attribute}" if attribute else ""
                found.append(f"{step}: {counted(number, 'item')} {what} ({code}{where}), {was} in the plan")
    return found
