"""The one `match` from step to effect."""

from __future__ import annotations

from typing import assert_never

from migrator.core.rewrite.steps import (
    AwaitMirror,
    CloseRewrite,
    CopyTwins,
    DropOldSide,
    EnterPhase,
    PrepareRewrite,
    ReleaseAttributes,
    RemoveTwins,
    RewriteStep,
    VerifyTwins,
)
from migrator.core.steps import (
    ChangeSetting,
    CreateIndex,
    CreateTable,
    DeleteIndex,
    DeleteItems,
    PutItems,
    RebuildCounters,
    Restore,
    RunFunction,
    Step,
    TransformItems,
    UndoItems,
    UpdateIndex,
)
from migrator.engine.backfill import Backfill
from migrator.engine.counters import Recount
from migrator.engine.function import run_function
from migrator.engine.indexes import create_index, delete_index, restore_index, update_index
from migrator.engine.puts import Deletion, put_items
from migrator.engine.rewriting import (
    Rewriting,
    await_mirror,
    close_rewrite,
    copy_twins,
    drop_old_side,
    enter_phase,
    part_id,
    prepare_rewrite,
    release_attributes,
    remove_twins,
    verify_twins,
)
from migrator.engine.settings import change_setting, create_table, restore_setting
from migrator.engine.undo import undo_items
from migrator.engine.work import StepOutcome, Work


def execute(work: Work, step_id: str, step: Step, content_hash: str) -> StepOutcome:
    """Bring a step's effect about, or find that it is there. Every step may run twice.

    `step_id` is `operation.way.position`, such as `0.apply.1`; `content_hash` is the migration's.
    """
    match step:
        case CreateTable():
            return create_table(work, step)
        case CreateIndex():
            return create_index(work, step_id, step)
        case DeleteIndex():
            return delete_index(work, step)
        case UpdateIndex():
            return update_index(work, step)
        case ChangeSetting():
            return change_setting(work, step)
        case Restore(table, name):
            kind, _, rest = name.partition(":")
            return restore_index(work, table, rest) if kind == "index" else restore_setting(work, table, rest)
        case TransformItems():
            return Backfill(work, step_id, step, content_hash).run()
        case PutItems():
            return put_items(work, step_id, step, content_hash)
        case DeleteItems():
            return Deletion(work, step_id, step, content_hash).run()
        case RebuildCounters():
            return Recount(work, step_id, step, content_hash).run()
        case UndoItems():
            operation = step_id.partition(".")[0]
            return undo_items(work, step_id, f"{operation}.apply.{step.step}", step, content_hash)
        case RunFunction():
            return run_function(work, step_id, step)
        case VerifyTwins():
            return verify_twins(work, step_id, step, content_hash)
        case (
            PrepareRewrite()
            | AwaitMirror()
            | EnterPhase()
            | CopyTwins()
            | DropOldSide()
            | ReleaseAttributes()
            | RemoveTwins()
            | CloseRewrite()
        ):
            rewriting = Rewriting.of(work, step_id, step.rewrite, step.slot, content_hash)
            match step:
                case PrepareRewrite():
                    return prepare_rewrite(rewriting)
                case EnterPhase(phase=phase, undoes=undoes):
                    return enter_phase(rewriting, phase, undoes=undoes)
                case AwaitMirror(drained=drained):
                    return await_mirror(rewriting, drained=drained)
                case CopyTwins():
                    return copy_twins(rewriting)
                case DropOldSide():
                    return drop_old_side(rewriting)
                case ReleaseAttributes():
                    return release_attributes(rewriting)
                case RemoveTwins():
                    return remove_twins(rewriting)
                case CloseRewrite(outcome=outcome):
                    return close_rewrite(rewriting, outcome)
    assert_never(step)


def parts_of(step_id: str, step: Step) -> tuple[str, ...]:
    """The ids under which a step keeps checkpoints and failed items: one for each table that it goes through.

    A step of a rewrite may go through the tables of both sides, and one table may be on both.
    """
    count = len(step.rewrite.sources) + len(step.rewrite.targets) if isinstance(step, RewriteStep) else 1
    return tuple(part_id(step_id, number) for number in range(count))
