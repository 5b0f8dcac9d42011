"""Comparing the two sides: both scanned, and what seems to differ read once more, at one moment, before it counts."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from migrator.control.phases import PhaseRecord, Verified
from migrator.core.change import Update
from migrator.core.events import Counts, Remark
from migrator.core.item import Item, Key, fingerprint, key_of, key_text
from migrator.core.rewrite.hints import Job
from migrator.core.rewrite.phases import PHASES, Phase, Side
from migrator.core.rewrite.reconcile import Collision, Equal, Failed, Look, Place, Repair, Seen, Verdict
from migrator.core.rewrite.removal import AHEAD
from migrator.core.rewrite.route import PIN, Image, Problem, Route
from migrator.core.rewrite.sketch import Sketch, content_hash, place_hash
from migrator.core.rewrite.steps import VerifyTwins
from migrator.engine.outcomes import Failure, PageOutcome
from migrator.engine.rewriting.expiry import Expiry
from migrator.engine.rewriting.indexes import Indexes
from migrator.engine.rewriting.passes import Rewriting, authority_of, follow, part_id
from migrator.engine.segments import Handler, Segment
from migrator.engine.work import StepOutcome, Work
from migrator.errors import MigratorError, counted

EXAMPLES = 20
MOST_ROUNDS = 3
"""How often the sides are compared while each round finds something to repair."""
DIFFERS = "differs"


def verify_twins(
    work: Work, step_id: str, step: VerifyTwins, content_hash: str, *, repair: bool = False
) -> StepOutcome:
    """Compare both ways, in the phase that stands. `repair`: the twin is made to follow wherever it does not."""
    rewriting = Rewriting.of(work, step_id, step.rewrite, step.slot, content_hash)
    record = rewriting.standing()
    if not repair and step_id.split(".")[-1] != "now":
        due: Phase = "cutover" if step.when == "contract" and step.rewrite.moves else "dual-write"
        if PHASES.index(record.phase) > PHASES.index(due):
            return StepOutcome(f"verified before phase {record.phase} was entered")
    return verify_pairs(rewriting, repair=repair)


def verify_pairs(rewriting: Rewriting, *, repair: bool = False) -> StepOutcome:
    """As `verify_twins`. Clean: the phase record says so, of this generation. Else incomplete, with the keys."""
    record = rewriting.standing()
    if record.phase not in ("dual-write", "cutover"):
        raise MigratorError(
            "phase-wrong",
            f"in phase {record.phase} the two sides need not correspond: there is nothing to compare",
            hint="see `migrator status`",
        )
    counts = Counts()
    for _ in range(MOST_ROUNDS if repair else 1):
        comparison = _Comparison(rewriting, record, repair=repair)
        outcome = comparison.run()
        counts += outcome.counts
        if not comparison.repaired:
            return replace(outcome, counts=counts)
    return replace(
        outcome,
        counts=counts,
        is_complete=False,
        text=f"after {MOST_ROUNDS} rounds of repair there was still something to repair",
        question="who writes one side alone? Stop that writer, then run the same command again",
    )


@dataclass(slots=True)
class _Comparison:
    rewriting: Rewriting
    record: PhaseRecord
    repair: bool
    repaired: int = 0
    _old: Sketch = field(default_factory=Sketch)
    _new: Sketch = field(default_factory=Sketch)
    _indexes: Indexes = field(init=False)
    _alone: int = 0
    """Items of the new side that have no old form: born there."""
    _problems: dict[str, str] = field(default_factory=dict)
    """Items without an image: fingerprint of the place -> what to say of it."""
    _found: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._indexes = Indexes.of(self.rewriting)

    @property
    def authority(self) -> Side:
        return authority_of(self.rewriting.rewrite, self.record.phase)

    def run(self) -> StepOutcome:
        rewriting = self.rewriting
        counts = rewriting.look("check", rewriting.rewrite.tables, self._take)
        apart = self._old.differences(self._new)
        if apart or self._problems:
            counts += self._look_closer(apart)
        if self._alone and not rewriting.rewrite.has_way_back:
            rewriting.work.report(
                Remark(f"{counted(self._alone, 'item')} of the new side have no old form: a way back leaves them there")
            )
        if self._found:
            return self._differing(counts)
        if self.repaired:
            return StepOutcome(f"{counted(self.repaired, 'twin')} repaired", counts)
        of_indexes = self._indexes.differences()
        if of_indexes:
            return StepOutcome(
                f"{counted(len(of_indexes), 'entry', 'entries')} of indexes differ from the items of the new side",
                counts,
                is_complete=False,
                examples=tuple(of_indexes[:EXAMPLES]),
                question="an index follows its table within seconds: run the same command again; if it stays so, "
                "build the index anew",
            )
        pairs = len(self._new)
        self._save(replace(self.record, verified=Verified(self.record.generation, rewriting.now(), pairs), strays=0))
        return StepOutcome(
            f"{counted(pairs, 'pair')}, both sides correspond (generation {self.record.generation})", counts
        )

    # --- both sides

    def _take(self, table: str, items: Sequence[Item]) -> None:
        self._indexes.take(table, items)
        found = [(side, place_hash(place), content_hash(item)) for side, place, item in self._images(table, items)]
        with self._lock:
            for side, place, content in found:
                (self._old if side == "old" else self._new).add(place, content)

    def _images(self, table: str, items: Sequence[Item]) -> Iterable[tuple[Side, Place, Item]]:
        """Every item as it is, or would be, on the new side: an old one by each route."""
        rewrite = self.rewriting.rewrite
        for item in items:
            side = rewrite.side_of(table, item)
            if side == "old":
                for route in rewrite.routes_from(table):
                    image = route.twin_of(item)
                    if isinstance(image, Image):
                        yield "old", Place(route.target, image.key), _without_mark(route, image.item)
                    elif isinstance(image, Problem):
                        self._note_problem(Place(table, key_of(item, route.source_names)), image)
            elif side == "new":
                made = [route for route in rewrite.routes_to(table) if isinstance(route.attributed("new", item), Image)]
                for route in made:
                    yield "new", Place(table, key_of(item, route.target_names)), _without_mark(route, item)
                self._alone += not made

    def _note_problem(self, place: Place, problem: Problem) -> None:
        with self._lock:
            self._problems[place.id] = problem.message

    # --- what seems to differ

    def _look_closer(self, apart: set[int]) -> Counts:
        """Scan once more for the keys of what seems to differ, and read each pair at one moment."""
        rewriting = self.rewriting
        counts = Counts()
        expiry = Expiry.of(rewriting.work, rewriting.rewrite)
        for number, table in enumerate(rewriting.rewrite.tables):
            step = part_id(rewriting.step_id, number)

            def handler(segment: Segment, table: str = table) -> Handler:
                return self._looking(table, apart, expiry, segment)

            one = rewriting.one_pass(step, "check", table, handler, saves_failures=False)
            rewriting.work.checkpoints.clear(rewriting.work.revision, one.id)
            found, _ = one.run()
            rewriting.work.checkpoints.clear(rewriting.work.revision, one.id)
            counts += replace(found, scanned=0, failed=0, unchanged=0, gone=0, not_selected=0)
        return counts

    def _looking(self, table: str, apart: set[int], expiry: Expiry, segment: Segment) -> Handler:
        def decide(job: Job, seen: Seen) -> Verdict:
            verdict = follow(job, seen)
            if isinstance(verdict, Equal | Look):
                return verdict
            if expiry.explains(seen):
                return Equal(None)
            lost = _only_there(job, verdict, seen)
            if lost:
                # An attribute that a sibling has taken over may be written there alone by now.
                return Failed(AHEAD, f"its sibling has {', '.join(lost)}, which the item lacks")
            if self.repair:
                return verdict
            return Failed(DIFFERS, _why(job, verdict))

        pairs = self.rewriting.pairs(segment.check, decide)
        pairs.looks_again = frozenset({DIFFERS})

        def handle(items: Sequence[Item]) -> PageOutcome:
            jobs = [job for item in items for job in self._candidates(table, item, apart)]
            outcome = pairs.settle(_merged(jobs))
            with self._lock:
                self.repaired += outcome.counts.written
                for job, failure in zip(pairs.failed, outcome.failures, strict=True):
                    self._note_difference(job, failure)
            return outcome

        return handle

    def _candidates(self, table: str, item: Item, apart: set[int]) -> Iterable[Job]:
        """The pairs that an item belongs to, where they seem to differ, as seen from the authority."""
        rewrite = self.rewriting.rewrite
        side = rewrite.side_of(table, item)
        for route in rewrite.routes_from(table) if side == "old" else rewrite.routes_to(table):
            if side is None:
                continue
            key = key_of(item, route.names(side))
            image = route.image_of(side, item)
            whose = route.attributed(side, item)
            if side == self.authority and isinstance(image, Problem):
                yield Job(route, side, key)
            elif isinstance(whose, Image):
                new_key = whose.key if side == "old" else key
                if place_hash(Place(route.target, new_key)) not in apart:
                    continue
                if side == self.authority:
                    yield Job(route, side, key, guess=whose.key)
                else:
                    yield Job(route, self.authority, whose.key, hints=(key,))

    def _note_difference(self, job: Job, failure: Failure) -> None:
        """Once for a pair, though both of its items were met."""
        if job.home.id not in self._found:
            self._found[job.home.id] = f"{job.home.table} {key_text(job.key)}: {failure.reason}"

    # --- the outcome

    def _differing(self, counts: Counts) -> StepOutcome:
        record, work = self.record, self.rewriting.work
        self._save(replace(record, verified=None, strays=len(self._found)))
        return StepOutcome(
            f"{counted(len(self._found), 'pair')} differ, in phase {record.phase} since {record.since}",
            counts,
            is_complete=False,
            examples=tuple(sorted(self._found.values()))[:EXAMPLES],
            question="who writes one side alone? Stop that writer; "
            f"`migrator verify {work.revision} --repair` then makes the twins follow their authority",
        )

    def _save(self, record: PhaseRecord) -> None:
        self.rewriting.work.phases.save(record, self.rewriting.work.lease)


def _without_mark(route: Route, item: Item) -> Item:
    return {name: value for name, value in item.items() if name not in (route.mark, PIN)}


def _only_there(job: Job, verdict: Verdict, seen: Seen) -> list[str]:
    """What a repair would take from the sibling of a split though nothing else has it."""
    if not job.route.keep or not isinstance(verdict, Repair) or seen.at(job.home) is None:
        return []
    changes = [write.change for _, write in verdict.writes if isinstance(write, Update)]
    return sorted(name for change in changes for name in change.remove)


def _merged(jobs: Iterable[Job]) -> list[Job]:
    """One job a pair, with the hints of all: two at once would stand in each other's way."""
    found: dict[tuple[int, str], Job] = {}
    for job in jobs:
        name = (id(job.route), fingerprint(job.key))
        known = found.get(name)
        if known is None:
            found[name] = job
        else:
            hints: dict[str, Key] = {fingerprint(hint): hint for hint in (*known.hints, *job.hints)}
            found[name] = replace(known, hints=tuple(hints.values()), guess=known.guess or job.guess)
    return list(found.values())


def _why(job: Job, verdict: Verdict) -> str:
    """What differs, on which side."""
    behind = "new" if job.authority == "old" else "old"
    match verdict:
        case Repair(what="put"):
            return f"the {behind} side has no item for it"
        case Repair(what="delete", writes=((table, write), *_)):
            return f"the {behind} side has {table} {key_text(write.key)}, which does not belong to it (any more)"
        case Repair(writes=((table, write), *_)):
            return f"the {behind} side differs: {table} {key_text(write.key)}"
        case Collision(twin=twin):
            return f"key-collision: {twin.table} {key_text(twin.key)} is another's"
        case Failed(code, message):
            return f"{code}: {message}"
    return "it differs"
