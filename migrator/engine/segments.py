"""One pass over a table: segments of a scan, each page handled, then checkpointed: writes first, checkpoint second."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from migrator.config import Limits
from migrator.control.checkpoints import AnyStage, Checkpoint
from migrator.core.events import Counts, SegmentProgress
from migrator.core.exports import Export, Exports
from migrator.core.item import Item, fingerprint
from migrator.core.ports import LiveTable, RecordAction
from migrator.engine.crew import SegmentNews
from migrator.engine.outcomes import PageOutcome
from migrator.engine.pages import ExportPages, Pages, PageSize, Team
from migrator.engine.work import Work
from migrator.errors import MigratorError, counted

SEGMENT_BYTES = 100 * 1024 * 1024
LEAST_SEGMENTS = 4
CHECKPOINT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Segment:
    """What a handler knows of the segment that it works on."""

    number: int
    check: Callable[[], RecordAction]
    """That its record still carries this run's token: part of every transactional write."""
    known_failures: frozenset[str] = frozenset()
    """The hashed keys of the step's items that failed before, skipped ones included."""


Handler = Callable[[Sequence[Item]], PageOutcome]


@dataclass(slots=True)
class Pass:
    """A scan of one table by segments, or of its export by files, resumed where its checkpoints stand."""

    work: Work
    step: str
    stage: AnyStage
    alias: str
    content_hash: str
    handler: Callable[[Segment], Handler]
    """Makes the handler of a segment: called once in the thread that works on it."""
    saves_failures: bool = True
    found: list[str] = field(default_factory=list)
    """Keys that the handlers found, for a person."""
    export: Export | None = None
    """What is read in place of the table; each of its files is a segment."""
    _counts: list[Counts] = field(default_factory=list)
    _sum: Counts = field(default_factory=Counts)
    """Of all segments, kept beside: there may be thousands, to be added up with every page."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _team: Team = field(default_factory=lambda: Team(1))
    _repeats: bool = False
    _finished: set[int] = field(default_factory=set)
    """Segments that are done."""
    _approximate: int | None = None
    _key_names: tuple[str, ...] = ()
    is_alone: bool = False
    """Whether this process works on it by itself: others know the passes of single items' steps only."""
    _failed: int = 0
    """Items that failed in this run: those of earlier ones do not stop it again."""
    _known: frozenset[str] = frozenset()
    _skipped: frozenset[str] = frozenset()
    _tell: Callable[[SegmentNews], None] | None = None
    """In a worker: where its news go."""
    _rates: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Worker -> (reads, writes) in units a second."""

    @property
    def lent_exports(self) -> Exports | None:
        """For a worker, which has no record of the step to tell which export the pass reads."""
        exports = self.work.exports
        if exports is None or self.export is None or self.stage == "export-check":
            return exports
        return replace(exports, first=self.export)

    @property
    def id(self) -> str:
        return f"{self.step}:{self.stage}"

    def any_check(self) -> RecordAction:
        """The fence of writes that belong to no page, such as a retry's: that of the first segment."""
        return self.work.checkpoints.segment_check(Checkpoint(self.work.revision, self.id, 0, 1))

    def run(self) -> tuple[Counts, bool]:
        """Scan what is left. Returns the counts of the whole pass and whether it must be repeated until stable."""
        work = self.work
        live = self._look_at_table()
        export = self.export
        total = segments_of(live, work.limits) if export is None else max(1, export.file_count)
        # Lines of one export say nothing of another one, nor of a scan.
        content = self.content_hash if export is None else f"{self.content_hash}:{export.id}"
        bound = (work.revision, self.id, total, content, live.table_id)
        claim = work.checkpoints.claim(*bound, stage=self.stage)
        if claim.changed:
            claim = work.checkpoints.restart(*bound, stage=self.stage)
        checkpoints = claim.checkpoints
        self._known, self._skipped = known_failures(work, self.step)
        self._counts = [checkpoint.counts for checkpoint in checkpoints]
        self._sum = sum(self._counts, Counts())
        self._finished = {checkpoint.segment for checkpoint in checkpoints if checkpoint.done}
        # Neighbouring segments are neighbouring partitions: shuffled, their writes spread.
        order = [n for n in work.entropy.shuffled(range(len(checkpoints))) if not checkpoints[n].done]
        self._report()
        if work.crew is not None and order and not self.is_alone:
            work.crew.work(self, order, len(checkpoints))
        else:
            self._team = Team(work.limits.workers)
            self._team.work(order, lambda n: self._segment(n, checkpoints[n]))
        return sum(self._counts, Counts()), self._repeats

    def _look_at_table(self) -> LiveTable:
        """As it is: the table may have been made by this very revision."""
        live = self.work.live(self.alias)
        self._approximate = (live.item_count if self.export is None else self.export.item_count) or None
        self._key_names = live.shape.key_names
        return live

    # --- with a crew

    def enlist(self, tell: Callable[[SegmentNews], None]) -> Team:
        """Make this a worker's pass, whose news go to the run that claimed the segments. Returns what halts it."""
        self._tell = tell
        self._look_at_table()
        self._known, self._skipped = known_failures(self.work, self.step)
        return self._team

    def work_on(self, number: int, total: int) -> None:
        """In a worker: go on with one segment where its checkpoint stands. Raises LeaseLost where it is not ours."""
        at = Checkpoint(self.work.revision, self.id, number, total, self.stage)
        self._go_on(self.work.checkpoints.held(at), repeats=False)

    def attempt(self, number: int, total: int) -> None:
        """As `work_on`, where an earlier attempt at the segment may still be alive: that one fails from here."""
        at = Checkpoint(self.work.revision, self.id, number, total, self.stage)
        stands, epoch = self.work.checkpoints.attempt(at)
        # What an earlier attempt saw, and died before it could tell, may have been a reason to repeat the pass.
        self._go_on(stands, repeats=epoch > 1)

    def _go_on(self, stands: Checkpoint, *, repeats: bool) -> None:
        if self._tell is not None:
            # Who had it before may have died between the checkpoint and its news.
            self._tell(SegmentNews(stands.segment, stands.counts, stands.done, repeats, 0))
        self._segment(stands.segment, stands)

    def lost_a_worker(self) -> None:
        """A worker died, and with it what it had not told: whether the pass is to be repeated, among that."""
        with self._lock:
            self._repeats = True

    def take(self, news: SegmentNews) -> None:
        """A worker's news. Raises `too-many-failures`."""
        with self._lock:
            self._failed += news.failed
            self._rates[news.worker] = (news.reads, news.writes)
            self.found += news.found
        self._count(news.segment, news.counts, news.repeats, news.done)
        self._refuse_too_many_failures()

    def _segment(self, n: int, checkpoint: Checkpoint) -> None:
        work, clock = self.work, self.work.clock
        pages = self._pages(checkpoint)
        handle = self.handler(Segment(n, partial(work.checkpoints.segment_check, checkpoint), self._known))
        saved = checkpoint
        saved_at = clock.monotonic()
        try:
            while not checkpoint.done:
                self._team.raise_if_halted()
                work.heed()
                page = pages.read(checkpoint.next)
                outcome = handle(page.items)
                self._settle_failures(outcome)
                read = sum(page.consumed.read.values())
                counts = checkpoint.counts + replace(outcome.counts, read_units=outcome.counts.read_units + read)
                checkpoint = replace(checkpoint, next=page.next, done=page.next is None, counts=counts)
                self._note(n, checkpoint, outcome)
                pages.handled()
                now = clock.monotonic()
                if checkpoint.done or now - saved_at >= CHECKPOINT_SECONDS:
                    work.checkpoints.save(checkpoint)
                    saved, saved_at = checkpoint, now
                self._refuse_too_many_failures()
        except MigratorError:
            # Pages that are whole are kept, whatever stopped the next one; a lost lease cannot save, and need not.
            if checkpoint is not saved and not work.lease.is_lost:
                work.checkpoints.save(checkpoint)
            raise
        finally:
            pages.close()

    def _pages(self, checkpoint: Checkpoint) -> Pages | ExportPages:
        work = self.work
        table = work.name(self.alias)
        size, prefix = PageSize(work.clock), work.control_prefixes.get(table)
        if self.export is not None:
            return ExportPages(self.export, size, self._key_names, prefix, checkpoint.segment)
        return Pages(
            work.items,
            size,
            work.entropy,
            work.pace,
            work.wait,
            table,
            self._key_names[0],
            prefix,
            checkpoint.segment,
            checkpoint.total,
        )

    def _settle_failures(self, outcome: PageOutcome) -> None:
        """Failed items are durable before their page is checkpointed."""
        if not self.saves_failures:
            return
        with self._lock:
            self._failed += sum(fingerprint(failure.key) not in self._skipped for failure in outcome.failures)
        settle_failures(self.work, self.step, outcome, self._known, self._skipped)

    def _refuse_too_many_failures(self) -> None:
        most = self.work.limits.max_failures
        count = self._failed
        if self.saves_failures and most is not None and count >= most:
            raise MigratorError(
                "too-many-failures",
                f"{counted(count, 'item')} failed, the most allowed is {most}: stopped at a checkpoint",
                hint=f"see `migrator failed list {self.work.revision}`; mend the cause and run the same command again",
                exit_code=6,
            )

    # --- telling

    def _note(self, n: int, checkpoint: Checkpoint, outcome: PageOutcome) -> None:
        if self._tell is None:
            self._count(n, checkpoint.counts, outcome.repeats, checkpoint.done)
            return
        found = []
        while self.found:
            found.append(self.found.pop(0))
        failed = sum(fingerprint(failure.key) not in self._skipped for failure in outcome.failures)
        rates = self.work.pace.rates()
        self._tell(SegmentNews(n, checkpoint.counts, checkpoint.done, outcome.repeats, failed, tuple(found), *rates))

    def _count(self, n: int, counts: Counts, repeats: bool, done: bool) -> None:
        with self._lock:
            self._sum += counts - self._counts[n]
            self._counts[n] = counts
            self._repeats = self._repeats or repeats
            self._finished |= {n} if done else set()
        self._report()

    def _total(self) -> Counts:
        with self._lock:
            return self._sum

    def _report(self) -> None:
        reads, writes = self.work.pace.rates()
        with self._lock:
            reads += sum(rate for rate, _ in self._rates.values())
            writes += sum(rate for _, rate in self._rates.values())
        self.work.report(
            SegmentProgress(
                self.work.revision,
                self.step,
                self.stage,
                self._total(),
                len(self._finished),
                len(self._counts),
                self._approximate,
                writes,
                reads,
            )
        )


def segments_of(live: LiveTable, limits: Limits) -> int:
    """How many segments a scan of the table has."""
    return limits.segments or max(LEAST_SEGMENTS, math.ceil(live.size_bytes / SEGMENT_BYTES))


def known_failures(work: Work, step: str) -> tuple[frozenset[str], frozenset[str]]:
    """The hashed keys of the items of a step that failed before, and of those among them that an operator skips."""
    failures = list(work.failures.all(work.revision, step))
    known = frozenset(fingerprint(failed.key) for failed in failures)
    return known, frozenset(fingerprint(failed.key) for failed in failures if failed.skipped_because)


def settle_failures(
    work: Work, step: str, outcome: PageOutcome, known: frozenset[str], skipped: frozenset[str]
) -> None:
    """Record what failed, unless an operator skips it, and strike off what failed before and is now right."""
    for failure in outcome.failures:
        if fingerprint(failure.key) not in skipped:
            work.failures.record(work.revision, step, failure.key, failure.code, failure.reason, work.lease)
    if known:
        for key in outcome.resolved:
            if fingerprint(key) in known:
                work.failures.resolve(work.revision, step, key, work.lease)
