"""What the steps of a rewrite share: a pass over each table of a side, the phase record, and failed items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from migrator.control.checkpoints import Stage
from migrator.control.phases import PhaseRecord
from migrator.core.events import Counts
from migrator.core.item import Item, Key, key_of
from migrator.core.ports import RecordAction
from migrator.core.rewrite.hints import Job
from migrator.core.rewrite.phases import Phase, Side, rules
from migrator.core.rewrite.reconcile import Seen, Verdict, reconcile
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Image, NoImage
from migrator.engine.outcomes import PageOutcome
from migrator.engine.rewriting.batch import BatchSize
from migrator.engine.rewriting.pairs import Pairs
from migrator.engine.rewriting.physical import physical
from migrator.engine.segments import Handler, Pass, Segment
from migrator.engine.work import Work
from migrator.errors import MigratorError


@dataclass(slots=True)
class Rewriting:
    """One step of a rewrite at work."""

    work: Work
    step_id: str
    rewrite: Rewrite
    """By the names of tables, not by aliases."""
    slot: str
    content_hash: str
    aliases: Mapping[str, str]
    """Table -> its alias."""

    @staticmethod
    def of(work: Work, step_id: str, rewrite: Rewrite, slot: str, content_hash: str) -> Rewriting:
        named = physical(rewrite, work.name)
        aliases = {work.name(alias): alias for alias in rewrite.tables}
        return Rewriting(work, step_id, named, slot, content_hash, aliases)

    # --- the phase

    def record(self) -> PhaseRecord | None:
        return self.work.phases.get(self.work.revision, self.slot)

    def standing(self) -> PhaseRecord:
        """The phase record, once every instance has had the time to hear of it. Raises otherwise."""
        record = self.record()
        if record is None:
            raise MigratorError(
                "phase-missing",
                f"revision {self.work.revision} has no phase record {self.slot}: the rewrite was not prepared",
                hint="run `migrator upgrade` first",
            )
        if not record.is_settled:
            raise MigratorError(
                "phase-not-settled",
                f"phase {record.phase} (generation {record.generation}) may not be known to every instance yet",
                hint="run the command again that changed the phase: it waits",
            )
        return record

    def now(self) -> str:
        return self.work.clock.now().isoformat(timespec="seconds")

    # --- passes

    def one_pass(
        self, step: str, stage: Stage, table: str, handler: Callable[[Segment], Handler], *, saves_failures: bool = True
    ) -> Pass:
        alias = self.aliases[table]
        return Pass(
            self.work, step, stage, alias, self.content_hash, handler, saves_failures=saves_failures, is_alone=True
        )

    def look(self, stage: Stage, tables: Sequence[str], take: Callable[[str, Sequence[Item]], None]) -> Counts:
        """Read tables from their beginning, whatever an earlier run read: what it found is in no record."""
        counts = Counts()
        for number, table in enumerate(tables):
            step = part_id(self.step_id, number)

            def handler(_segment: Segment, table: str = table) -> Handler:
                def handle(items: Sequence[Item]) -> PageOutcome:
                    take(table, items)
                    return PageOutcome(Counts(scanned=len(items)))

                return handle

            one = self.one_pass(step, stage, table, handler, saves_failures=False)
            self.work.checkpoints.clear(self.work.revision, one.id)
            counts += one.run()[0]
            self.work.checkpoints.clear(self.work.revision, one.id)
        return counts

    def forget(self, stage: Stage, tables: Sequence[str]) -> None:
        """Delete the checkpoints of a pass: the next one begins anew."""
        for number, _ in enumerate(tables):
            self.work.checkpoints.clear(self.work.revision, f"{part_id(self.step_id, number)}:{stage}")

    def pairs(self, check: Callable[[], RecordAction], decide: Callable[[Job, Seen], Verdict] | None = None) -> Pairs:
        return Pairs(self.work, decide or follow, BatchSize.of(self.rewrite.application), check)


def follow(job: Job, seen: Seen) -> Verdict:
    """The twin follows its authority."""
    return reconcile(job.route, job.authority, job.key, seen, job.hints)


def authority_of(rewrite: Rewrite, phase: Phase) -> Side:
    return rules(phase, moves=rewrite.moves).authority


def part_id(step_id: str, number: int) -> str:
    return step_id if number == 0 else f"{step_id}+{number}"


def jobs_of(rewrite: Rewrite, authority: Side, table: str, item: Item) -> Iterable[Job]:
    """The pairs whose authority an item is: none where it is on the other side, or on neither."""
    if rewrite.side_of(table, item) != authority:
        return
    routes = rewrite.routes_from(table) if authority == "old" else rewrite.routes_to(table)
    for route in routes:
        image = route.image_of(authority, item)
        if not isinstance(image, NoImage):
            guess = image.key if isinstance(image, Image) else None
            yield Job(route, authority, key_of(item, route.names(authority)), guess=guess)


def again(rewrite: Rewrite, authority: Side, table: str, key: Key) -> Iterable[Job]:
    """The pairs of the item at a key of the authority's side: for one that failed before."""
    routes = rewrite.routes_from(table) if authority == "old" else rewrite.routes_to(table)
    return (Job(route, authority, key) for route in routes)
