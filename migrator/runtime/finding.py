"""The item that a key of the client's form names, wherever it stands."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core.item import Item, Key, same_item
from migrator.core.rewrite.keys import derived_old_keys
from migrator.core.rewrite.phases import Phase, Side, other
from migrator.core.rewrite.reconcile import Place
from migrator.core.rewrite.route import Route
from migrator.runtime.effects import Need, World
from migrator.runtime.errors import KeyUnknown
from migrator.runtime.sides import Sides, unpinned


@dataclass(frozen=True, slots=True)
class Held:
    """The item that a key of the client's form names. `item` is in that form, `raw` as it stands at `home`."""

    item: Item | None
    home: Place
    raw: Item | None
    route: Route | None = None
    """By which it stands in the other form."""
    looked: tuple[Place, ...] = ()
    """Where it would stand on the side that decides, where it is nowhere."""


def find(sides: Sides, authority: Side, phase: Phase, world: World, table: str, key: Key) -> Held:
    """Raises Need, KeyUnknown."""
    own = Place(table, key)
    if authority == sides.form:
        raw = world.at(own)
        if raw is None or sides.side_of(table, raw) == other(sides.form):
            return Held(None, own, raw)
        return Held(unpinned(raw), own, raw)
    return _across(sides, authority, phase, world, own)


def _across(sides: Sides, authority: Side, phase: Phase, world: World, own: Place) -> Held:
    there = world.at(own)
    image = None if there is None else sides.image(sides.form, own.table, there)
    places = [Place(image[0].table(authority), image[1].key)] if isinstance(image, tuple) else []
    certain = bool(places)
    for route in sides.own(own.table):
        derived = list(derived_old_keys(route, own.key)) if sides.form == "new" else []
        places += [Place(route.source, key) for key in derived]
        certain = certain or bool(derived)
    by_key = sides.by_key(own.table, own.key)
    if by_key is not None:
        certain = True
        places += [] if isinstance(by_key, str) else [by_key.place]
    missing = [place for place in places if place.id not in world.effects and not world.seen.has(place)]
    if missing:
        raise Need(*missing)
    for place in places:
        raw = world.at(place)
        found = None if raw is None else sides.image(authority, place.table, raw)
        leads_here = isinstance(found, tuple) and found[0].table(sides.form) == own.table
        if isinstance(found, tuple) and leads_here and same_item(found[1].key, own.key):
            return Held(unpinned(found[1].item), place, raw, found[0])
    if there is not None and not isinstance(image, tuple) and sides.side_of(own.table, there) is None:
        return Held(unpinned(there), own, there)
    # In cutover every item has a twin of the old form, and it would stand here.
    if there is None and not certain and phase != "cutover":
        raise KeyUnknown(own.table, own.key, f"in phase {phase} its twin may not be there to tell")
    return Held(None, own, None, looked=tuple(places))
