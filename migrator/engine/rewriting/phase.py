"""A change of phase: written, then waited for; and the end of a rewrite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

from migrator.control.phases import PhaseRecord
from migrator.core.change import Change
from migrator.core.events import Counts
from migrator.core.item import Item
from migrator.core.ports import RecordAction
from migrator.core.rewrite.phases import PHASES, Phase
from migrator.core.transform import Decided, Decision, NotSelected
from migrator.engine.failed import failures_outcome
from migrator.engine.rewriting.passes import Rewriting, part_id
from migrator.engine.rewriting.verify import verify_pairs
from migrator.engine.segments import Handler, Segment
from migrator.engine.work import StepOutcome
from migrator.engine.writes import Writer
from migrator.errors import MigratorError, counted

MOST_AGE_SECONDS = 3600.0
"""A comparison that is older says too little of what was written since: it is made again."""
_VERIFIED: frozenset[Phase] = frozenset({"cutover", "contract"})
"""Phases that are entered only while both sides correspond: another side decides from there on, or alone. So it is on
the way back from cutover."""


def enter_phase(rewriting: Rewriting, phase: Phase, *, undoes: bool) -> StepOutcome:
    """Write the phase, then wait until no instance can still be in another one than it and its neighbour."""
    record = rewriting.record()
    if record is None:
        if undoes:
            return StepOutcome("the rewrite was never prepared")
        raise MigratorError(
            "phase-missing",
            f"revision {rewriting.work.revision} has no phase record {rewriting.slot}: the rewrite was not prepared",
            hint="run `migrator upgrade` first",
        )
    if not record.is_settled:
        # An earlier run was killed while it waited, and nobody knows for how long it had: in full, then.
        record = _waited(rewriting, record)
    here, there = PHASES.index(record.phase), PHASES.index(phase)
    if here == there or (here < there if undoes else here > there):
        return StepOutcome(f"phase {record.phase} already, generation {record.generation}")
    if (phase in _VERIFIED or record.phase == "cutover") and not _is_fresh(rewriting, record):
        # On the way back the old side is about to decide again: what was written to the new one alone comes with it.
        outcome = verify_pairs(rewriting, repair=undoes)
        if not outcome.is_complete:
            return outcome
        record = rewriting.standing()
    record = record.entering(phase, rewriting.now(), moves=rewriting.rewrite.moves)
    rewriting.work.phases.save(record, rewriting.work.lease)
    record = _waited(rewriting, record)
    return StepOutcome(f"phase {record.phase}, generation {record.generation}")


def _is_fresh(rewriting: Rewriting, record: PhaseRecord) -> bool:
    """Whether a clean comparison of this very generation stands, and is not too old."""
    if not record.is_verified or record.verified is None:
        return False
    age = rewriting.work.clock.now() - datetime.fromisoformat(record.verified.at)
    return age.total_seconds() <= MOST_AGE_SECONDS


def _waited(rewriting: Rewriting, record: PhaseRecord) -> PhaseRecord:
    """Wait in full, then write that it was waited for."""
    work = rewriting.work
    if not _is_alone(rewriting):
        work.wait(
            record.wait_seconds,
            f"until every instance knows of phase {record.phase}, and its requests under way are done",
        )
    record = replace(record, waited=record.generation)
    work.phases.save(record, work.lease)
    return record


def _is_alone(rewriting: Rewriting) -> bool:
    """Whether nobody reads the phase: the application is stopped, or knows of none and has a mirror, which asks with
    each of its writes; and no instance ever said that it knows of it."""
    if rewriting.rewrite.application == "dual-write":
        return False
    return next(rewriting.work.phases.instances(rewriting.work.revision, rewriting.slot), None) is None


def close_rewrite(rewriting: Rewriting, outcome: Literal["done", "rolled-back"]) -> StepOutcome:
    """Done: the twins lose the mark of their source, and the record says so for good. Taken back: the record goes."""
    record = rewriting.record()
    if outcome == "rolled-back":
        if record is None:
            return StepOutcome("the rewrite was never prepared")
        if record.phase != "expand":
            raise MigratorError(
                "phase-wrong",
                f"a rewrite is taken back in phase expand, and the phase is {record.phase}",
                hint="run `migrator rollback` again: it goes back phase by phase",
            )
        rewriting.work.phases.remove(rewriting.work.revision, rewriting.slot, rewriting.work.lease)
        return StepOutcome("the phase record is gone")
    record = rewriting.standing()
    if not rewriting.rewrite.moves and record.phase == "dual-write":
        # Nothing is cut over: the twins stay, and whoever keeps them is no business of the tool's any more.
        generation = record.generation + 1
        record = replace(record, phase="done", generation=generation, since=rewriting.now(), waited=generation)
        rewriting.work.phases.save(record, rewriting.work.lease)
    if record.phase != "done":
        raise MigratorError(
            "phase-wrong",
            f"a rewrite ends in phase done, and the phase is {record.phase}",
            hint="see `migrator status`",
        )
    return _strip_marks(rewriting)


def _strip_marks(rewriting: Rewriting) -> StepOutcome:
    """Remove the attribute by which twins name their source, where it is the tool's own."""
    marks = {
        table: sorted(
            {route.mark for route in rewriting.rewrite.routes_to(table) if route.mark and not route.keeps_mark}
        )
        for table in rewriting.rewrite.targets
    }
    tables = [table for table in rewriting.rewrite.targets if marks[table]]
    if not tables:
        return StepOutcome("phase done")
    work = rewriting.work
    parts = [part_id(rewriting.step_id, rewriting.rewrite.targets.index(table)) for table in tables]
    counts = Counts()
    for part, table in zip(parts, tables, strict=True):
        (names,) = {route.target_names for route in rewriting.rewrite.routes_to(table)}
        one = rewriting.one_pass(part, "pass", table, _stripping(rewriting, table, names, marks[table]))
        counts += one.run()[0]
    # What failed is tried again by another whole pass.
    rewriting.forget("pass", rewriting.rewrite.targets)
    return failures_outcome(work, parts, counts) or StepOutcome(
        f"phase done; {counted(counts.written, 'item')} lost the mark of their source", counts
    )


def _stripping(
    rewriting: Rewriting, table: str, key_names: tuple[str, ...], marks: Sequence[str]
) -> Callable[[Segment], Handler]:
    def decide(item: Item) -> Decision:
        found = {name: item[name] for name in marks if name in item}
        return Decided(Change(found, remove=frozenset(found))) if found else NotSelected()

    def handler(segment: Segment) -> Handler:
        check: Callable[[], RecordAction] = segment.check
        return Writer(rewriting.work, table, key_names, decide, segment_check=check).settle

    return handler
