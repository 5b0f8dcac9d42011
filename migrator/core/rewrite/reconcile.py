"""The one primitive, purely: what makes a twin follow its authority, decided from both as read at one moment.

Each verdict is a transaction that holds only while what it was decided on still stands: so whoever comes late, twice or
in another order does no harm, and nobody needs to know which of two images is the newer one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeAlias

from migrator.core.change import Change, Check, Delete, Put, Update, Write
from migrator.core.expression import guard_is_too_large
from migrator.core.item import AttributeValue, Item, Key, fingerprint, key_of, same, same_item
from migrator.core.rewrite.phases import Side, other
from migrator.core.rewrite.route import Image, NoImage, Problem, Route


@dataclass(frozen=True, slots=True)
class Place:
    """An item's place: a table, by alias, and the key."""

    table: str
    key: Key

    @property
    def id(self) -> str:
        return f"{self.table}\0{fingerprint(self.key)}"


@dataclass(slots=True)
class Seen:
    """What one TransactGet found, at one moment."""

    items: dict[str, Item | None] = field(default_factory=dict)

    def put(self, place: Place, item: Item | None) -> None:
        self.items[place.id] = item

    def has(self, place: Place) -> bool:
        return place.id in self.items

    def at(self, place: Place) -> Item | None:
        return self.items[place.id]


@dataclass(frozen=True, slots=True)
class Equal:
    """The sides correspond. `twin` None: the authority has none to have."""

    twin: Place | None


@dataclass(frozen=True, slots=True)
class Look:
    """More must be read, at the same moment as the rest, before anything can be said."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """One transaction that brings the twin a step nearer. Tables are aliases."""

    writes: tuple[tuple[str, Write], ...]
    checks: tuple[Check, ...]
    what: str
    """put, update, delete or move."""


@dataclass(frozen=True, slots=True)
class Collision:
    """Another item stands where the twin belongs: one that has a source of its own, or none that this rewrite knows."""

    twin: Place
    rival: Place | None
    """The authority of the item that stands there; None where it has none."""


@dataclass(frozen=True, slots=True)
class Failed:
    code: str
    message: str


ENDS = frozenset({"put", "update"})
"""Repairs after which a pair is as it should be; after any other it is looked at again."""
Verdict: TypeAlias = Equal | Look | Repair | Collision | Failed


def reconcile(
    route: Route, authority: Side, key: Key, seen: Seen, hints: Sequence[Key] = (), *, creates: bool = True
) -> Verdict:
    """What makes the twin of the item at `key`, on the authority's side, follow it.

    `hints` are keys on the twin's side where a twin of it may stand: of an earlier image, or where it was met.
    `creates` False: a twin that is missing stays so (contract).
    """
    home = Place(route.table(authority), key)
    if not seen.has(home):
        return Look((home,))
    item = seen.at(home)
    image = NoImage(frozenset()) if item is None else route.image_of(authority, item)
    if isinstance(image, Problem):
        return Failed(image.code, image.message)
    side = other(authority)
    wanted = Place(route.table(side), image.key) if isinstance(image, Image) else None
    known = {home.id, *([] if wanted is None else [wanted.id])}
    named = {one.id: one for one in (Place(route.table(side), hint) for hint in hints)}
    strangers = [one for one in named.values() if one.id not in known]
    twins = (*([wanted] if wanted else []), *strangers)
    if not all(map(seen.has, twins)):
        return Look((home, *twins))
    pair = _Pair(route, authority, home, item, image, seen)
    for stranger in strangers:
        if pair.owns(stranger):
            return pair.without(stranger)
    if wanted is None or not isinstance(image, Image):
        return Equal(None)
    verdict = pair.follow(wanted, image, creates=creates)
    if isinstance(verdict, Look):
        # All at one moment: else whoever reads only what is asked for would be asked for the strangers again.
        return Look(tuple({place.id: place for place in (*verdict.places, *strangers)}.values()))
    return verdict


@dataclass(frozen=True, slots=True)
class _Pair:
    route: Route
    authority: Side
    home: Place
    item: Item | None
    image: Image | NoImage
    seen: Seen

    def owns(self, place: Place) -> bool:
        """Whether the item there is a twin of this authority."""
        twin = self.seen.at(place)
        if twin is None:
            return False
        origin = self.route.attributed(other(self.authority), twin)
        return isinstance(origin, Image) and same_item(origin.key, self.home.key)

    def without(self, place: Place) -> Verdict:
        """Take away a twin that the authority does not have (any more), while that is so."""
        twin = self.seen.at(place)
        assert twin is not None
        guard = whole_guard(twin, place.key)
        if guard is None:
            # Nobody changes a twin without its authority, which is checked: what leads there is guard enough.
            origin = self.route.attributed(other(self.authority), twin)
            guard = {name: twin.get(name) for name in origin.reads if name not in place.key}
        return Repair(((place.table, Delete(place.key, guard)),), (self._as_read(self.image.reads),), "delete")

    def follow(self, wanted: Place, image: Image, *, creates: bool) -> Verdict:
        assert self.item is not None
        twin = self.seen.at(wanted)
        if twin is None:
            if not creates:
                return Equal(None)
            guard = whole_guard(self.item, self.home.key)
            if guard is None:
                return Failed("guard-too-large", "the item has more attributes than one guard can hold")
            # What is relied on to be absent, too: one that is added meanwhile may belong in another twin.
            guard |= {name: None for name in image.reads if name not in self.item and name not in self.home.key}
            check = Check(self.home.table, self.home.key, present=True, guard=guard)
            if _is_too_large(check):
                return Failed("guard-too-large", "the item has more attributes than one guard can hold")
            return Repair(((wanted.table, Put(image.item, wanted.key)),), (check,), "put")
        origin = self.route.attributed(other(self.authority), twin)
        if not isinstance(origin, Image):
            return Collision(wanted, None)
        if not same_item(origin.key, self.home.key):
            return self._taken(wanted, twin, image, origin)
        return self._alike(wanted, twin, image)

    def _taken(self, wanted: Place, twin: Item, image: Image, origin: Image) -> Verdict:
        """The place holds another's twin: a collision, if that other still has it; else what was left there is ours."""
        rival = Place(self.home.table, origin.key)
        if not self.seen.has(rival):
            return Look((self.home, wanted, rival))
        owner = self.seen.at(rival)
        claimed = NoImage(frozenset()) if owner is None else self.route.image_of(self.authority, owner)
        if isinstance(claimed, Problem) or (isinstance(claimed, Image) and same_item(claimed.key, wanted.key)):
            return Collision(wanted, rival)
        other_pair = _Pair(self.route, self.authority, rival, owner, claimed, self.seen)
        check = other_pair._as_read(claimed.reads)
        verdict = self._alike(wanted, twin, image, frozenset(image.item.keys() & {self.route.mark}), check)
        # Too much of it differs for one transaction: as its own source would have it, it goes first.
        return other_pair.without(wanted) if isinstance(verdict, Failed) else verdict

    def _alike(
        self, wanted: Place, twin: Item, image: Image, more: Set[str] = frozenset(), rival: Check | None = None
    ) -> Verdict:
        """Bring only what differs, as both were read: never a whole item over one that exists."""
        assert self.item is not None
        side = other(self.authority)
        names = {name for name in {*twin, *image.item} - set(wanted.key) if self.route.decides(side, name)}
        differing = sorted(name for name in names | more if not same(twin.get(name), image.item.get(name)))
        if not differing:
            return Equal(wanted)
        sets = {name: image.item[name] for name in differing if name in image.item}
        change = Change(
            guard={name: twin.get(name) for name in differing},
            set=sets,
            remove=frozenset(name for name in differing if name not in image.item),
        )
        check = self._as_read(image.reads | set(differing))
        if guard_is_too_large(change, tuple(wanted.key)) or _is_too_large(check):
            return Failed("guard-too-large", f"{len(differing)} attributes differ, more than one guard can hold")
        checks = (check,) if rival is None else (check, rival)
        return Repair(((wanted.table, Update(wanted.key, change)),), checks, "update")

    def _as_read(self, names: frozenset[str] | set[str]) -> Check:
        if self.item is None:
            return Check(self.home.table, self.home.key, present=False)
        guard: Mapping[str, AttributeValue | None] = {
            name: self.item.get(name) for name in names if name not in self.home.key
        }
        return Check(self.home.table, self.home.key, present=True, guard=guard)


def whole_guard(item: Item, key: Key) -> dict[str, AttributeValue | None] | None:
    """Every attribute as it was read, or None where that is more than a guard holds.

    An attribute that is added meanwhile is not seen by it: whoever adds one to an item with a twin writes both.
    """
    guard: dict[str, AttributeValue | None] = {name: value for name, value in item.items() if name not in key}
    return None if guard_is_too_large(Change(guard), tuple(key)) else guard


def _is_too_large(check: Check) -> bool:
    return guard_is_too_large(Change(check.guard), tuple(check.key))


def place_of(route: Route, side: Side, item: Item) -> Place:
    """Where an item of a side stands."""
    return Place(route.table(side), key_of(item, route.names(side)))
