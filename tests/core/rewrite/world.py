"""Tables as a dict, transactions that hold or do nothing, and the loop that brings one pair together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from migrator.core.change import Delete, Guard, Put, Update
from migrator.core.item import Item, Key, from_python, key_of, same, same_item
from migrator.core.rewrite.phases import Side, other
from migrator.core.rewrite.reconcile import Equal, Look, Place, Repair, Seen, Verdict, reconcile
from migrator.core.rewrite.route import Image, Route

DATA = Path(__file__).resolve().parents[2] / "data"
ROUNDS = 8


class World:
    """Items by place; `log` holds what each transaction that took effect did, for claims about what never happens."""

    def __init__(self, route: Route):
        self.route = route
        self.items: dict[str, tuple[str, Item]] = {}
        self.log: list[Repair] = []
        self.met: dict[str, Item] = {}
        """What stood where something was deleted."""

    def names(self, table: str) -> tuple[str, ...]:
        return self.route.source_names if table == self.route.source else self.route.target_names

    def place(self, table: str, item: Item) -> Place:
        return Place(table, key_of(item, self.names(table)))

    def put(self, table: str, *items: Item) -> None:
        for item in items:
            self.items[self.place(table, item).id] = (table, item)

    def remove(self, table: str, key: Key) -> None:
        self.items.pop(Place(table, key).id, None)

    def at(self, place: Place) -> Item | None:
        found = self.items.get(place.id)
        return None if found is None else found[1]

    def all(self, table: str) -> list[Item]:
        return [item for where, item in self.items.values() if where == table]

    def side(self, side: Side) -> list[Item]:
        table = self.route.table(side)
        return [item for item in self.all(table) if self.route.side_of(table, item) == side]

    def read(self, places: Iterable[Place]) -> Seen:
        seen = Seen()
        for place in places:
            seen.put(place, self.at(place))
        return seen

    def holds(self, repair: Repair) -> bool:
        for table, write in repair.writes:
            stored = self.at(Place(table, write.key))
            match write:
                case Put():
                    fits = stored is None
                case Update(change=change):
                    fits = stored is not None and guarded(stored, change.guard)
                case Delete(guard=guard):
                    fits = stored is not None and guarded(stored, guard)
            if not fits:
                return False
        for check in repair.checks:
            stored = self.at(Place(check.table, check.key))
            if (stored is not None) != check.present or (stored is not None and not guarded(stored, check.guard)):
                return False
        return True

    def apply(self, repair: Repair) -> bool:
        """All of it, or nothing where one condition fails."""
        touched = [Place(table, write.key).id for table, write in repair.writes]
        touched += [Place(check.table, check.key).id for check in repair.checks]
        assert len(set(touched)) == len(touched), "one item twice in a transaction"
        if not self.holds(repair):
            return False
        for table, write in repair.writes:
            match write:
                case Put(item=item):
                    self.put(table, item)
                case Update(key=key, change=change):
                    stored = self.at(Place(table, key))
                    assert stored is not None
                    assert not {*change.set, *change.remove} & set(self.names(table)), "a key cannot be updated"
                    self.put(table, change.applied_to(stored))
                case Delete(key=key):
                    stored = self.at(Place(table, key))
                    assert stored is not None
                    self.met[Place(table, key).id] = stored
                    self.remove(table, key)
        self.log.append(repair)
        return True

    def decide(
        self, authority: Side, key: Key, hints: Sequence[Key] = (), *, creates: bool = True
    ) -> tuple[Verdict, Seen]:
        """Look until there is a verdict, all at one moment."""
        seen, asked = Seen(), 0
        while True:
            verdict = reconcile(self.route, authority, key, seen, hints, creates=creates)
            if not isinstance(verdict, Look):
                return verdict, seen
            asked += 1
            assert asked <= ROUNDS, "it never says what it needs"
            assert len({place.id for place in verdict.places}) == len(verdict.places), "one item asked for twice"
            seen = self.read(verdict.places)

    def settle(
        self,
        authority: Side,
        key: Key,
        hints: Sequence[Key] = (),
        *,
        between: Callable[[], None] = lambda: None,
        creates: bool = True,
    ) -> Verdict:
        """Decide and act until nothing is left to do. `between` happens once, before the first transaction."""
        for round_ in range(ROUNDS):
            verdict, _ = self.decide(authority, key, hints, creates=creates)
            if round_ == 0:
                between()
            if not isinstance(verdict, Repair):
                return verdict
            self.apply(verdict)
        raise AssertionError(f"no end after {ROUNDS} rounds: {verdict}")

    def settle_all(self, authority: Side) -> list[Verdict]:
        """As a pass over both sides does: each item of the authority's side, and each twin by what it was met as."""
        verdicts = [self.settle(authority, key_of(item, self.route.names(authority))) for item in self.side(authority)]
        for twin in self.side(other(authority)):
            origin = self.route.attributed(other(authority), twin)
            if isinstance(origin, Image):
                met = key_of(twin, self.route.names(other(authority)))
                verdicts.append(self.settle(authority, origin.key, [met]))
        return verdicts

    def differences(self, authority: Side) -> list[str]:
        """Where the sides do not correspond one to one, by content."""
        found = []
        route, side = self.route, other(authority)
        wanted: dict[str, Item] = {}
        for item in self.side(authority):
            image = route.image_of(authority, item)
            if not isinstance(image, Image):
                continue
            place = Place(route.table(side), image.key)
            wanted[place.id] = image.item
            twin = self.at(place)
            if twin is None:
                found.append(f"no twin of {item}")
            elif not alike(route, side, twin, image.item):
                found.append(f"{twin} is not {image.item}")
        for twin in self.side(side):
            place = self.place(route.table(side), twin)
            if place.id not in wanted and isinstance(route.attributed(side, twin), Image):
                found.append(f"{twin} has no source")
        return found


def alike(route: Route, side: Side, left: Item, right: Item) -> bool:
    names = {name for name in {*left, *right} if route.decides(side, name)}
    return all(same(left.get(name), right.get(name)) for name in names)


def guarded(item: Item, guard: Guard) -> bool:
    return all(same(item.get(name), value) for name, value in guard.items())


def wire(**values: Any) -> Item:
    return {name: from_python(value) for name, value in values.items()}


def plain(values: dict[str, Any]) -> Item:
    return {name: from_python(value) for name, value in values.items()}


def workbench(name: str) -> list[Item]:
    """The items of a NoSQL Workbench model's only table."""
    (table,) = json.loads((DATA / name).read_text())["DataModel"]
    rows: list[Item] = table["TableData"]
    return rows


def battle_royale() -> list[Item]:
    return [plain(json.loads(line)) for line in (DATA / "battle-royale-items.jsonl").read_text().splitlines()]


def is_equal(verdict: Verdict) -> bool:
    return isinstance(verdict, Equal)


def find(items: Iterable[Item], wanted: Item) -> bool:
    return any(same_item(one, wanted) for one in items)
