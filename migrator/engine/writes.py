"""Guarded writes for the items of one page: write, and where the guard was lost, read and decide again."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from migrator.core.change import (
    ChecksLost,
    GuardLost,
    Outcome,
    Refused,
    TextUpdate,
    TryAgain,
    Unknown,
    Update,
    Write,
    Written,
)
from migrator.core.compiled import PageDecisions
from migrator.core.item import Item, Key, fingerprint, item_size, key_of
from migrator.core.ports import Consumed, Outcomes, RecordAction
from migrator.core.transform import Decided, Decision, Failed, NotSelected, Skipped, Unchanged
from migrator.engine.outcomes import Failure, PageOutcome
from migrator.engine.pacing.refusals import give_way
from migrator.engine.work import Work
from migrator.errors import AnswerLost, Throttled

MOST_DECISIONS = 10
"""How often one item is decided anew before it counts as failed: a hotter item is for an operator."""
MOST_TRIES = 40
"""Passing refusals in a row before the run stops by load (exit 7); the waits between them add up to minutes."""
_FIRST_DELAY, _LONGEST_DELAY = 0.05, 10.0


@dataclass(frozen=True, slots=True)
class Transaction:
    """How a step writes when each write goes with control records: journalled and `once` steps."""

    records: Callable[[Item, Write], Sequence[RecordAction]]
    """The records of one write, given the item as decided on."""
    on_checks_lost: Callable[[Item, ChecksLost], Decision | None]
    """Judges a lost check: a final decision (Unchanged: it was done before), or None to read and decide again."""


@dataclass(slots=True)
class _Pending:
    item: Item
    write: Write
    decisions: int = 1
    tries: int = 0
    is_uncertain: bool = False
    """An earlier request for it got no answer: it may have been applied."""
    ready_at: float = 0.0
    """When it may be tried again, on the monotonic clock."""
    is_held: bool = False
    """Until then it is held for the sake of its hot key."""

    @property
    def key(self) -> Key:
        return self.write.key


@dataclass(slots=True)
class Writer:
    """Writes what a step decides. `decide` is pure but for lookups; `to_write` turns a change into a write."""

    work: Work
    table: str
    """Physical."""
    key_names: tuple[str, ...]
    decide: Callable[[Item], Decision]
    transaction: Transaction | None = None
    transact_lock: threading.Lock = field(default_factory=threading.Lock)
    segment_check: Callable[[], RecordAction] | None = None
    to_write: Callable[[Key, Item, Decided], Write] = lambda key, _item, decided: Update(key, decided.change)
    absent_is_gone: bool = True
    """An item that is not there was deleted by the application; for a Put it is simply not written yet."""
    on_written: Callable[[Item, Write, Written], None] | None = None
    keeps_resolved: bool = True
    """Whether anybody asks for `PageOutcome.resolved`: nobody does where nothing has failed before."""
    decide_page: Callable[[Sequence[Item]], PageDecisions] | None = None
    """`decide` of a whole page at once, where the change itself is what is written."""
    units_write: float = 0.0
    units_read: float = 0.0

    def settle(self, items: Sequence[Item]) -> PageOutcome:
        """Bring every item to a final outcome. Raises LeaseLost, Throttled; a stop is looked for between batches."""
        page = PageOutcome()
        read, write = self.units_read, self.units_write
        pending: list[_Pending] = []
        for item, decision in self._decisions(page, pending, items):
            if decision.__class__ is Unchanged and not self.keeps_resolved:
                page.tally.unchanged += 1
            else:
                self._judge(page, pending, key_of(item, self.key_names), item, decision, 1)
        page.tally.scanned += len(items)
        has_delays = False
        while pending:
            self.work.heed()
            later: list[_Pending] = []
            ready = pending
            if has_delays or self.work.pace.has_hot_keys:
                now = self.work.clock.monotonic()
                ready = [one for one in pending if one.ready_at <= now]
                if not ready:
                    first = min(one.ready_at for one in pending)
                    self.work.wait(first - now, self._why_held(pending))
                    continue
                ready = self._not_held(ready, now)
                later = [one for one in pending if one.ready_at > now]
                has_delays = bool(later)
            batch, rest = self._cut(ready)
            # An item that backs off holds up nobody else.
            pending = rest + later if later else rest
            if batch:
                has_delays = self._settle_batch(page, pending, batch) or has_delays
        page.counts = page.tally.counts(self.units_read - read, self.units_write - write)
        return page

    def _settle_batch(self, page: PageOutcome, pending: list[_Pending], batch: list[_Pending]) -> bool:
        """Send a batch; what has no final outcome is pending again. Returns whether any of that is to wait first."""
        counts_alone = self.on_written is None and not self.keeps_resolved
        has_delays = False
        for one, outcome in zip(batch, self._send(batch), strict=True):
            if counts_alone and outcome.__class__ is Written:
                page.tally.written += 1
                continue
            others = len(pending)
            delay = self._take(page, pending, one, outcome)
            if delay and len(pending) > others:
                pending[-1].ready_at = self.work.clock.monotonic() + delay
                has_delays = True
        return has_delays

    def _decisions(
        self, page: PageOutcome, pending: list[_Pending], items: Sequence[Item]
    ) -> Iterable[tuple[Item, Decision]]:
        """The decisions that are still to be judged one by one."""
        # Where something has failed before, somebody asks of each key what came of it.
        if self.decide_page is None or self.keeps_resolved:
            return ((item, self.decide(item)) for item in items)
        found = self.decide_page(items)
        page.tally.unchanged += found.unchanged
        page.tally.not_selected += found.not_selected
        pending += [_Pending(item, update) for item, update in found.updates]
        return found.others

    # --- sending

    def _cut(self, pending: list[_Pending]) -> tuple[list[_Pending], list[_Pending]]:
        budget = self.work.pace.most_units("write")
        most = self.work.items.most_writes
        if budget == math.inf:
            return pending[:most], pending[most:]
        factor = 1 if self.transaction is None else 2
        batch: list[_Pending] = []
        units = 0.0
        for one in pending[:most]:
            units += factor * write_units(one.item)
            # At most about a second's worth, so that a small budget is not overdrawn at once.
            if batch and units > budget:
                break
            batch.append(one)
        return batch, pending[len(batch) :]

    def _not_held(self, ready: list[_Pending], now: float) -> list[_Pending]:
        """Those whose partition key is not hot, or may be written now; the others are held, and nobody else is."""
        pace = self.work.pace
        if not pace.has_hot_keys:
            return ready
        factor = 1 if self.transaction is None else 2
        resources = [one for one in pace.hot_resources() if one.partition("/")[0] == self.table]
        for one in ready:
            keys = [(resource, self._partition(one, resource)) for resource in resources]
            held = pace.take_hot(keys, factor * write_units(one.item))
            one.is_held = held > 0
            if held:
                one.ready_at = now + held
        return [one for one in ready if one.ready_at <= now]

    def _why_held(self, pending: Sequence[_Pending]) -> str:
        if any(one.is_held for one in pending):
            return "hot partition key: its items are held, the table's pace stays"
        return "back-off after throttling or a conflict"

    def _partition(self, one: _Pending, resource: str) -> str:
        """The fingerprint of the item's partition key in its table, or in one of its indexes; "" where it has none."""
        index = resource.partition("/")[2]
        names: Sequence[str] = self.key_names[:1]
        if index:
            shape = self.work.indexes_of(self.table).get(index)
            names = () if shape is None else [key.name for key in shape.partition_key]
        image = {**one.item, **(one.write.change.set if isinstance(one.write, Update) else {}), **one.key}
        return fingerprint({name: image[name] for name in names}) if names and image.keys() >= set(names) else ""

    def _send(self, batch: list[_Pending]) -> Sequence[Outcome]:
        self.work.pace.before("write")
        simple = [one for one in batch if not self._needs_transaction(one.write)]
        outcomes: dict[int, Outcome] = {}
        if simple:
            began = self.work.clock.monotonic()
            answer = self.work.items.write(self.table, [one.write for one in simple], self.work.lease)
            self.work.pace.answered(self.work.clock.monotonic() - began)
            self._spend(answer, simple, 1)
            if len(simple) == len(batch):
                return answer.outcomes
            outcomes.update({id(one): outcome for one, outcome in zip(simple, answer.outcomes, strict=True)})
        for one in batch:
            if id(one) not in outcomes:
                if outcomes:
                    self.work.pace.before("write")
                outcomes[id(one)] = self._transact(one)
        return [outcomes[id(one)] for one in batch]

    def _needs_transaction(self, write: Write) -> bool:
        if self.transaction is not None:
            return True
        return write.__class__ is not TextUpdate and isinstance(write, Update) and write.has_checks

    def _transact(self, one: _Pending) -> Outcome:
        records: list[RecordAction] = []
        if self.transaction is not None:
            records += self.transaction.records(one.item, one.write)
        if self.segment_check is not None:
            records.append(self.segment_check())
        # Checks of one segment record conflict with each other: one transaction in flight per segment.
        with self.transact_lock:
            began = self.work.clock.monotonic()
            answer = self.work.items.transact(self.table, one.write, records, self.work.lease)
            self.work.pace.answered(self.work.clock.monotonic() - began)
        self._spend(answer, [one], 2)
        if isinstance(answer.outcomes[0], ChecksLost):
            # What was looked up moved, or another run claimed the segment: then nothing further is sent.
            self.work.lease.confirm()
        return answer.outcomes[0]

    def _spend(self, answer: Outcomes, sent: Sequence[_Pending], factor: int) -> None:
        lost = sum(
            factor * write_units(one.item)
            for one, outcome in zip(sent, answer.outcomes, strict=True)
            if outcome.__class__ is not Written and isinstance(outcome, GuardLost | ChecksLost)
        )
        # A failed condition consumes too, and the answer does not say what (facts §4.1).
        estimate = Consumed(write={self.table: lost}) if lost else Consumed()
        self.work.pace.spent(answer.consumed)
        self.work.pace.spent(estimate)
        self.units_write += sum(answer.consumed.write.values()) + lost
        self.units_read += sum(answer.consumed.read.values())

    # --- judging

    def _take(self, page: PageOutcome, pending: list[_Pending], one: _Pending, outcome: Outcome) -> float:
        """Count a final outcome, or put the item back with a new decision. Returns seconds to wait first."""
        match outcome:
            case Written():
                if self.on_written is not None:
                    self.on_written(one.item, one.write, outcome)
                self._confirm(page, one)
                return 0.0
            case GuardLost(current):
                if current is None:
                    page.tally.gone += 1
                    page.resolved.append(one.key)
                    return 0.0
                # The application changed the item after our read: decide again.
                self._again(page, pending, one, current)
                return 0.0
            case ChecksLost():
                final = None if self.transaction is None else self.transaction.on_checks_lost(one.item, outcome)
                if isinstance(final, Unchanged) and one.is_uncertain:
                    self._confirm(page, one)
                elif final is not None:
                    self._judge(page, pending, one.key, one.item, final, one.decisions)
                else:
                    self._read_again(page, pending, one)
                    return self._delay(one.decisions)
                return 0.0
            case Refused(code, message):
                self._fail(page, one.key, code, message)
                return 0.0
            case Unknown(message):
                one.is_uncertain = True
                one.tries += 1
                if one.tries >= MOST_TRIES:
                    raise AnswerLost(f"writes to {self.table} had no answer {one.tries} times in a row: {message}")
                self._read_again(page, pending, one)
                return self._delay(one.tries)
            case TryAgain(code, message, reasons):
                one.tries += 1
                give_way(self.work.pace, self.table, code, reasons, lambda resource: self._partition(one, resource))
                if one.tries >= MOST_TRIES:
                    raise Throttled(
                        f"writes to {self.table} were refused {one.tries} times in a row: {message}", reasons
                    )
                pending.append(one)
                return self._delay(one.tries)

    def _confirm(self, page: PageOutcome, one: _Pending) -> None:
        """Written: by an answer that said so, or by one that was lost while its effect was not."""
        page.tally.written += 1
        page.resolved.append(one.key)

    def _delay(self, tries: int) -> float:
        return self.work.entropy.uniform(0.0, min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(tries, 16)))

    def _read_again(self, page: PageOutcome, pending: list[_Pending], one: _Pending) -> None:
        current = self.work.items.get(self.table, one.key)
        if current is None and not self.absent_is_gone:
            one.decisions += 1
            if one.decisions > MOST_TRIES:
                self._fail(page, one.key, "guard-lost", f"its put was held back {MOST_TRIES} times in a row")
                return
            pending.append(one)
            return
        if current is None:
            page.tally.gone += 1
            page.resolved.append(one.key)
            return
        self._again(page, pending, one, current)

    def _again(self, page: PageOutcome, pending: list[_Pending], one: _Pending, current: Item) -> None:
        page.tally.conflicts += 0 if one.is_uncertain else 1
        # A lost answer is no decision that another writer overtook: those are bounded by their own count.
        if one.decisions - one.tries >= MOST_DECISIONS:
            self._fail(page, one.key, "guard-lost", f"the item changed under {one.decisions} decisions in a row")
            return
        decision = self.decide(current)
        if one.is_uncertain and isinstance(decision, Unchanged | NotSelected):
            self._confirm(page, one)
            return
        self._judge(page, pending, one.key, current, decision, one.decisions + 1, one.tries, one.is_uncertain)

    def _judge(
        self,
        page: PageOutcome,
        pending: list[_Pending],
        key: Key,
        item: Item,
        decision: Decision,
        decisions: int,
        tries: int = 0,
        is_uncertain: bool = False,
    ) -> None:
        match decision:
            case Decided():
                page.repeats = page.repeats or decision.repeats
                write = self.to_write(key, item, decision)
                pending.append(_Pending(item, write, decisions, tries, is_uncertain))
                return
            case NotSelected():
                page.tally.not_selected += 1
            case Unchanged():
                page.tally.unchanged += 1
            case Skipped():
                page.tally.skipped += 1
            case Failed(code, message):
                self._fail(page, key, code, message)
                return
        page.resolved.append(key)

    def _fail(self, page: PageOutcome, key: Key, code: str, reason: str) -> None:
        page.tally.failed += 1
        page.failures.append(Failure(key, code, reason))


def write_units(item: Item) -> int:
    """The write units of one write to an item: 1 KB each, at least one (facts §4.1)."""
    # An item that is bytes as yet knows how large it is at most: then it need not be decoded to be measured.
    if getattr(item, "most_bytes", 1025) <= 1024:
        return 1
    return max(1, math.ceil(item_size(item) / 1024))
