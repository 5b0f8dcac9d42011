"""Backfills: look before, write pass, failed items again, check pass."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from migrator.control.checkpoints import AnyStage
from migrator.core.change import ChecksLost, Update, Write
from migrator.core.compiled import PageDecider
from migrator.core.events import Counts, Remark
from migrator.core.exports import Export
from migrator.core.item import AttributeValue, Item, Key, fingerprint, key_of, key_text, same
from migrator.core.ports import Expect, RecordAction
from migrator.core.steps import TransformItems
from migrator.core.transform import Decided, Decider, Decision, Failed, NotSelected, Skipped, Unchanged
from migrator.engine.failed import failures_outcome, retry_failed
from migrator.engine.from_export import FromExport, confirming, source_of, swept
from migrator.engine.from_export import text_of as _text
from migrator.engine.outcomes import Failure, PageOutcome
from migrator.engine.segments import Handler, Pass, Segment
from migrator.engine.work import StepOutcome, Work
from migrator.engine.writes import Transaction, Writer
from migrator.errors import MigratorError

MOST_ROUNDS = 5
"""How often a step that looks up collections repeats its pass before it counts as not stable."""
EXAMPLES = 20


@dataclass(slots=True)
class Backfill:
    """One TransformItems step at work."""

    work: Work
    step_id: str
    step: TransformItems
    content_hash: str
    _found: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def alias(self) -> str:
        return self.work.schema.alias(self.step.table)

    @property
    def table(self) -> str:
        return self.work.name(self.alias)

    @property
    def key_names(self) -> tuple[str, ...]:
        return self.work.schema.table(self.alias).key_names

    def decider(self) -> Decider:
        """The pure part."""
        work = self.work
        return Decider.of(self.step.transform, self.alias, work.schema, work.after, work.reader())

    # --- the step

    def run(self) -> StepOutcome:
        ledger = self.work.ledger
        self._refuse_edited_once()
        self._look_before()
        written = Counts()
        export = self._export()
        if export is not None:
            applied = export.run()
            if applied.outcome is not None:
                return applied.outcome
            written = applied.counts
        for round_number in range(1, MOST_ROUNDS + 1):
            state = ledger.step(self.step_id)
            was_passed = bool(state.get("passed"))
            earlier = list(self.work.failures.pending(self.work.revision, self.step_id)) if round_number == 1 else []
            is_check = export is not None and round_number == 1 and export.begin_sweep()
            writing = self.pass_at("pass")
            counts, repeats = writing.run()
            is_check = is_check and not counts.written and not repeats
            if earlier:
                writer = self._writer(writing.any_check)
                counts += retry_failed(self.work, self.step_id, self.alias, writer, earlier)
            written = written + counts if export is None else swept(written, counts)
            repeats = repeats or bool(state.get("repeats"))
            if not was_passed:
                ledger.note_step(self.step_id, passed=True, repeats=repeats, content_hash=self.content_hash)
            left = failures_outcome(self.work, self.step_id, written)
            if left is not None:
                return left
            if is_check:
                # Strongly consistent, after the pass over the export, and without anything to write: the check.
                return StepOutcome(_text(written), written)
            if self.step.check == "none":
                return StepOutcome(_text(written) + "; not checked: check='none'", written)
            found, _ = self.pass_at("check").run()
            left = failures_outcome(self.work, self.step_id, written)
            if left is not None:
                # The next run looks anew: an old pass says nothing of what was written since.
                self.work.checkpoints.clear(self.work.revision, f"{self.step_id}:check")
                return left
            if not found.written:
                return StepOutcome(_text(written), replace(written, read_units=written.read_units + found.read_units))
            self._start_over()
            if not repeats or round_number == MOST_ROUNDS:
                return self._unstable(written, found)
            self.work.report(Remark(f"{found.written} items are to change after pass {round_number}: once more"))
        raise AssertionError("unreachable")

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
            self._found,
        )

    def pass_at(self, stage: AnyStage) -> Pass:
        """The pass of a stage, here or in a worker."""
        exports = self.work.exports_of(self.alias)
        match stage:
            case "before":
                return self._pass(
                    stage, self._looking, saves_failures=False, of=None if exports is None else exports.first
                )
            case "pass" if exports is not None:
                return self._pass(stage, self._sweeping)
            case "pass":
                return self._pass(stage, self._writing)
            case "check":
                return self._pass(stage, self._checking)
            case "export" if exports is not None:
                source = source_of(self.work, self.step_id, self.content_hash, exports)
                return self._pass(stage, self._writing, of=source)
            case "export-check" if exports is not None and exports.later is not None:
                decide = self._unless_done_once(self.decider().decide)
                handler = confirming(self.work, self.table, self.key_names, decide, self._found)
                return self._pass(stage, handler, of=exports.later)
            case _:
                raise ValueError(f"a backfill has no stage {stage}")

    def _pass(
        self,
        stage: AnyStage,
        handler: Callable[[Segment], Handler],
        *,
        saves_failures: bool = True,
        of: Export | None = None,
    ) -> Pass:
        hashed = self.content_hash
        return Pass(self.work, self.step_id, stage, self.alias, hashed, handler, saves_failures, self._found, of)

    def _start_over(self) -> None:
        for stage in ("pass", "check"):
            self.work.checkpoints.clear(self.work.revision, f"{self.step_id}:{stage}")
        self.work.ledger.note_step(self.step_id, passed=False)

    def _unstable(self, written: Counts, found: Counts) -> StepOutcome:
        return StepOutcome(
            f"{found.written} items were still to change after the pass",
            written,
            is_complete=False,
            examples=tuple(reversed(self._found[-EXAMPLES:])),
            question="is a writer that does not know the new attributes still live? "
            "Deploy the application first, then run the same command again",
        )

    def _refuse_edited_once(self) -> None:
        state = self.work.ledger.step(self.step_id)
        if self.step.transform.once and state.get("content_hash", self.content_hash) != self.content_hash:
            raise MigratorError(
                "edited-midway",
                f"step {self.step_id} is declared once=True, has begun, and its migration was edited since",
                hint="undo the edit; or `migrator rollback` the revision and apply it anew",
                exit_code=3,
            )
        if "content_hash" not in state:
            self.work.ledger.note_step(self.step_id, content_hash=self.content_hash)
        elif state["content_hash"] != self.content_hash:
            # An idempotent step starts from its beginning: what is right already costs no write. What its former text
            # wrote cannot be told apart from what was there before any more.
            self._start_over()
            fresh = {"fresh": False} if "fresh" in state else {}
            self.work.ledger.note_step(self.step_id, content_hash=self.content_hash, **fresh)

    # --- before

    def _look_before(self) -> None:
        """Find out, before the first write, whether any item holds what the step will write: for the way back."""
        transform = self.step.transform
        if self.step.undo != "auto" or not transform.can_be_undone_by_removal:
            return
        if "fresh" in self.work.ledger.step(self.step_id):
            return
        targets = transform.targets or frozenset()
        counts, _ = self.pass_at("before").run()
        self.work.ledger.note_step(self.step_id, fresh=counts.written == 0)
        if counts.written:
            self.work.report(
                Remark(
                    f"{counts.written} items hold {', '.join(sorted(targets))} already: a rollback cannot tell them "
                    "apart and will be refused (undo='journal' would allow it)",
                    "warning",
                )
            )

    def _looking(self, _segment: Segment) -> Handler:
        targets = self.step.transform.targets or frozenset()

        def handle(items: Sequence[Item]) -> PageOutcome:
            held = sum(1 for item in items if targets & item.keys())
            return PageOutcome(Counts(scanned=len(items), written=held))

        return handle

    # --- pass

    def _writing(self, segment: Segment) -> Handler:
        writer = self._writer(segment.check)
        writer.keeps_resolved = bool(segment.known_failures)
        return writer.settle

    def _sweeping(self, segment: Segment) -> Handler:
        """As `_writing`, after a pass over an export: nearly every item is done, which a read tells and no write."""
        writer = self._writer(segment.check)
        writer.keeps_resolved = bool(segment.known_failures)
        if self.step.transform.once:
            # What is done already is told item by item, not by the page.
            writer.decide, writer.decide_page = self._unless_done_once(writer.decide), None
        return writer.settle

    def _unless_done_once(self, decide: Callable[[Item], Decision]) -> Callable[[Item], Decision]:
        if not self.step.transform.once:
            return decide

        def decided(item: Item) -> Decision:
            decision = decide(item)
            done = isinstance(decision, Decided) and self._is_done_once(key_of(item, self.key_names))
            return Unchanged() if done else decision

        return decided

    def _writer(self, check: Callable[[], RecordAction]) -> Writer:
        decider = self.decider()
        transaction = Transaction(self._journal_records, self._after_checks_lost) if self.step.is_journalled else None
        return Writer(
            self.work,
            self.table,
            self.key_names,
            decider.decide,
            transaction,
            segment_check=check,
            decide_page=PageDecider(decider).of,
        )

    def _journal_records(self, item: Item, write: Write) -> list[RecordAction]:
        """The journal record that goes with a write: what was and what will be of the attributes that change."""
        assert isinstance(write, Update)
        journal, revision = self.work.journal, self.work.revision
        changed = {*write.change.set, *write.change.remove}
        before = {name: item[name] for name in changed if name in item}
        after = dict(write.change.set)
        if self.step.transform.once:
            return [journal.put_action(revision, self.step_id, write.key, before, after, Expect(absent=True))]
        known = journal.get(revision, self.step_id, write.key)
        if known is None:
            return [journal.put_action(revision, self.step_id, write.key, before, after, Expect(absent=True))]
        # Written before by this step: what was before it stays what it was, unless the application wrote since.
        ours, touched = known.after or {}, {*(known.before or {}), *(known.after or {})}
        for name in changed & touched:
            if same(ours.get(name), item.get(name)):
                _put_or_drop(before, name, (known.before or {}).get(name))
        merged_before = {**(known.before or {}), **before}
        for name in changed - before.keys():
            merged_before.pop(name, None)
        merged_after = {**ours, **after}
        for name in write.change.remove:
            merged_after.pop(name, None)
        expect = Expect(absent=False, version=known.version)
        return [journal.put_action(revision, self.step_id, write.key, merged_before, merged_after, expect)]

    def _after_checks_lost(self, item: Item, _lost: ChecksLost) -> Decision | None:
        if self.step.transform.once:
            key = key_of(item, self.key_names)
            if self.work.journal.get(self.work.revision, self.step_id, key) is not None:
                return Unchanged()
        return None

    # --- check

    def _checking(self, segment: Segment) -> Handler:
        """Counts what is still to change as `written`: so a checkpoint of the check remembers it."""
        decide_page = PageDecider(self.decider()).of

        def handle(items: Sequence[Item]) -> PageOutcome:
            outcome = PageOutcome()
            tally = outcome.tally
            tally.scanned = len(items)
            found = decide_page(items)
            tally.unchanged, tally.not_selected = found.unchanged, found.not_selected
            to_change = ((item, Decided(update.change)) for item, update in found.updates)
            for item, decision in (*to_change, *found.others):
                if decision.__class__ is Unchanged:
                    tally.unchanged += 1
                    continue
                key = key_of(item, self.key_names)
                match decision:
                    case Decided() if self._is_done_once(key):
                        tally.unchanged += 1
                    case Decided():
                        tally.written += 1
                        with self._lock:
                            self._found.append(key_text(key))
                            del self._found[:-EXAMPLES]
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
            outcome.counts = tally.counts()
            return outcome

        return handle

    def _is_done_once(self, key: Key) -> bool:
        if not self.step.transform.once:
            return False
        return self.work.journal.get(self.work.revision, self.step_id, key) is not None


def _put_or_drop(values: dict[str, AttributeValue], name: str, value: AttributeValue | None) -> None:
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
