"""Failed items: tried again alone on a re-run, and what keeps a revision incomplete while any is left."""

from __future__ import annotations

from collections.abc import Sequence

from migrator.control.failures import FailedItemRecord
from migrator.core.events import Counts
from migrator.core.item import fingerprint, key_text
from migrator.engine.segments import settle_failures
from migrator.engine.work import StepOutcome, Work
from migrator.engine.writes import Writer
from migrator.errors import counted


def retry_failed(work: Work, step_id: str, alias: str, writer: Writer, earlier: Sequence[FailedItemRecord]) -> Counts:
    """Try failed items of earlier runs again, and only them: what this run saw fail needs mending first."""
    counts = Counts()
    for failed in earlier:
        work.lease.beat_if_due()
        work.heed()
        work.pace.before("read")
        item = work.items.get(work.name(alias), failed.key)
        if item is None:
            work.failures.resolve(work.revision, step_id, failed.key, work.lease)
            counts += Counts(gone=1)
            continue
        outcome = writer.settle([item])
        settle_failures(work, step_id, outcome, frozenset({fingerprint(failed.key)}), frozenset())
        counts += outcome.counts
    return counts


def failures_outcome(work: Work, steps: str | Sequence[str], counts: Counts, question: str = "") -> StepOutcome | None:
    """Incomplete while any failed item is left that nobody decided to skip; None when there is none.

    `steps` is the id of the step, or the ids of its parts.
    """
    parts = [steps] if isinstance(steps, str) else steps
    pending = [failed for part in parts for failed in work.failures.pending(work.revision, part)]
    if not pending:
        return None
    return StepOutcome(
        f"{counted(len(pending), 'item')} failed; the others are done",
        counts,
        is_complete=False,
        examples=tuple(f"{key_text(failed.key)}: {failed.code}: {failed.reason}" for failed in pending[:20]),
        question=question
        or "mend them, or the file, and run the same command again; or "
        f"`migrator failed skip {work.revision} --because …`; the list: `migrator failed list {work.revision}`",
    )
