"""PutItems and DeleteItems: items that a revision brings or takes away, each journalled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from migrator.control.checkpoints import AnyStage
from migrator.core.change import Change, ChecksLost, Delete, Put, Write
from migrator.core.events import Counts
from migrator.core.exports import Export
from migrator.core.item import Item, fingerprint, key_of, key_text, same_item
from migrator.core.ports import Expect, RecordAction
from migrator.core.steps import DeleteItems, PutItems
from migrator.core.transform import Decided, Decision, Failed, Unchanged, decide_deletion
from migrator.engine.failed import failures_outcome, retry_failed
from migrator.engine.from_export import FromExport, confirming, source_of, swept
from migrator.engine.outcomes import Failure, PageOutcome
from migrator.engine.segments import Handler, Pass, Segment, known_failures, settle_failures
from migrator.engine.work import StepOutcome, Work
from migrator.engine.writes import Transaction, Writer

EXAMPLES = 20


def put_items(work: Work, step_id: str, step: PutItems, content_hash: str) -> StepOutcome:
    """Put each item where none is. One that stands there equal is not ours; a different one is a failed item."""
    alias = work.schema.alias(step.table)
    key_names = work.schema.table(alias).key_names
    wanted = {fingerprint(key_of(item, key_names)): item for item in step.items}
    live = work.live(alias)
    claim = work.checkpoints.claim(work.revision, f"{step_id}:pass", 1, content_hash, live.table_id)

    def decide(current: Item) -> Decision:
        item = wanted[fingerprint(key_of(current, key_names))]
        if current is item:
            return Decided(Change({}, set=item))
        if same_item(current, item):
            return Unchanged()
        if work.journal.get(work.revision, step_id, key_of(item, key_names)) is not None:
            # Put by an earlier run, and the application's own since.
            return Unchanged()
        return Failed("item-exists", "an item with this key stands there and differs: it is left as it is")

    def records(item: Item, _write: Write) -> list[RecordAction]:
        key = key_of(item, key_names)
        return [work.journal.put_action(work.revision, step_id, key, None, item, Expect(absent=True))]

    def on_checks_lost(item: Item, _lost: ChecksLost) -> Decision | None:
        # Put before, and deleted by the application since: it stays deleted.
        done = work.journal.get(work.revision, step_id, key_of(item, key_names)) is not None
        return Unchanged() if done else None

    writer = Writer(
        work,
        work.name(alias),
        key_names,
        decide,
        Transaction(records, on_checks_lost),
        segment_check=lambda: work.checkpoints.segment_check(claim.checkpoints[0]),
        to_write=lambda key, item, _decided: Put(item, key),
        absent_is_gone=False,
    )
    outcome = writer.settle(list(wanted.values()))
    settle_failures(work, step_id, outcome, *known_failures(work, step_id))
    counts = outcome.counts
    left = failures_outcome(work, step_id, counts)
    return left or StepOutcome(f"{counts.written} put, {counts.unchanged} there already", counts)


@dataclass(slots=True)
class Deletion:
    """One DeleteItems step at work: the journal holds each item before it goes."""

    work: Work
    step_id: str
    step: DeleteItems
    content_hash: str
    _examples: list[str] = field(default_factory=list)

    def run(self) -> StepOutcome:
        work = self.work
        export, before = self._export(), Counts()
        if export is not None:
            applied = export.run()
            if applied.outcome is not None:
                return applied.outcome
            before = applied.counts
        is_check = export is not None and export.begin_sweep()
        earlier = list(work.failures.pending(work.revision, self.step_id))
        deleting = self.pass_at("pass")
        counts, lost_worker = deleting.run()
        is_check = is_check and not counts.written and not lost_worker
        if earlier:
            counts += retry_failed(work, self.step_id, self.alias, self._writer(deleting.any_check), earlier)
        counts = counts if export is None else swept(before, counts)
        work.ledger.note_step(self.step_id, passed=True)
        left = failures_outcome(work, self.step_id, counts)
        if left is not None:
            return left
        text = f"{counts.scanned} scanned, {counts.written} deleted, {counts.gone} gone already"
        if self.step.check == "none":
            return StepOutcome(text + "; not checked: check='none'", counts)
        if is_check:
            # Strongly consistent, after the pass over the export, and without anything to delete: the check.
            return StepOutcome(text, counts)
        found, _ = self.pass_at("check").run()
        left = failures_outcome(work, self.step_id, counts)
        if left is not None:
            # The next run looks anew: an old pass says nothing of what was written since.
            work.checkpoints.clear(work.revision, f"{self.step_id}:check")
            return left
        if not found.written:
            return StepOutcome(text, counts)
        for stage in ("pass", "check"):
            work.checkpoints.clear(work.revision, f"{self.step_id}:{stage}")
        work.ledger.note_step(self.step_id, passed=False)
        return StepOutcome(
            f"{found.written} items are selected again after the pass",
            counts,
            is_complete=False,
            examples=tuple(self._examples[:EXAMPLES]),
            question="is a writer of such items still live? Stop it, then run the same command again",
        )

    def _export(self) -> FromExport | None:
        """The export's part of the step, where there is one."""
        exports = self.work.exports_of(self.alias)
        if exports is None:
            return None
        return FromExport(
            self.work,
            self.step_id,
            self.alias,
            self.content_hash,
            exports,
            self.pass_at,
            self._writer,
            self.step.check != "none",
            self._examples,
            "deleted",
        )

    def pass_at(self, stage: AnyStage) -> Pass:
        """The pass of a stage, here or in a worker: `pass` or `check`, of the table or of an export."""
        of: Export | None = None
        handler: Callable[[Segment], Handler] = self._deleting if stage in ("pass", "export") else self._checking
        exports = self.work.exports_of(self.alias)
        if stage == "export" and exports is not None:
            of = source_of(self.work, self.step_id, self.content_hash, exports)
        elif stage == "export-check" and exports is not None:
            of = exports.later
            table = self.work.name(self.alias)
            handler = confirming(self.work, table, self.key_names, self._decide, self._examples)
        return Pass(
            self.work, self.step_id, stage, self.alias, self.content_hash, handler, found=self._examples, export=of
        )

    @property
    def alias(self) -> str:
        return self.work.schema.alias(self.step.table)

    @property
    def key_names(self) -> tuple[str, ...]:
        return self.work.schema.table(self.alias).key_names

    def _decide(self, item: Item) -> Decision:
        return decide_deletion(self.step.where, self.key_names, item)

    def _records(self, item: Item, write: Write) -> list[RecordAction]:
        """The item goes into the journal by the transaction that deletes it: what somebody else deleted does not."""
        fence = Expect(most_token=self.work.lease.token)
        return [self.work.journal.put_action(self.work.revision, self.step_id, write.key, item, None, fence)]

    def _writer(self, check: Callable[[], RecordAction]) -> Writer:
        return Writer(
            self.work,
            self.work.name(self.alias),
            self.key_names,
            self._decide,
            Transaction(self._records, lambda _item, _lost: None),
            segment_check=check,
            to_write=lambda key, _item, decided: Delete(key, decided.change.guard),
        )

    def _deleting(self, segment: Segment) -> Handler:
        return self._writer(segment.check).settle

    def _checking(self, segment: Segment) -> Handler:
        def handle(items: Sequence[Item]) -> PageOutcome:
            found, failures, failed = [], [], 0
            for item in items:
                key = key_of(item, self.key_names)
                match self._decide(item):
                    case Decided():
                        found.append(key_text(key))
                    case Failed(code, message):
                        failed += 1
                        if fingerprint(key) not in segment.known_failures:
                            failures.append(Failure(key, code, message))
            self._examples += found[:EXAMPLES]
            return PageOutcome(Counts(scanned=len(items), written=len(found), failed=failed), failures)

        return handle
