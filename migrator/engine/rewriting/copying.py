"""The passes that write: twins are copied, taken back, and old items deleted. All drive pairs, one page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from migrator.control.failures import FailedItemRecord
from migrator.core.events import Counts
from migrator.core.item import Item, Key, key_of
from migrator.core.ports import RecordAction
from migrator.core.rewrite.hints import Job
from migrator.core.rewrite.phases import Side, other
from migrator.core.rewrite.reconcile import Equal, Failed, Seen, Verdict
from migrator.core.rewrite.removal import STRAY, released, superseded, taken_back
from migrator.core.rewrite.route import Image, NoImage
from migrator.engine.failed import failures_outcome
from migrator.engine.outcomes import PageOutcome
from migrator.engine.rewriting.expiry import Expiry
from migrator.engine.rewriting.pairs import Pairs
from migrator.engine.rewriting.passes import Rewriting, again, authority_of, jobs_of, part_id
from migrator.engine.segments import Handler, Segment, known_failures, settle_failures
from migrator.engine.work import StepOutcome
from migrator.errors import MigratorError, counted

Choose = Callable[[str, Item], Iterable[Job]]


def copy_twins(rewriting: Rewriting) -> StepOutcome:
    """Every item of the authority's side gets its twin; one that differs is brought up to it.

    Twins that their authority does not have (any more) go first. While the phase was entered, instances of both phases
    were at work: one put an item with its twin, and another, which knew of no twins yet, deleted or moved the item.
    """
    record = rewriting.standing()
    if record.phase not in ("dual-write", "cutover"):
        if record.phase == "expand":
            raise MigratorError(
                "phase-wrong",
                "twins are copied once the application writes both sides: the phase is expand",
                hint="see `migrator status`",
            )
        return StepOutcome(f"nothing to copy: the phase is {record.phase}")
    authority = authority_of(rewriting.rewrite, record.phase)
    tables = rewriting.rewrite.tables_of(authority)
    left = _remove_orphans(rewriting, authority, len(tables))
    if left is not None:
        return left
    going = _Going(
        rewriting,
        tables,
        lambda table, item: jobs_of(rewriting.rewrite, authority, table, item),
        rewriting.pairs,
        lambda table, key: again(rewriting.rewrite, authority, table, key),
        counts_bystanders=True,
    )
    counts = going.run()
    text = f"{counts.scanned} scanned, {counts.written} copied, {counts.unchanged} there already"
    return going.left(counts) or StepOutcome(text, counts)


def _remove_orphans(rewriting: Rewriting, authority: Side, first: int) -> StepOutcome | None:
    """Reconcile from the twins' side, where few items stand yet; what came of it where something failed.

    `first`: the number of its first part within the step.
    """
    side = other(authority)

    def choose(table: str, item: Item) -> Iterable[Job]:
        if rewriting.rewrite.side_of(table, item) != side:
            return
        for route in rewriting.rewrite.routes_to(table) if side == "new" else rewriting.rewrite.routes_from(table):
            origin = route.attributed(side, item)
            if isinstance(origin, Image):
                yield Job(route, authority, origin.key, hints=(key_of(item, route.names(side)),))

    tables = rewriting.rewrite.tables_of(side)
    going = _Going(rewriting, tables, choose, rewriting.pairs, lambda _table, _key: (), first=first)
    left = going.left(going.run())
    if left is not None:
        # The key of a twin that failed is not what was recorded: it is tried again by another whole pass.
        for part in going.parts:
            rewriting.work.checkpoints.clear(rewriting.work.revision, f"{part}:pass")
    return left


def drop_old_side(rewriting: Rewriting) -> StepOutcome:
    """Old items go that are as their new ones; a stray stays and is reported. No table is deleted here."""
    record = rewriting.standing()
    if record.phase == "done":
        return StepOutcome("the old side is gone already")
    if record.phase != "contract":
        raise MigratorError(
            "phase-wrong",
            f"old items are deleted in phase contract, and the phase is {record.phase}",
            hint="see `migrator status`",
        )
    tables = rewriting.rewrite.sources
    expiry = Expiry.of(rewriting.work, rewriting.rewrite)

    def decide(job: Job, seen: Seen) -> Verdict:
        verdict = superseded(job.route, job.key, seen)
        if isinstance(verdict, Failed) and expiry.explains(seen):
            # The service deletes it, as it deleted its twin.
            return Equal(None)
        return verdict

    def pairs(check: Callable[[], RecordAction]) -> Pairs:
        made = rewriting.pairs(check, decide)
        made.looks_again = frozenset({STRAY})
        return made

    going = _Going(
        rewriting,
        tables,
        lambda table, item: jobs_of(rewriting.rewrite, "old", table, item),
        pairs,
        lambda table, key: again(rewriting.rewrite, "old", table, key),
    )
    counts = going.run()
    left = going.left(
        counts,
        "who writes the old side alone? Stop it, bring over by hand what it wrote, and run the same command "
        "again; `migrator failed skip` leaves an old item where it is",
    )
    return left or StepOutcome(f"{counts.scanned} scanned, {counted(counts.written, 'old item')} deleted", counts)


def release_attributes(rewriting: Rewriting) -> StepOutcome:
    """Items lose what their siblings hold equal; what differs stays in both and is reported."""
    record = rewriting.standing()
    if record.phase != "done":
        raise MigratorError(
            "phase-wrong",
            f"attributes are removed in phase done, and the phase is {record.phase}",
            hint="see `migrator status`",
        )

    def decide(job: Job, seen: Seen) -> Verdict:
        return released(job.route, job.key, seen)

    def choose(table: str, item: Item) -> Iterable[Job]:
        for route in rewriting.rewrite.routes_from(table):
            if any(name in item for name in route.keep or ()):
                image = route.twin_of(item)
                if not isinstance(image, NoImage):
                    guess = image.key if isinstance(image, Image) else None
                    yield Job(route, "old", key_of(item, route.source_names), guess=guess)

    def pairs(check: Callable[[], RecordAction]) -> Pairs:
        made = rewriting.pairs(check, decide)
        made.looks_again = frozenset({STRAY})
        return made

    tables = rewriting.rewrite.sources
    going = _Going(rewriting, tables, choose, pairs, lambda table, key: again(rewriting.rewrite, "old", table, key))
    counts = going.run()
    left = going.left(
        counts,
        "who writes these attributes on the item alone? Stop it, decide which value is right, write it to the sibling "
        "and remove it from the item, and run the same command again",
    )
    return left or StepOutcome(f"{counts.scanned} scanned, {counted(counts.written, 'item')} lost them", counts)


def remove_twins(rewriting: Rewriting) -> StepOutcome:
    """The way back: what the rewrite has put on the new side goes; what is no twin of an old item stays."""
    record = rewriting.record()
    if record is None:
        return StepOutcome("nothing to remove: the rewrite was never prepared")
    if record.phase != "expand" or not record.is_settled:
        raise MigratorError(
            "phase-wrong",
            f"twins are removed in phase expand, and the phase is {record.phase}",
            hint="run `migrator rollback` again: it goes back phase by phase",
        )
    if record.generation == 1:
        return StepOutcome("nothing to remove: twins were never written")
    tables = rewriting.rewrite.targets

    def choose(table: str, item: Item) -> Iterable[Job]:
        for route in rewriting.rewrite.routes_to(table):
            origin = route.attributed("new", item)
            if isinstance(origin, Image):
                yield Job(route, "old", origin.key, hints=(key_of(item, route.target_names),))

    def decide(job: Job, seen: Seen) -> Verdict:
        return taken_back(job.route, job.key, job.hints[0], seen)

    going = _Going(rewriting, tables, choose, lambda check: rewriting.pairs(check, decide), lambda _alias, _key: ())
    counts = going.run()
    # The key of a twin that failed is not what was recorded: it is tried again by another whole pass.
    rewriting.forget("pass", tables)
    text = f"{counts.scanned} scanned, {counted(counts.written, 'twin')} removed"
    return going.left(counts) or StepOutcome(text, counts)


@dataclass(slots=True)
class _Going:
    """A pass over tables that settles the pairs of every page, and then those that failed in earlier runs."""

    rewriting: Rewriting
    tables: Sequence[str]
    choose: Choose
    pairs: Callable[[Callable[[], RecordAction]], Pairs]
    again: Callable[[str, Key], Iterable[Job]]
    """The pairs of an item that failed, by the table that the pass goes through and the key that was recorded."""
    counts_bystanders: bool = False
    """Whether items that belong to no pair are counted, as not selected."""
    first: int = 0
    """The number of the first part: another going of the same step may have parts before it."""

    @property
    def parts(self) -> list[str]:
        return [part_id(self.rewriting.step_id, self.first + number) for number in range(len(self.tables))]

    def run(self) -> Counts:
        work = self.rewriting.work
        counts = Counts()
        for step, table in zip(self.parts, self.tables, strict=True):
            earlier = list(work.failures.pending(work.revision, step))
            one = self.rewriting.one_pass(step, "pass", table, partial(self._handler, table))
            counts += one.run()[0]
            if earlier:
                counts += self._retry(step, table, earlier, self.pairs(one.any_check))
        return counts

    def _retry(self, step: str, table: str, earlier: Sequence[FailedItemRecord], pairs: Pairs) -> Counts:
        """Try failed items of earlier runs again, and only them: what this run saw fail needs mending first."""
        known, skipped = known_failures(self.rewriting.work, step)
        jobs = [job for failed in earlier for job in self.again(table, failed.key)]
        outcome = pairs.settle(jobs)
        settle_failures(self.rewriting.work, step, outcome, known, skipped)
        return outcome.counts

    def left(self, counts: Counts, question: str = "") -> StepOutcome | None:
        """Incomplete while an item is left that failed."""
        return failures_outcome(self.rewriting.work, self.parts, counts, question)

    def _handler(self, table: str, segment: Segment) -> Handler:
        pairs = self.pairs(segment.check)

        def handle(items: Sequence[Item]) -> PageOutcome:
            jobs: list[Job] = []
            bystanders = 0
            for item in items:
                found = list(self.choose(table, item))
                jobs += found
                bystanders += not found
            outcome = pairs.settle(jobs)
            more = Counts(scanned=len(items), not_selected=bystanders if self.counts_bystanders else 0)
            outcome.counts += more
            return outcome

        return handle
