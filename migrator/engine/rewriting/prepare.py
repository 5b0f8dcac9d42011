"""Before the first write: every item that could not be rewritten, every collision; then the phase record, in expand."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from migrator.control.phases import PhaseRecord
from migrator.core.events import Counts
from migrator.core.item import Item, Key, fingerprint, item_size, key_of, key_text
from migrator.core.rewrite.collisions import Collisions, Groups
from migrator.core.rewrite.reconcile import Place
from migrator.core.rewrite.record import to_json
from migrator.core.rewrite.route import Image, Route
from migrator.engine.indexable import problems
from migrator.engine.rewriting.passes import Rewriting
from migrator.engine.rewriting.probe import refuse_unprovable
from migrator.engine.work import StepOutcome
from migrator.errors import MigratorError, counted

EXAMPLES = 20
MOST_COLLECTION_BYTES = 10 * 1024**3
"""Of an item collection in a table with local indexes."""


def prepare_rewrite(rewriting: Rewriting) -> StepOutcome:
    """Read every item of both sides; incomplete with what stands in the way, else the phase is expand."""
    work = rewriting.work
    if rewriting.rewrite.application == "mirror":
        refuse_unprovable(rewriting)
    record = rewriting.record()
    document = to_json(rewriting.rewrite, {table: table for table in rewriting.rewrite.tables})
    if record is not None and record.phase != "expand":
        if record.rewrite != document:
            raise MigratorError(
                "rewrite-changed",
                f"the rewrite of {work.revision} is in phase {record.phase}, and its definition is not as it began",
                hint="undo the edit; or `migrator rollback` the revision and apply it anew",
                exit_code=3,
            )
        return StepOutcome(f"prepared before: phase {record.phase}")
    look = _Preparation(rewriting)
    counts = rewriting.look("before", rewriting.rewrite.tables, look.take) + look.end()
    if look.reasons:
        found = ", ".join(f"{count} {code}" for code, count in sorted(look.reasons.items()))
        return StepOutcome(
            f"nothing was written: {counted(sum(look.reasons.values()), 'item')} stand in the way ({found})",
            counts,
            is_complete=False,
            examples=tuple(look.examples[:EXAMPLES]),
            question="mend or delete these items, or change the file, and run the same command again",
        )
    if record is None:
        record = PhaseRecord(
            work.revision,
            rewriting.slot,
            "expand",
            1,
            rewriting.now(),
            waited=1,
            lease_ms=round(work.limits.reader_lease * 1000),
            attempt_ms=round(work.limits.attempt_time * 1000),
        )
    work.phases.save(replace(record, rewrite=document), work.lease)
    text = (
        f"{counts.scanned} scanned, {counted(look.twins, 'twin')} to be; phase expand, generation {record.generation}"
    )
    return StepOutcome(text, counts)


@dataclass(slots=True)
class _Preparation:
    rewriting: Rewriting
    reasons: Counter[str] = field(default_factory=Counter)
    """Code -> how many items, or groups of them."""
    examples: list[str] = field(default_factory=list)
    twins: int = 0
    _collisions: Collisions = field(default_factory=Collisions)
    _collections: dict[tuple[str, int], int] = field(default_factory=dict)
    """Bytes by table and hashed partition, where local indexes bound them."""
    _bounded: frozenset[str] = frozenset()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        work = self.rewriting.work
        self._bounded = frozenset(
            table for table in self.rewriting.rewrite.targets if work.live(self.rewriting.aliases[table]).local_indexes
        )

    def take(self, table: str, items: Sequence[Item]) -> None:
        """Look at a page of a table."""
        with self._lock:
            for item in items:
                self._item(table, item)

    def end(self) -> Counts:
        """What can only be said once all is read; the keys of what collides take another look."""
        counts = self._collide()
        for (table, _), size in self._collections.items():
            if size > MOST_COLLECTION_BYTES:
                self._note("item-collection-size", f"an item collection of {table} would hold {size:,} bytes")
        return counts

    def _collide(self) -> Counts:
        suspects = self._collisions.suspects()
        if not suspects:
            return Counts()
        groups = Groups(suspects)

        def take(table: str, items: Sequence[Item]) -> None:
            for item in items:
                for target, source in self._claims(table, item):
                    groups.add(target, source)

        counts = self.rewriting.look("before", self.rewriting.rewrite.tables, take)
        for group in groups.groups():
            more = "" if group.count <= len(group.members) else f" and {group.count - len(group.members):,} more"
            members = " and ".join(sorted(f"{one.table} {key_text(one.key)}" for one in group.members))
            self._note("key-collision", f"{group.target.table} {key_text(group.target.key)}: {members}{more}")
        self.reasons["key-collision"] += groups.unseen
        return replace(counts, scanned=0)

    def _claims(self, table: str, item: Item) -> Iterator[tuple[Place, Place]]:
        """Which places of the new side an item takes, and as whose: its own where it stands there, its twins'."""
        rewrite = self.rewriting.rewrite
        for route in islice(rewrite.routes_to(table), 1):
            place = Place(table, key_of(item, route.target_names))
            yield place, place
        for route, image in rewrite.twins_of(table, item):
            yield Place(route.target, image.key), Place(table, key_of(item, route.source_names))

    def _note(self, code: str, text: str) -> None:
        self.reasons[code] += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(f"{code}: {text}")

    # --- one item

    def _item(self, table: str, item: Item) -> None:
        rewrite = self.rewriting.rewrite
        for target, source in self._claims(table, item):
            self._collisions.add(target, source)
        if table in rewrite.targets:
            self._standing(table, item)
        for problem in rewrite.problems_of(table, item):
            self._note(problem.code, f"{table} {key_text(self._key(table, item))}: {problem.message}")
        for route, image in rewrite.twins_of(table, item):
            self.twins += 1
            home, wanted = Place(table, key_of(item, route.source_names)), Place(route.target, image.key)
            self._weigh(wanted, image.item)
            for code, why in self._objections(route, home, item, image):
                self._note(code, f"{table} {key_text(home.key)}: {why}")

    def _key(self, table: str, item: Item) -> Key:
        return key_of(item, next(iter(self.rewriting.rewrite.routes_from(table))).source_names)

    def _standing(self, table: str, item: Item) -> None:
        """An item of the target, as it stands: no twin may come to its place, and it may be no twin itself yet."""
        routes = list(self.rewriting.rewrite.routes_to(table))
        place = Place(table, key_of(item, routes[0].target_names))
        self._weigh(place, item)
        if any(isinstance(route.attributed("new", item), Image) for route in routes):
            self._note(
                "already-on-the-new-side",
                f"{table} {key_text(place.key)}: it looks like a twin, and nothing was copied yet",
            )

    def _weigh(self, place: Place, item: Item) -> None:
        if place.table in self._bounded:
            name = next(iter(place.key))
            where = place.table, int(fingerprint({"": place.key[name]})[:16], 16)
            self._collections[where] = self._collections.get(where, 0) + item_size(item)

    def _objections(self, route: Route, home: Place, item: Item, image: Image) -> Iterable[tuple[str, str]]:
        """Why the twin of an item that has one may not be written."""
        rewrite, twin = self.rewriting.rewrite, image.item
        where = f"its twin {key_text(image.key)}"
        if rewrite.side_of(home.table, item) != "old":
            yield "on-both-sides", "it is selected, and looks like the twin of another item too"
        others = [one for one in rewrite.routes_to(route.target) if one is not route]
        if any(isinstance(one.attributed("new", twin), Image) for one in others):
            yield "two-sources", f"{where} would be taken for the twin of another source's item too"
        for index in self.rewriting.work.after.table(self.rewriting.aliases[route.target]).indexes.values():
            for problem in problems(twin, index):
                yield problem.code, f"{where}: {problem.attribute}: {problem.reason}, and it is a key of {index.name}"
