"""What this tool's own records cost: the lock, the history, checkpoints. It does not grow with the table.

Counted as the engine writes them. A history entry is saved in a transaction that checks the lock; a pass claims its
segments in one, saves each of them once or more, and clears them in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import get_args

from migrator.config import Limits
from migrator.control.checkpoints import Stage
from migrator.core.rewrite.steps import EnterPhase, PrepareRewrite, VerifyTwins
from migrator.core.steps import CreateIndex, CreateTable, DeleteItems, Step, TransformItems, tables_of
from migrator.engine.execute import parts_of
from migrator.engine.segments import CHECKPOINT_SECONDS
from migrator.runner.estimates.figures import Duration
from migrator.runner.planned import Planned

STAGES = len(get_args(Stage))
ENTRY_BYTES, NOTE_BYTES = 800, 130
"""About what a history entry holds, and what each of its steps adds."""


@dataclass(frozen=True, slots=True)
class Records:
    """Units of control records."""

    reads: float = 0.0
    writes: float = 0.0

    def __add__(self, other: Records) -> Records:
        return Records(self.reads + other.reads, self.writes + other.writes)


def of_step(
    step: Step, passes: int, segments: int, position: int, duration: Duration | None, limits: Limits
) -> Records:
    """A step with so many passes, the so many-th of its revision: the entry grows with each."""
    seconds = 0.0 if duration is None else duration.seconds.value or 0.0
    # While it lasts: a beat each third of the lease, and checkpoints of the segments at work.
    lasting = seconds / (limits.lease / 3)
    if passes:
        lasting += seconds / CHECKPOINT_SECONDS * min(limits.workers, segments)
    if isinstance(step, PrepareRewrite | VerifyTwins):
        # Both sides are gone through, each from its beginning.
        passes *= len(tables_of(step))
    match step:
        case PrepareRewrite() | VerifyTwins():
            saves, reads = 2, 4
        case EnterPhase():
            saves, reads = 2, 2
        case TransformItems():
            saves, reads = 3 + (passes > 2), 4
        case DeleteItems():
            saves, reads = 2, 4
        case CreateIndex() | CreateTable():
            # Its look is cleared at once, and once more at the end.
            saves, reads, lasting = 3, 2, lasting + 1
        case _:
            saves, reads = 2, 0
    each = Records(3, 5 * segments + 6)
    return Records(reads + passes * each.reads, saves * _save(position) + passes * each.writes + lasting)


def of_runs(planned: Sequence[Planned], unbound: int) -> Records:
    """The run, a further one after each gate, and each revision's beginning and end; `unbound` tables are new to it."""
    found = Records(7 + unbound, 5 + 4 * unbound)
    for one in planned:
        parts = [part for id_, step in (*one.way_up, *one.steps("rollback")) for part in parts_of(id_, step)]
        steps = len(parts)
        # What may be left of any stage of any step is cleared at the end.
        whole = Records(STAGES * steps, STAGES * steps + _save(0) + _save(len(one.steps("apply"))))
        found += whole
        for _ in one.gates:
            found += whole + Records(7, 5 + _save(len(one.way_up)))
    return found


def _save(steps: int) -> float:
    """One save of a history entry: the record and the lock it checks, each twice."""
    return 2.0 + 2.0 * ceil((ENTRY_BYTES + NOTE_BYTES * steps) / 1024)
