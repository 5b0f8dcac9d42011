"""The driver: reads pairs of items together, asks what is to be done, does it in one transaction, until nothing is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from migrator.core.change import ChecksLost, GuardLost, Refused, TryAgain, Unknown, Written
from migrator.core.events import Counts
from migrator.core.item import Item, fingerprint, key_text
from migrator.core.ports import Consumed, Joint, RecordAction
from migrator.core.rewrite.hints import Job
from migrator.core.rewrite.reconcile import ENDS, Collision, Equal, Failed, Look, Place, Repair, Seen, Verdict
from migrator.core.rewrite.removal import DROP
from migrator.engine.outcomes import Failure, PageOutcome
from migrator.engine.pacing.refusals import give_way
from migrator.engine.rewriting.batch import BatchSize, Load, places_of
from migrator.engine.work import Work
from migrator.engine.writes import MOST_DECISIONS, MOST_TRIES, write_units
from migrator.errors import AnswerLost, MigratorError, Throttled

MOST_READ = 100
"""Items in one TransactGetItems."""
MOST_LOOKS = 10
"""How often more may have to be read before anything can be said of one pair."""
LOOKS_AGAIN, LOOK_SECONDS = 3, 1.0
"""What may be a write under way is looked at again so often, so many seconds apart, before it counts."""
_FINAL = ENDS | {DROP}
_FIRST_DELAY, _LONGEST_DELAY = 0.05, 10.0


Decide = Callable[[Job, Seen], Verdict]


@dataclass(slots=True)
class _Task:
    job: Job
    places: tuple[Place, ...]
    repair: Repair | None = None
    units: float = 0.0
    looks: int = 0
    looked_again: int = 0
    decisions: int = 0
    tries: int = 0
    is_uncertain: bool = False
    """An earlier request for it got no answer: it may have been applied."""
    is_alone: bool = False
    """It is sent by itself: a transaction with others was refused, and none can say for which."""
    has_written: bool = False
    ready_at: float = 0.0


@dataclass(slots=True)
class Pairs:
    """Brings pairs to where `decide` finds them equal, one transaction at a time: each thread has its own."""

    work: Work
    decide: Decide
    size: BatchSize
    segment_check: Callable[[], RecordAction]
    looks_again: frozenset[str] = frozenset()
    """Codes of failures that may be a write under way."""
    _read_size: int = MOST_READ
    _units_read: float = 0.0
    _units_write: float = 0.0
    failed: list[Job] = field(default_factory=list)
    """Whose the failures of the last outcome are, in their order."""
    _page: PageOutcome = field(default_factory=PageOutcome)

    def settle(self, jobs: Sequence[Job]) -> PageOutcome:
        """Every pair to a final outcome. Raises LeaseLost, Throttled, AnswerLost; looks for a stop between requests."""
        self._page, self.failed = PageOutcome(), []
        read, write = self._units_read, self._units_write
        waiting, pending = deque(_Task(job, job.places) for job in jobs), list[_Task]()
        while pending or waiting:
            if len(pending) <= MOST_READ:
                # Not all of a page at once: what was read long ago is likelier to have changed.
                pending += [waiting.popleft() for _ in range(min(MOST_READ, len(waiting)))]
            self.work.heed()
            self.work.lease.beat_if_due()
            now = self.work.clock.monotonic()
            ready = [task for task in pending if task.ready_at <= now]
            if not ready:
                first = min(task.ready_at for task in pending)
                self.work.wait(first - now, "back-off: an item is being written by others, or is to be looked at again")
                continue
            unread = [task for task in ready if task.repair is None]
            done = self._look(unread) if unread else self._write([task for task in ready if task.repair is not None])
            pending = [task for task in pending if id(task) not in done]
        # An item has a pair by each route: while one of them fails, the item is not right.
        failed = {fingerprint(failure.key) for failure in self._page.failures}
        self._page.resolved = [key for key in self._page.resolved if fingerprint(key) not in failed]
        counts = self._page.counts
        self._page.counts = replace(counts, read_units=self._units_read - read, write_units=self._units_write - write)
        return self._page

    # --- reading

    def _look(self, tasks: Sequence[_Task]) -> set[int]:
        """Read as many of them as one request holds, and judge them. Returns those that are done."""
        chosen: list[_Task] = []
        wanted: dict[str, Place] = {}
        for task in tasks:
            more = {place.id: place for place in task.places}
            if chosen and len(wanted.keys() | more.keys()) > self._read_size:
                break
            chosen.append(task)
            wanted |= more
        seen = self.read_together(list(wanted.values()), chosen)
        if seen is None:
            return set()
        return {id(task) for task in chosen if self._judge(task, _only(seen, task.places))}

    def read_together(self, places: Sequence[Place], tasks: Sequence[_Task] = ()) -> Seen | None:
        """The items at one moment; None where the service refused for now: the tasks back off, fewer are read."""
        work = self.work
        if len(places) > MOST_READ:
            raise ValueError(f"{len(places)} items cannot be read at one moment")
        work.pace.before("read")
        try:
            items = work.items.get_together([(place.table, place.key) for place in places])
        except Throttled:
            for task in tasks:
                task.tries += 1
                if task.tries >= MOST_TRIES:
                    raise
                self._back_off(task, task.tries)
            work.pace.throttled("read", places[0].table)
            self._read_size = max(2, self._read_size // 2)
            return None
        self._read_size = min(MOST_READ, self._read_size + 2)
        seen, units = Seen(), dict[str, float]()
        for place, item in zip(places, items, strict=True):
            seen.put(place, item)
            units[place.table] = units.get(place.table, 0.0) + read_units(item)
        work.pace.spent(Consumed(read=units))
        self._units_read += sum(units.values())
        return seen

    def _judge(self, task: _Task, seen: Seen) -> bool:
        """Whether the pair is done with."""
        match self.decide(task.job, seen):
            case Equal(twin):
                self._done(task, seen, twin)
            case Look(places):
                task.looks += 1
                if task.looks <= MOST_LOOKS:
                    task.places = tuple({place.id: place for place in (*task.places, *places)}.values())
                    return False
                self._fail(task, "guard-lost", f"where its twin belongs changed {task.looks} times in a row")
            case Repair() as repair:
                task.repair, task.looks = repair, 0
                task.units = sum(2 * write_units(_item(seen, place)) for place in places_of(repair))
                return False
            case Collision(twin, rival):
                whose = (
                    "an item that is no twin" if rival is None else f"the twin of {rival.table} {key_text(rival.key)}"
                )
                home = task.job.home
                self._fail(
                    task,
                    "key-collision",
                    f"{twin.table} {key_text(twin.key)}, where the twin of {home.table} {key_text(home.key)} belongs, "
                    f"holds {whose}",
                )
            case Failed(code, message):
                if code in self.looks_again and task.looked_again < LOOKS_AGAIN:
                    task.looked_again += 1
                    task.ready_at = self.work.clock.monotonic() + LOOK_SECONDS
                    return False
                self._fail(task, code, message)
        return True

    # --- writing

    def _write(self, tasks: Sequence[_Task]) -> set[int]:
        """Send as many repairs as fit one transaction. Returns the tasks that are done."""
        batch = self._cut(tasks)
        self.work.pace.before("write")
        began = self.work.clock.monotonic()
        joint = self._send(batch)
        self.work.pace.answered(self.work.clock.monotonic() - began)
        self._spend(batch, joint)
        owners = _owners(batch)
        concerned = [owners[position] for position in joint.at if position < len(owners)]
        if joint.at and not concerned:
            self._segment_lost()
        return self._take(batch, list({id(task): task for task in concerned}.values()) or batch, joint)

    def _cut(self, tasks: Sequence[_Task]) -> list[_Task]:
        budget = self.work.pace.most_units("write")
        batch: list[_Task] = []
        load = Load()
        for task in tasks:
            assert task.repair is not None
            if batch and (task.is_alone or len(batch) >= self.size.size):
                continue
            if load.takes(task.repair, task.units, budget):
                batch.append(task)
                if task.is_alone:
                    break
        return batch

    def _send(self, batch: Sequence[_Task]) -> Joint:
        repairs = [task.repair for task in batch if task.repair is not None]
        return self.work.items.together(
            [one for repair in repairs for one in repair.writes],
            [one for repair in repairs for one in repair.checks],
            [self.segment_check()],
            self.work.lease,
        )

    def _segment_lost(self) -> None:
        """Only the segment's record was not as expected: another run claimed it."""
        self.work.lease.confirm()
        raise MigratorError(
            "checkpoint-lost",
            "the checkpoint of the segment at work is not as this run left it",
            hint="run the same command again: it claims the segments anew",
        )

    def _spend(self, batch: Sequence[_Task], joint: Joint) -> None:
        consumed = joint.consumed
        if isinstance(joint.outcome, ChecksLost | GuardLost):
            # A failed condition consumes too, and the answer does not say what (facts §4.1).
            consumed = Consumed(write=_estimate(batch))
        self.work.pace.spent(consumed)
        self._units_write += sum(consumed.write.values())
        self._units_read += sum(consumed.read.values())

    def _take(self, batch: Sequence[_Task], concerned: Sequence[_Task], joint: Joint) -> set[int]:
        done: set[int] = set()
        match joint.outcome:
            case Written():
                self.size.went_well()
                return {id(task) for task in batch if self._written(task)}
            case ChecksLost() | GuardLost():
                # Somebody wrote one of them meanwhile, or the segment is another run's: then nothing further is sent.
                self.work.lease.confirm()
                self._shrink(batch)
                for task in concerned:
                    if self._decide_again(task):
                        done.add(id(task))
            case Refused(code, message):
                if len(batch) > 1 and not joint.at:
                    for task in batch:
                        task.is_alone = True
                    return done
                for task in concerned:
                    self._fail(task, code, message)
                    done.add(id(task))
            case Unknown(message):
                for task in batch:
                    task.is_uncertain = True
                    self._try_later(task, AnswerLost(f"a transaction had no answer {task.tries + 1} times: {message}"))
                    task.repair = None
            case TryAgain(code, message, reasons):
                give_way(self.work.pace, self._first_table(concerned), code, reasons)
                if code == "transaction-conflict":
                    self._shrink(batch)
                for task in concerned:
                    refused = f"a transaction was refused {task.tries + 1} times in a row: {message}"
                    self._try_later(task, Throttled(refused, reasons))
        return done

    def _written(self, task: _Task) -> bool:
        """Whether nothing more is to be done."""
        assert task.repair is not None
        task.has_written, task.tries = True, 0
        if task.repair.what not in _FINAL:
            task.repair = None
            return False
        self._note(task, written=1)
        return True

    def _decide_again(self, task: _Task) -> bool:
        task.decisions += 1
        counts = self._page.counts
        self._page.counts = replace(counts, conflicts=counts.conflicts + (0 if task.is_uncertain else 1))
        if task.decisions - task.tries >= MOST_DECISIONS:
            self._fail(task, "guard-lost", f"it, or its twin, changed under {task.decisions} decisions in a row")
            return True
        task.repair = None
        self._back_off(task, task.decisions)
        return False

    def _try_later(self, task: _Task, or_raise: MigratorError) -> None:
        task.tries += 1
        if task.tries >= MOST_TRIES:
            raise or_raise
        self._back_off(task, task.tries)

    def _shrink(self, batch: Sequence[_Task]) -> None:
        if len(batch) > 1:
            self.size.met_conflict()

    @staticmethod
    def _first_table(tasks: Sequence[_Task]) -> str:
        (repair, *_) = [task.repair for task in tasks if task.repair is not None]
        return repair.writes[0][0]

    def _back_off(self, task: _Task, tries: int) -> None:
        longest = min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(tries, 16))
        task.ready_at = self.work.clock.monotonic() + self.work.entropy.uniform(0.0, longest)

    # --- outcomes

    def _done(self, task: _Task, seen: Seen, twin: Place | None) -> None:
        if task.has_written or task.is_uncertain:
            self._note(task, written=1)
        elif twin is not None:
            self._note(task, unchanged=1)
        elif seen.at(task.job.home) is None:
            self._note(task, gone=1)
        else:
            self._note(task, not_selected=1)

    def _note(self, task: _Task, **counts: int) -> None:
        self._page.counts += Counts(**counts)
        self._page.resolved.append(task.job.key)

    def _fail(self, task: _Task, code: str, reason: str) -> None:
        self._page.counts += Counts(failed=1)
        self.failed.append(task.job)
        self._page.failures.append(Failure(task.job.key, code, reason))


def read_units(item: Item | None) -> float:
    """The read units of an item in a transaction: two for each 4 KB (facts §4.1)."""
    return 2.0 * max(1, -(-write_units(item) // 4)) if item is not None else 2.0


def _only(seen: Seen, places: Sequence[Place]) -> Seen:
    """What was read for one pair: a verdict rests on nothing else."""
    return Seen({place.id: seen.at(place) for place in places})


def _item(seen: Seen, place: Place) -> Item:
    return (seen.at(place) if seen.has(place) else None) or {}


def _owners(batch: Sequence[_Task]) -> list[_Task]:
    """Whose each action is, in the order of the request: the writes of all, then the checks of all."""
    repairs = [(task, task.repair) for task in batch if task.repair is not None]
    return [task for task, repair in repairs for _ in repair.writes] + [
        task for task, repair in repairs for _ in repair.checks
    ]


def _estimate(batch: Sequence[_Task]) -> Mapping[str, float]:
    units: dict[str, float] = {}
    for task in batch:
        if task.repair is not None:
            table = task.repair.writes[0][0]
            units[table] = units.get(table, 0.0) + task.units
    return units
