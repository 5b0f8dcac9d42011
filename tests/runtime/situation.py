"""A rewrite somewhere on its way: both sides as a phase leaves them, and what an application should see of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from botocore.exceptions import ClientError

from migrator.core.item import Item, fingerprint, key_of
from migrator.core.rewrite.phases import RULES, Phase, Side, other
from migrator.core.rewrite.reconcile import Equal, Look, Place, Seen, reconcile
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import PIN, Image
from migrator.errors import MigratorError
from migrator.runtime import RewritingClient
from migrator.runtime.reader import Stance
from migrator.runtime.sides import Sides
from tests.runtime.double import Double, Store


@dataclass
class StillClock:
    """Time that passes only when somebody sleeps."""

    seconds: float = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Numbers:
    """Randomness that counts, for one instance."""

    instance: str = ""
    next: Any = field(default_factory=lambda: count(1))

    def nonce(self) -> str:
        return f"nonce-{self.instance}-{next(self.next)}"

    def integer(self, bits: int) -> int:
        return next(self.next) % 2**bits

    def uniform(self, low: float, high: float) -> float:
        return low

    def shuffled(self, values: Any) -> list[int]:
        return list(values)


@dataclass
class StandIn:
    """A reader that knows the phase because the test says so."""

    rewrite: Rewrite | None
    phase: Phase
    clock: StillClock = field(default_factory=StillClock)
    entropy: Numbers = field(default_factory=Numbers)
    lease: float = 60.0
    generation: int = 1

    def stance(self) -> Stance:
        until = self.clock.monotonic() + self.lease
        return Stance(self.phase, self.generation, self.rewrite, self.clock, until)


def key_names(rewrite: Rewrite) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for route in rewrite.routes:
        names[route.source] = route.source_names
        names[route.target] = route.target_names
    return names


def form_of(rewrite: Rewrite, form: Side, table: str, item: Item) -> tuple[str, Item]:
    """The place and content of an old item, or of one on neither side, in a form."""
    if form == "old":
        return table, item
    for route in rewrite.routes_from(table):
        image = route.twin_of(item)
        if isinstance(image, Image):
            return route.target, image.item
    return table, item


@dataclass
class Situation:
    """`old` are the items in the old form, those on neither side included, by table."""

    rewrite: Rewrite
    phase: Phase
    form: Side
    old: Mapping[str, list[Item]]
    without_twin: tuple[int, ...] = ()
    """Numbers of items, over all tables, whose twin is missing."""

    def __post_init__(self) -> None:
        names = key_names(self.rewrite)
        self.store, self.model = Store(names), Store(names)
        authority = RULES[self.phase].authority
        number = -1
        for table, items in self.old.items():
            for item in items:
                number += 1
                sides = Sides(self.rewrite, self.form)
                at, content = form_of(self.rewrite, self.form, table, item)
                self.model.put(at, sides.shown(content))
                new = form_of(self.rewrite, "new", table, item)
                if self.phase == "done":
                    # What named the sources of twins goes with the last step.
                    new = new[0], sides.shown(new[1])
                self.store.put(*(new if authority == "new" else (table, item)))
                if self.phase in ("dual-write", "cutover", "contract") and number not in self.without_twin:
                    self.store.put(*((table, item) if authority == "new" else new))
        self.reader = StandIn(self.rewrite, self.phase)
        self.client = Double(self.store)
        self.app = RewritingClient(self.client, self.reader, form=self.form)  # type: ignore[arg-type]
        self.plain = Double(self.model)

    @property
    def authority(self) -> Side:
        return RULES[self.phase].authority

    def both(self, method: str, **request: Any) -> tuple[Any, Any]:
        """What the application sees, and what it would see without any rewrite."""
        return outcome(self.app, method, request), outcome(self.plain, method, request)

    def seen(self) -> dict[str, dict[str, Item]]:
        """Every item as it counts, in the client's form: of the side that decides, and of neither."""
        sides = Sides(self.rewrite, self.form)
        found: dict[str, dict[str, Item]] = {}
        for table in self.store.keys:
            for item in self.store.all(table):
                side = self.rewrite.side_of(table, item)
                place, content = table, item
                if side == other(self.authority):
                    continue
                if side is not None and side != self.form:
                    image = sides.image(side, table, item)
                    assert isinstance(image, tuple), f"{table} {item} has no {self.form} form: {image}"
                    place, content = image[0].table(self.form), image[1].item
                found.setdefault(place, {})[self._id(place, content)] = sides.shown(content)
        return found

    def expected(self) -> dict[str, dict[str, Item]]:
        sides = Sides(self.rewrite, self.form)
        return {
            table: {self._id(table, item): sides.shown(item) for item in self.model.all(table)}
            for table in self.model.keys
            if self.model.all(table)
        }

    def _id(self, table: str, item: Item) -> str:
        return fingerprint(key_of(item, self.store.keys[table]))

    def discrepancies(self, creates: bool = True) -> list[str]:
        """What does not correspond on the two sides. `creates` False: a twin that is missing is none."""
        found = [f"pinned: {item}" for table in self.store.keys for item in self.store.all(table) if PIN in item]
        if not RULES[self.phase].writes_twin:
            return found
        for table in self.store.keys:
            for item in self.store.all(table):
                side = self.rewrite.side_of(table, item)
                if side == self.authority:
                    found += self._unlike(table, item, creates and RULES[self.phase].creates_twin)
                elif side is not None and not self._has_source(table, item):
                    found.append(f"twin of nobody: {table} {item}")
        return found

    def _unlike(self, table: str, item: Item, creates: bool) -> list[str]:
        found = []
        for route in Sides(self.rewrite, self.form).own(table, self.authority):
            if not isinstance(route.image_of(self.authority, item), Image):
                continue
            seen = Seen()
            while isinstance(
                verdict := reconcile(
                    route,
                    self.authority,
                    key_of(item, route.names(self.authority)),
                    seen,
                    creates=creates,
                ),
                Look,
            ):
                for place in verdict.places:
                    seen.put(place, self.store.get(place.table, place.key))
            if not isinstance(verdict, Equal):
                found.append(f"{table} {item}: {verdict}")
        return found

    def _has_source(self, table: str, item: Item) -> bool:
        for route in Sides(self.rewrite, self.form).own(table, other(self.authority)):
            origin = route.attributed(other(self.authority), item)
            if isinstance(origin, Image):
                home = self.store.get(route.table(self.authority), origin.key)
                image = None if home is None else route.image_of(self.authority, home)
                if isinstance(image, Image) and self._id(table, {**item, **image.key}) == self._id(table, item):
                    return True
        return False


def outcome(client: Any, method: str, request: Mapping[str, Any]) -> Any:
    """The answer without what is about the request itself, or the code of the error with what it carries."""
    try:
        answer = dict(getattr(client, method)(**request))
    except ClientError as exc:
        further = {name: exc.response[name] for name in ("Item", "CancellationReasons") if name in exc.response}
        for reason in further.get("CancellationReasons", []):
            reason.pop("Message", None)
        return exc.response["Error"]["Code"], further
    except MigratorError as exc:
        return exc.code, {}
    answer.pop("ResponseMetadata", None)
    return answer


__all__ = ["Place", "Situation", "StandIn", "StillClock", "outcome"]
