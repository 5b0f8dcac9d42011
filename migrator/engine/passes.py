"""The pass of a step's stage, made anew where another process is to work on it."""

from __future__ import annotations

from migrator.control.checkpoints import AnyStage
from migrator.core.steps import DeleteItems, RebuildCounters, Step, TransformItems, UndoItems
from migrator.engine.backfill import Backfill
from migrator.engine.counters import Recount
from migrator.engine.puts import Deletion
from migrator.engine.segments import Pass
from migrator.engine.undo import Removal
from migrator.engine.work import Work


def pass_of(work: Work, step_id: str, step: Step, stage: AnyStage, content_hash: str) -> Pass:
    """The same pass as the run's own, ready for `work_on`. Raises ValueError for a step that has no such one."""
    match step:
        case TransformItems():
            return Backfill(work, step_id, step, content_hash).pass_at(stage)
        case DeleteItems():
            return Deletion(work, step_id, step, content_hash).pass_at(stage)
        case RebuildCounters():
            return Recount(work, step_id, step, content_hash).pass_at(stage)
        case UndoItems(of=TransformItems() as of):
            return Removal(work, step_id, of, content_hash).undoing()
    raise ValueError(f"step {step_id} ({step.title}) has no pass {stage}")
