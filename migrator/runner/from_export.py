"""An export in place of scans: whose it is, whether it may stand for the table, and that its files are whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from migrator.core.events import Remark
from migrator.core.exports import EDGE, Export, Exports
from migrator.core.steps import DataStep, DeleteItems, Step, TransformItems, tables_of
from migrator.engine.from_export import bound_to, said_of
from migrator.errors import MigratorError, UsageError, counted
from migrator.runner.planned import Planned
from migrator.runner.results import PlanResult
from migrator.runner.session import Session

FINDINGS = 3


def opened(session: Session, first: Path | None, later: Path | None) -> Exports | None:
    """The exports that a command names, by their manifests. Raises `bad-export`, `other-export`."""
    read = session.ports.read_export
    if first is None or read is None:
        return None
    exports = Exports(read(first), later_place=None if later is None else str(later))
    _refuse_other_table(session, exports.first)
    if later is not None and later.exists():
        exports = replace(exports, later=read(later))
        assert exports.later is not None
        _refuse_other_table(session, exports.later)
    return exports


def refuse(session: Session, planned: Sequence[Planned], exports: Exports, *, offline: bool = False) -> None:
    """Refuse an export that may not stand for the table. Raises `export-steps`, `export-too-old`.

    An item that the export shows as right, or as not selected, is not looked at in the table: so nothing of this
    project may have written items since.
    """
    step_of(session, planned, exports, offline=offline)
    for entry in session.entries.values():
        was_taken_back = entry.status == "rolled-back"
        if (entry.is_unfinished and not was_taken_back) or not entry.counts.written or not entry.finished_at:
            continue
        if exports.first.time < datetime.fromisoformat(entry.finished_at) + EDGE:
            how = "taken back" if was_taken_back else "applied"
            raise MigratorError(
                "export-too-old",
                f"{said_of(exports.first)} does not show what revision {entry.revision} wrote: it was {how} "
                f"at {entry.finished_at}",
                hint="take another export, of a time two minutes after that or later",
                exit_code=FINDINGS,
            )


def step_of(
    session: Session, planned: Sequence[Planned], exports: Exports, *, offline: bool = False
) -> tuple[Planned, str]:
    """The one step that reads the export: its revision and its id. Raises `export-steps`."""
    found: list[tuple[Planned, str, Step]] = []
    for one in planned:
        later = one.steps("complete") if offline else ()
        for step_id, step in (*one.steps("apply"), *later):
            if isinstance(step, DataStep) and exports.table in _names(session, one, step):
                found.append((one, step_id, step))
    readers = [number for number, (_, _, step) in enumerate(found) if isinstance(step, TransformItems | DeleteItems)]
    if readers != [0]:
        steps = "; ".join(f"{one.migration.revision}: {step.title}" for one, _, step in found) or "none"
        raise MigratorError(
            "export-steps",
            f"an export stands for {exports.table} until something writes to it, so exactly one data step can read "
            f"it, the first one; pending are: {steps}",
            hint="name a target before the second one, such as `migrator upgrade +1 --from-export …`, and take another "
            "export for that",
            exit_code=FINDINGS,
        )
    one, step_id, _ = found[0]
    return one, step_id


def verify(session: Session, planned: Sequence[Planned], exports: Exports, *, offline: bool = False) -> None:
    """Read the files of each export that is still to be read, and compare them. Raises `bad-export`."""
    for one in _to_read(session, planned, exports, offline=offline):
        session.report(Remark(f"comparing {counted(one.file_count, 'file')} of {said_of(one)} with its manifest"))
        one.verify(session.stop.raise_if_asked)


def noted(session: Session, result: PlanResult, planned: Sequence[Planned], exports: Exports) -> PlanResult:
    """The plan, with what an export is that its data step would read."""
    first = exports.first
    hours = (session.ports.clock.now() - first.time).total_seconds() / 3600
    age = f"{hours * 60:,.0f} minutes" if abs(hours) < 2 else f"{hours:,.1f} hours"
    note = (
        f"reads {said_of(first)}, {age} old: {counted(first.item_count, 'item')} in "
        f"{counted(first.file_count, 'file')}; items that changed since are read and decided anew"
    )
    tables = {one.migration.revision for one in planned if _reads(session, one, exports)}
    revisions = tuple(
        replace(one, notes=(*one.notes, note)) if one.revision in tables else one for one in result.revisions
    )
    return replace(result, revisions=revisions)


def _reads(session: Session, one: Planned, exports: Exports) -> bool:
    steps = [step for _, step in one.steps("apply") if isinstance(step, TransformItems | DeleteItems)]
    return any(exports.table in _names(session, one, step) for step in steps)


def _names(session: Session, one: Planned, step: Step) -> set[str]:
    """The physical tables that a step is about."""
    return {session.names.get(one.before.alias(table), "") for table in tables_of(step)}


def _to_read(session: Session, planned: Sequence[Planned], exports: Exports, *, offline: bool) -> list[Export]:
    """Not the first one again, where its pass is over and a later one is to check it."""
    if not planned:
        return []
    one, step_id = step_of(session, planned, exports, offline=offline)
    entry = session.entries.get(one.migration.revision)
    state = {} if entry is None else entry.steps.get(step_id, {})
    each = [exports.first] if exports.later is None else [exports.first, exports.later]
    if state.get("export_ended") and state.get("export_first") == bound_to(exports.first, one.migration.content_hash):
        return [export for export in each if export is exports.later]
    return each


def _refuse_other_table(session: Session, export: Export) -> None:
    for live in session.live.values():
        if live.arn == export.table_arn and live.table_id == export.table_id:
            return
        if live.arn == export.table_arn:
            raise MigratorError(
                "other-export",
                f"the export is of a table {export.table_arn} with TableId {export.table_id}, which is no more: the "
                f"one that stands there now has {live.table_id}",
                hint="take an export of the table that stands there",
                exit_code=FINDINGS,
            )
    raise UsageError(
        "other-export",
        f"the export is of {export.table_arn}, which is no table of this environment",
        hint="check --env; the tables are those of `migrator status`",
    )
