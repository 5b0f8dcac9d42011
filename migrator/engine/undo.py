"""Taking a data step back: by its journal, or by removing what it wrote where it still is what the step writes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from migrator.core.change import Change, ChecksLost, Delete, Put, Write, Written
from migrator.core.events import Counts
from migrator.core.item import Item, Key, key_of, key_text, same, same_item
from migrator.core.ports import Expect, RecordAction
from migrator.core.steps import TransformItems, UndoItems
from migrator.core.transform import Decided, Decision, Failed, Unchanged
from migrator.engine.backfill import Backfill
from migrator.engine.failed import failures_outcome
from migrator.engine.outcomes import PageOutcome
from migrator.engine.segments import Handler, Pass, Segment
from migrator.engine.work import StepOutcome, Work
from migrator.engine.writes import Transaction, Writer
from migrator.errors import MigratorError, counted


def undo_items(work: Work, step_id: str, undone_id: str, step: UndoItems, content_hash: str) -> StepOutcome:
    """Undo one data step. Items that the application changed since are left as they are and counted as conflicts."""
    state = work.ledger.step(undone_id)
    of = step.of
    if isinstance(of, TransformItems) and not of.is_journalled:
        if not state:
            return StepOutcome("nothing to undo: the step never began")
        if not state.get("fresh") and of.transform.can_be_undone_by_removal and "fresh" not in state:
            return StepOutcome("nothing to undo: nothing was written")
        if not state.get("fresh"):
            raise MigratorError(
                "not-undoable",
                f"step {undone_id} cannot be undone: some items held its attributes before, and there is no journal",
                hint="write a new revision that puts right what must be; undo='journal' keeps what was before",
            )
        return Removal(work, step_id, of, content_hash).run()
    return _FromJournal(work, step.table, undone_id).run()


@dataclass(slots=True)
class Removal:
    """Removes the attributes again that a full scan found on no item before the step."""

    work: Work
    step_id: str
    of: TransformItems
    content_hash: str

    def run(self) -> StepOutcome:
        counts, _ = self.undoing().run()
        # What failed is tried again by another whole pass.
        self.work.checkpoints.clear(self.work.revision, f"{self.step_id}:undo")
        left = failures_outcome(self.work, self.step_id, counts)
        return left or StepOutcome(
            f"{counted(counts.written, 'item')} as before, {counts.unchanged} left as the application wrote them",
            counts,
        )

    def undoing(self) -> Pass:
        """Its only pass, here or in a worker."""
        alias = self.work.schema.alias(self.of.table)
        return Pass(self.work, self.step_id, "undo", alias, self.content_hash, self._undoing)

    def _undoing(self, _segment: Segment) -> Handler:
        backfill = Backfill(self.work, self.step_id, self.of, self.content_hash)
        decider = backfill.decider()

        def decide(item: Item) -> Decision:
            decision = decider.decide_undo(item)
            # What the step would write cannot be told: so it is not known to be what stands there, and stays.
            return Unchanged() if isinstance(decision, Failed) else decision

        writer = Writer(self.work, backfill.table, backfill.key_names, decide)
        return writer.settle


@dataclass(slots=True)
class _FromJournal:
    """Puts back what the journal holds, item by item, where the item still is as the step left it."""

    work: Work
    alias: str
    undone_id: str

    def run(self) -> StepOutcome:
        work = self.work
        counts = Counts()
        left: list[str] = []
        failed: list[str] = []
        for entry in work.journal.entries(work.revision, self.undone_id):
            work.heed()
            work.lease.beat_if_due()
            outcome = self._undo(entry.key, entry.before, entry.after)
            counts += outcome.counts
            if outcome.failures:
                failed += [f"{key_text(one.key)}: {one.code}: {one.reason}" for one in outcome.failures]
                continue
            if outcome.counts.unchanged:
                left.append(key_text(entry.key))
            work.journal.remove(work.revision, self.undone_id, entry.key)
        text = f"{counted(counts.written, 'item')} as before"
        if left:
            text += f"; {len(left)} left as the application changed them: {', '.join(left[:5])}"
        if failed:
            return StepOutcome(
                f"{text}; {len(failed)} could not be undone, their journal is kept",
                counts,
                is_complete=False,
                examples=tuple(failed[:20]),
                question="mend what stands in their way and run the same command again",
            )
        return StepOutcome(text, counts)

    def _with_journal(self) -> Transaction:
        """The journal record goes with the change that it takes back: a second undo, after a crash, finds none."""
        journal, revision = self.work.journal, self.work.revision

        def records(_item: Item, write: Write) -> list[RecordAction]:
            fence = Expect(absent=False, most_token=self.work.lease.token)
            return [replace(journal.remove_action(revision, self.undone_id, write.key), expect=fence)]

        def on_checks_lost(item: Item, _lost: ChecksLost) -> Decision | None:
            key = key_of(item, self.work.schema.table(self.alias).key_names)
            return Unchanged() if journal.get(revision, self.undone_id, key) is None else None

        return Transaction(records, on_checks_lost)

    def _undo(self, key: Key, before: Item | None, after: Item | None) -> PageOutcome:
        work = self.work
        table = work.name(self.alias)
        key_names = work.schema.table(self.alias).key_names
        if after is None and before is not None:
            return self._put_back(table, key_names, before)
        current = work.items.get(table, key)
        if current is None:
            return PageOutcome(Counts(gone=1))
        if before is None:
            assert after is not None
            return self._take_away(table, key_names, current, after)
        names = {*before, *(after or {})}
        wanted = dict(after or {})

        def decide(item: Item) -> Decision:
            if any(not same(item.get(name), wanted.get(name)) for name in names):
                return Unchanged()
            removals = frozenset(names - before.keys())
            return Decided(Change({name: wanted.get(name) for name in names}, set=before, remove=removals))

        return Writer(work, table, key_names, decide, self._with_journal()).settle([current])

    def _put_back(
        self, table: str, key_names: tuple[str, ...], before: Item, *, is_journalled: bool = True
    ) -> PageOutcome:
        """An item that was deleted comes back, unless the application put one there."""
        writer = Writer(
            self.work,
            table,
            key_names,
            lambda item: Decided(Change({}, set=before)) if item is before else Unchanged(),
            self._with_journal() if is_journalled else None,
            to_write=lambda key, item, _decided: Put(item, key),
            absent_is_gone=False,
        )
        return writer.settle([before])

    def _take_away(self, table: str, key_names: tuple[str, ...], current: Item, after: Item) -> PageOutcome:
        """An item that was put goes, if it is still as it was put; one that changed in that moment is put back."""
        work = self.work

        def decide(item: Item) -> Decision:
            if not same_item(item, after):
                return Unchanged()
            return Decided(Change({name: value for name, value in after.items() if name not in key_names}))

        changed: list[Item] = []

        def on_written(_item: Item, _write: Write, written: Written) -> None:
            if written.before is not None and not same_item(written.before, after):
                changed.append(written.before)

        writer = Writer(
            work,
            table,
            key_names,
            decide,
            to_write=lambda key, _item, decided: Delete(key, decided.change.guard),
            on_written=on_written,
        )
        outcome = writer.settle([current])
        for item in changed:
            self._put_back(table, key_names, item, is_journalled=False)
            outcome.counts = replace(outcome.counts, written=0, unchanged=1)
        return outcome
