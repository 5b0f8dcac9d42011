"""RebuildCounters: counters that are counted anew while the application changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from migrator.control.checkpoints import AnyStage
from migrator.core.change import Change
from migrator.core.events import Counts, Remark
from migrator.core.item import (
    AttributeValue,
    Item,
    fingerprint,
    from_python,
    key_of,
    key_text,
    same,
    same_item,
    to_python,
)
from migrator.core.ports import RecordAction
from migrator.core.steps import RebuildCounters
from migrator.core.transform import Decided, Decision, Failed, NotSelected, Unchanged, judged
from migrator.core.view import ItemView
from migrator.core.where import selects
from migrator.engine.failed import failures_outcome, retry_failed
from migrator.engine.outcomes import Failure, PageOutcome
from migrator.engine.segments import Handler, Pass, Segment
from migrator.engine.work import StepOutcome, Work
from migrator.engine.writes import Writer

MOST_ROUNDS = 5
"""How often all counters are looked at before they count as not stable."""
MOST_LOOKS = 10
"""How often one collection is read before its counter counts as never still."""
MOST_COUNTED = 100_000
"""Items of one collection: they are read at once."""
EXAMPLES = 20


@dataclass(slots=True)
class Recount:
    """One RebuildCounters step at work."""

    work: Work
    step_id: str
    step: RebuildCounters
    content_hash: str
    _found: list[str] = field(default_factory=list)

    @property
    def alias(self) -> str:
        return self.work.schema.alias(self.step.table)

    @property
    def key_names(self) -> tuple[str, ...]:
        return self.work.schema.table(self.alias).key_names

    def run(self) -> StepOutcome:
        """Pass after pass, until one finds nothing to change; incomplete where none does, or an item failed."""
        work = self.work
        earlier = list(work.failures.pending(work.revision, self.step_id))
        written = Counts()
        for round_number in range(1, MOST_ROUNDS + 1):
            writing = self.pass_at("pass")
            counts, _ = writing.run()
            if earlier:
                counts += retry_failed(work, self.step_id, self.alias, self._writer(writing.any_check), earlier)
                earlier = []
            written += counts
            left = failures_outcome(work, self.step_id, written)
            if left is not None:
                return left
            found, _ = self.pass_at("check").run()
            left = failures_outcome(work, self.step_id, written)
            self._start_over(only_check=left is not None or not found.written)
            if left is not None:
                return left
            if not found.written:
                text = f"{written.scanned} scanned, {written.written} counters written, {written.unchanged} were right"
                return StepOutcome(text, written)
            work.report(Remark(f"{found.written} counters differ after pass {round_number}: once more"))
        return StepOutcome(
            f"{found.written} counters still differ after {MOST_ROUNDS} passes",
            written,
            is_complete=False,
            examples=tuple(self._found[-EXAMPLES:]),
            question="does every writer change the counter in the transaction that changes the items it counts?",
        )

    def pass_at(self, stage: AnyStage) -> Pass:
        """The pass of a stage, here or in a worker: `pass` or `check`."""
        handler = self._writing if stage == "pass" else self._checking
        return Pass(self.work, self.step_id, stage, self.alias, self.content_hash, handler, found=self._found)

    def _start_over(self, *, only_check: bool) -> None:
        for stage in ("check",) if only_check else ("pass", "check"):
            self.work.checkpoints.clear(self.work.revision, f"{self.step_id}:{stage}")

    # --- one counter

    def decide(self, item: Item) -> Decision:
        """What its collection says of a counter, if it was the same before and after that was read."""
        return judged(self._decide, item)

    def _decide(self, item: Item) -> Decision:
        step, table = self.step, self.work.name(self.alias)
        key = key_of(item, self.key_names)
        first = self._read(item)
        if isinstance(first, NotSelected):
            return first
        for _ in range(MOST_LOOKS):
            before = self.work.items.get(table, key)
            if before is None:
                # It is gone, as the guard of a write would find.
                return Decided(Change({step.attribute: item.get(step.attribute)}, set={step.attribute: {"N": "0"}}))
            reads = self._read(before)
            if isinstance(reads, NotSelected):
                return reads
            counted = self._count(before)
            if isinstance(counted, Failed):
                return counted
            after = self.work.items.get(table, key)
            if after is not None and same_item(before, after):
                return self._as_counted(before, counted, reads)
        return Failed("counter-in-motion", f"it changed each of {MOST_LOOKS} times while its items were counted")

    def _as_counted(
        self, counter: Item, wanted: AttributeValue, reads: Mapping[str, AttributeValue | None]
    ) -> Decision:
        """It is written as it was when its items were counted, and while `where` selects it."""
        name = self.step.attribute
        if same(counter.get(name), wanted):
            return Unchanged()
        guard = {read: value for read, value in reads.items() if read not in self.key_names}
        return Decided(Change({**guard, name: counter.get(name)}, set={name: wanted}))

    def _read(self, item: Item) -> dict[str, AttributeValue | None] | NotSelected:
        """What `where` read of a counter."""
        view = ItemView(item)
        return dict(view.reads) if selects(self.step.where, view) else NotSelected()

    def _count(self, counter: Item) -> AttributeValue | Failed:
        step, name = self.step, self.key_names[0]
        items = self.work.items.query(self.work.name(self.alias), {name: counter[name]}, most=MOST_COUNTED)
        if len(items) > MOST_COUNTED:
            return Failed("collection-too-large", f"its item collection holds more than {MOST_COUNTED:,} items")
        total = Decimal(0)
        for item in items:
            if same_item(key_of(item, self.key_names), key_of(counter, self.key_names)):
                continue
            if not selects(step.count, ItemView(item)):
                continue
            value = 1 if not step.sum else to_python(item[step.sum]) if step.sum in item else 0
            if isinstance(value, bool) or not isinstance(value, int | Decimal):
                return Failed("not-a-number", f"{step.sum} of {key_text(key_of(item, self.key_names))} is no number")
            total += value
        return from_python(total, step.attribute)

    # --- passes

    def _writer(self, check: Callable[[], RecordAction]) -> Writer:
        return Writer(self.work, self.work.name(self.alias), self.key_names, self.decide, segment_check=check)

    def _writing(self, segment: Segment) -> Handler:
        return self._writer(segment.check).settle

    def _checking(self, segment: Segment) -> Handler:
        """Counts what is still to change as `written`."""

        def handle(items: Sequence[Item]) -> PageOutcome:
            outcome = PageOutcome()
            tally = outcome.tally
            tally.scanned = len(items)
            for item in items:
                key = key_of(item, self.key_names)
                match self.decide(item):
                    case Decided():
                        tally.written += 1
                        self._found.append(key_text(key))
                        del self._found[:-EXAMPLES]
                    case Failed(code, message):
                        tally.failed += 1
                        if fingerprint(key) not in segment.known_failures:
                            outcome.failures.append(Failure(key, code, message))
                    case Unchanged():
                        tally.unchanged += 1
                    case _:
                        tally.not_selected += 1
            outcome.counts = tally.counts()
            return outcome

        return handle
