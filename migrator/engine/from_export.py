"""A data step whose pass reads an export in place of the table, and maybe a later export in place of the check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from migrator.control.checkpoints import AnyStage
from migrator.core.events import Counts, Remark
from migrator.core.exports import EDGE, Export, Exports
from migrator.core.item import Item, Key, fingerprint, key_of, key_text
from migrator.core.ports import RecordAction
from migrator.core.transform import Decided, Decision, Failed, NotSelected, Skipped, Unchanged
from migrator.engine.failed import failures_outcome, retry_failed
from migrator.engine.outcomes import Failure, PageOutcome
from migrator.engine.segments import Handler, Pass, Segment
from migrator.engine.work import StepOutcome, Work
from migrator.engine.writes import Writer
from migrator.errors import counted

_CHECKS: tuple[AnyStage, ...] = ("pass", "check", "export-check")
"""What follows the pass over an export."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of the export's part of a step; `outcome` None: a scan of the table is to follow."""

    counts: Counts
    repeats: bool
    outcome: StepOutcome | None


@dataclass(frozen=True, slots=True)
class FromExport:
    """The export's part of one step.

    What it is at is in the step's record: `export`, what the pass reads and the text of the migration; `export_first`,
    the same of the export that the command named; `export_ended`, when the pass was over.
    """

    work: Work
    step_id: str
    alias: str
    content_hash: str
    exports: Exports
    pass_at: Callable[[AnyStage], Pass]
    writer: Callable[[Callable[[], RecordAction]], Writer]
    is_checked: bool
    found: list[str]
    """Keys that the check found, for a person."""
    verb: str = "written"

    def run(self) -> Applied:
        counts, repeats, left = self._pass()
        if left is not None:
            return Applied(counts, repeats, left)
        if not self.is_checked:
            text = f"{text_of(counts, self.verb)}, from {said_of(self._source)}; not checked: check='none'"
            return Applied(counts, repeats, StepOutcome(text, counts))
        if self.exports.later_place is None:
            return Applied(counts, repeats, None)
        return Applied(counts, repeats, self._check(counts))

    def begin_sweep(self) -> bool:
        """Note that the scan after the export begins. True where no earlier run began it.

        Then that scan is the check if it writes nothing: what an interrupted one wrote, nobody counted.
        """
        is_first = not self.work.ledger.step(self.step_id).get("swept")
        self.work.ledger.note_step(self.step_id, swept=True)
        return is_first

    # --- pass

    @property
    def _source(self) -> Export:
        return source_of(self.work, self.step_id, self.content_hash, self.exports)

    def _pass(self) -> tuple[Counts, bool, StepOutcome | None]:
        work = self.work
        if self._is_over_before:
            counts = sum((at.counts for at in work.checkpoints.standing(work.revision, self._id("export"))), Counts())
            return counts, False, failures_outcome(work, self.step_id, counts)
        if work.ledger.step(self.step_id).get("export") != bound_to(self._source, self.content_hash):
            self._begin(self._source)
        earlier = list(work.failures.pending(work.revision, self.step_id))
        passing = self.pass_at("export")
        counts, repeats = passing.run()
        if earlier:
            counts += retry_failed(work, self.step_id, self.alias, self.writer(passing.any_check), earlier)
        if not work.ledger.step(self.step_id).get("export_ended"):
            work.ledger.note_step(self.step_id, export_ended=work.clock.now().isoformat(timespec="seconds"))
        return counts, repeats, failures_outcome(work, self.step_id, counts)

    @property
    def _is_over_before(self) -> bool:
        """Whether the pass was over with a later export that an earlier command named: it is not read again."""
        state, exports = self.work.ledger.step(self.step_id), self.exports
        known = [bound_to(one, self.content_hash) for one in (exports.first, exports.later) if one is not None]
        is_same = state.get("export_first") == bound_to(exports.first, self.content_hash)
        return is_same and bool(state.get("export_ended")) and state.get("export") not in known

    def _id(self, stage: AnyStage) -> str:
        return f"{self.step_id}:{stage}"

    def _begin(self, source: Export) -> None:
        work = self.work
        # What was read before the pass, of the table or of a later export, is no check of it.
        for stage in _CHECKS:
            work.checkpoints.clear(work.revision, self._id(stage))
        bound, first = (bound_to(one, self.content_hash) for one in (source, self.exports.first))
        work.ledger.note_step(
            self.step_id, export=bound, export_first=first, export_ended="", swept=False, passed=False
        )

    # --- check

    def _check(self, counts: Counts) -> StepOutcome:
        """Nothing may be left to change in an export of a time after the pass: then the step is done."""
        work, later = self.work, self.exports.later
        ended = datetime.fromisoformat(work.ledger.step(self.step_id)["export_ended"])
        if later is None or later.time < ended + EDGE:
            return self._ask(counts, ended, text_of(counts, self.verb))
        found, _ = self.pass_at("export-check").run()
        left = failures_outcome(work, self.step_id, counts)
        if left is not None:
            work.checkpoints.clear(work.revision, self._id("export-check"))
            return left
        if not found.written:
            return StepOutcome(
                f"{text_of(counts, self.verb)}; checked by {said_of(later)}: what was written since was not looked at",
                replace(counts, read_units=counts.read_units + found.read_units),
            )
        work.report(Remark(f"{counted(found.written, 'item')} in {said_of(later)} still to change: a pass over it"))
        self._begin(later)
        more, _, left = self._pass()
        if left is not None:
            return replace(left, counts=counts + more)
        ended = datetime.fromisoformat(work.ledger.step(self.step_id)["export_ended"])
        text = f"{counted(found.written, 'item')} still to change in {said_of(later)}, changed now"
        return replace(self._ask(counts + more, ended, text), examples=tuple(self.found[-20:]))

    def _ask(self, counts: Counts, ended: datetime, text: str) -> StepOutcome:
        least = ended + EDGE
        arn = self.exports.first.table_arn
        place = f"{self.exports.later_place}, and run the same command again"
        if self.exports.later is not None:
            place = "another folder, and run the same command with that as --from-export-check"
        return StepOutcome(
            f"{text}; to be checked by an export of a time after {least:%Y-%m-%d %H:%M:%S} UTC",
            counts,
            is_complete=False,
            question=f"`aws dynamodb export-table-to-point-in-time --table-arn {arn} --s3-bucket BUCKET` after that "
            f"time, sync it to {place}",
        )


def bound_to(export: Export, content_hash: str) -> str:
    """What the record of a step calls a pass over an export: another text of the migration begins it anew."""
    return f"{content_hash}:{export.id}"


def source_of(work: Work, step_id: str, content_hash: str, exports: Exports) -> Export:
    """The export that the pass reads: the first, or the later one once a check found something to change in it."""
    later = exports.later
    if later is not None and work.ledger.step(step_id).get("export") == bound_to(later, content_hash):
        return later
    return exports.first


def confirming(
    work: Work, table: str, key_names: tuple[str, ...], decide: Callable[[Item], Decision], found: list[str]
) -> Callable[[Segment], Handler]:
    """The handler of a check over an export: what is to change by its image, and still is by the item as it stands."""

    def handler(segment: Segment) -> Handler:
        def judge(key: Key, image: Item) -> Decision:
            decision = decide(image)
            if not isinstance(decision, Decided | Failed):
                return decision
            work.pace.before("read")
            current = work.items.get(table, key)
            # Deleted since: nothing is left to change.
            return NotSelected() if current is None else decide(current)

        def handle(images: Sequence[Item]) -> PageOutcome:
            outcome = PageOutcome()
            tally = outcome.tally
            tally.scanned = len(images)
            for image in images:
                key = key_of(image, key_names)
                match judge(key, image):
                    case Decided():
                        tally.written += 1
                        found.append(key_text(key))
                    case Failed(code, message):
                        tally.failed += 1
                        if fingerprint(key) not in segment.known_failures:
                            outcome.failures.append(Failure(key, code, message))
                    case Unchanged():
                        tally.unchanged += 1
                    case Skipped():
                        tally.skipped += 1
                    case NotSelected():
                        tally.not_selected += 1
                    case other:
                        assert_never(other)
            outcome.counts = tally.counts()
            return outcome

        return handle

    return handler


def swept(counts: Counts, sweep: Counts) -> Counts:
    """What came of both: the items that the scan after the export only read are not counted twice."""
    return counts + replace(sweep, scanned=0, unchanged=0, not_selected=0, skipped=0)


def said_of(export: Export) -> str:
    return f"the export of {export.time:%Y-%m-%d %H:%M:%S} UTC"


def text_of(counts: Counts, verb: str = "written") -> str:
    """`12 scanned, 10 written, 2 unchanged`."""
    more = ("unchanged", "skipped", "conflicts", "gone", "failed")
    rest = [f"{getattr(counts, name)} {name}" for name in more if getattr(counts, name)]
    return ", ".join([f"{counts.scanned} scanned", f"{counts.written} {verb}", *rest])
