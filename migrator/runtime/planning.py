"""Writes decided from what was read: the one transaction that keeps both sides, guarded by what it rests on."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from migrator.core.item import Item, Key, key_text, same_item
from migrator.core.rewrite.phases import Phase, Rules, other
from migrator.core.rewrite.reconcile import Place, Seen
from migrator.core.rewrite.route import PIN, Image, NoImage, Problem, Route
from migrator.runtime.calls import Call
from migrator.runtime.effects import Effect, World
from migrator.runtime.errors import KeyCollision, NotExpressible, WrongForm
from migrator.runtime.expressions.updates import NotApplicable
from migrator.runtime.finding import Held, find
from migrator.runtime.sides import Sides

_log = logging.getLogger("migrator.runtime")


class ConditionLost(Exception):
    """The application's own condition does not hold. `item` is the item, in the client's form."""

    def __init__(self, position: int, item: Item | None):
        super().__init__()
        self.position = position
        self.item = item


class Refused(Exception):
    """The service would refuse the call as ValidationException."""


class PinFirst(Exception):
    """A whole item is to be carried over: its place must be pinned before it is read."""

    def __init__(self, place: Place):
        super().__init__()
        self.place = place


@dataclass(slots=True)
class Planner:
    """Plans calls in one phase. `nonce` names this client's pins."""

    sides: Sides
    rules: Rules
    phase: Phase
    nonce: str
    exact: bool = False
    """Whether the images before and after are asked for, exactly."""
    images: list[tuple[Item | None, Item | None]] = field(default_factory=list)
    """The image before and after each call, in the client's form."""

    def plan(self, calls: Sequence[Call], seen: Seen) -> list[Effect]:
        """Raises Need, PinFirst, ConditionLost, Refused, and what is said to the application."""
        world = World(seen)
        self.images = []
        for position, call in enumerate(calls):
            if self.sides.has(call.table):
                self._one(world, position, call)
        return list(world.effects.values())

    # --- one call -----------------------------------------------------------------------------------------------------

    def _one(self, world: World, position: int, call: Call) -> None:
        key = call.key(self.sides.key_names(call.table))
        held = find(self.sides, self.rules.authority, self.phase, world, call.table, key)
        if held.item is None and held.raw is not None:
            if call.kind in ("check", "delete"):
                raise WrongForm(call.table, key, self.sides.form)
            raise KeyCollision(call.table, key, f"the {other(self.sides.form)} form of another item")
        condition = call.condition
        if condition is not None and not condition.holds(held.item or {}):
            raise ConditionLost(position, held.item)
        after = self._after(call, key, held)
        if call.kind != "check":
            self.images.append((held.item, after))
        if self.rules.authority == self.sides.form:
            self._at_home(world, call, held, after)
        else:
            self._translated(world, call, key, held, after)

    def _after(self, call: Call, key: Key, held: Held) -> Item | None:
        match call.kind:
            case "check":
                return held.item
            case "delete":
                return None
            case "put":
                # What names its source is not the application's to know: it stays with the item.
                hidden = self.sides.hidden
                return {**{n: v for n, v in (held.item or {}).items() if n in hidden}, **call.request["Item"]}
        changed = call.update
        if changed.writes & set(key):
            name = min(changed.writes & set(key))
            raise Refused(f"Cannot update attribute {name}. This attribute is part of the key")
        try:
            return {**changed.applied_to(held.item or {}), **key}
        except NotApplicable as exc:
            raise Refused(str(exc)) from exc

    # --- the client's form decides ------------------------------------------------------------------------------------

    def _at_home(self, world: World, call: Call, held: Held, after: Item | None) -> None:
        sides, side, table = self.sides, self.rules.authority, call.table
        own = held.home
        if call.kind == "check":
            world.unchanged(own, ())
            world.effects[own.id].judged = call
            return
        if after is not None and sides.side_of(table, after) == other(side):
            raise WrongForm(table, own.key, sides.form)
        before = [] if held.item is None else sides.attributed(side, table, held.item)
        effect = world.effect(own, after)
        effect.is_home, effect.judged, effect.hidden = True, call, sides.hidden
        for _, image in before:
            effect.guard |= image.reads
        effect.replaces = call.kind == "put"
        effect.native = call if call.kind == "update" else None
        if not self.rules.writes_twin:
            return
        if call.kind == "update" and self._as_it_is(world, call, held, effect, before):
            return
        old = {id(r): (r, Place(r.table(other(side)), i.key)) for r, i in before if isinstance(i, Image)}
        standing = [place for r, place in old.values() if self._stands(world, r, own, place)]
        carried = False
        for route, image in self._later(table, own, after):
            earlier = old.pop(id(route), (route, None))[1]
            place = Place(route.table(other(side)), image.key) if isinstance(image, Image) else None
            if earlier is not None and (place is None or place.id != earlier.id):
                self._take_away(world, route, own, earlier)
            if place is None or not isinstance(image, Image):
                continue
            if call.kind == "put" and not self.rules.creates_twin:
                self._take_away(world, route, own, place)
            elif self._bring(world, route, own, place, image.item, replaces=call.kind == "put"):
                # Where an earlier twin is missing, whoever adds to the item makes it: that it is missing is checked.
                # But in contract nobody makes one.
                carried |= earlier is None or earlier in standing or side == "new"
        for route, earlier in old.values():
            self._take_away(world, route, own, earlier)
        if call.kind == "update" or self.exact:
            # What it comes to was told from what was read.
            effect.whole()
            if held.raw is not None and (carried or self.exact):
                self._pinned(world, standing[0] if standing else own)

    def _later(self, table: str, own: Place, after: Item | None) -> list[tuple[Route, Image | NoImage]]:
        if after is None:
            return []
        found = self.sides.images(self.rules.authority, table, after)
        for _, image in found:
            if isinstance(image, Problem):
                what = f"{table} {key_text(own.key)} would have no other form: {image.message}"
                if self.rules.authority == "new":
                    raise NotExpressible(what)
                _log.warning("%s; it is written without a twin", what)
        return [(route, _image(image)) for route, image in found]

    def _as_it_is(
        self, world: World, call: Call, held: Held, effect: Effect, before: list[tuple[Route, Image | NoImage]]
    ) -> bool:
        """Whether the update means the same on both sides, so that it goes to each as it was said."""
        sides, changed = self.sides, call.update
        reads = frozenset[str]().union(*(image.reads for _, image in before))
        if held.item is None or self.exact or not sides.is_plain(call.table, changed.writes | changed.reads, reads):
            return False
        twins: list[Place] = []
        missing: list[Place] = []
        for route, image in before:
            if not isinstance(image, Image):
                continue
            place = Place(route.table(other(self.rules.authority)), image.key)
            raw = world.at(place)
            if raw is None and not self.rules.creates_twin:
                missing.append(place)
            elif raw is None or not self._is_mine(route, effect.place, raw):
                return False
            else:
                twins.append(place)
        for place in missing:
            world.unchanged(place, ())
        for place in twins:
            world.effect(place, world.at(place)).native = call
        return True

    def _pinned(self, world: World, place: Place) -> None:
        """An item that goes elsewhere as it was read must still be so, and nothing may have been added to it.

        That no condition can ask. So it is pinned before it is read, and every other writer takes the pin off.
        """
        raw = world.read(place) or {}
        if raw.get(PIN) != {"S": self.nonce}:
            raise PinFirst(place)
        found = world.effects.get(place.id)
        if found is None:
            world.unchanged(place, (PIN,))
        else:
            found.guard.add(PIN)

    # --- twins --------------------------------------------------------------------------------------------------------

    def _is_mine(self, route: Route, home: Place, twin: Item) -> bool:
        origin = route.attributed(other(self.rules.authority), twin)
        return isinstance(origin, Image) and same_item(origin.key, home.key)

    def _stands(self, world: World, route: Route, home: Place, place: Place) -> bool:
        raw = world.read(place)
        return raw is not None and self._is_mine(route, home, raw)

    def _take_away(self, world: World, route: Route, home: Place, place: Place) -> None:
        raw = world.at(place)
        if raw is None:
            if place.id not in world.effects:
                world.unchanged(place, ())
            return
        origin = route.attributed(other(self.rules.authority), raw)
        if isinstance(origin, Image) and same_item(origin.key, home.key):
            world.effect(place, None, origin.reads)

    def _bring(
        self, world: World, route: Route, home: Place, place: Place, wanted: Item, *, replaces: bool = False
    ) -> bool:
        """Let the twin be as it should, where it is this item's or nobody's. True where it is made there."""
        authority = self.rules.authority
        raw = world.at(place)
        if raw is None:
            if self.rules.creates_twin:
                world.effect(place, wanted)
            elif place.id not in world.effects:
                world.unchanged(place, ())
            return self.rules.creates_twin
        origin = route.attributed(other(authority), raw)
        rival = None
        if isinstance(origin, Image) and not same_item(origin.key, home.key):
            rival = Place(route.table(authority), origin.key)
            owner = world.at(rival)
            claimed = None if owner is None else route.image_of(authority, owner)
            if isinstance(claimed, Problem) or (isinstance(claimed, Image) and same_item(claimed.key, place.key)):
                return self._collision(home, place, f"the twin of {key_text(rival.key)}")
            if rival.id not in world.effects:
                world.unchanged(rival, frozenset[str]() if claimed is None else claimed.reads)
        elif not isinstance(origin, Image):
            return self._collision(home, place, "an item that is no twin")
        effect = world.effect(place, wanted, origin.reads)
        # What was left by another names its source by a mark, too.
        effect.hidden, effect.replaces = self.sides.hidden if rival is None else frozenset(), replaces
        return rival is not None

    def _collision(self, home: Place, place: Place, rival: str) -> bool:
        if self.rules.authority == "old" == self.sides.form and self.sides.rewrite.moves:
            # The old side has no such limit: its write stands, and `verify` tells of the collision.
            _log.warning("%s %s: its new key is taken by %s", home.table, key_text(home.key), rival)
            return False
        raise KeyCollision(place.table, place.key, rival)

    # --- the other form decides ---------------------------------------------------------------------------------------

    def _translated(self, world: World, call: Call, key: Key, held: Held, after: Item | None) -> None:
        sides, own = self.sides, Place(call.table, key)
        if after is None or call.kind == "check":
            self._stays_or_goes(world, call, own, held)
            return
        there = sides.image(sides.form, call.table, after)
        if isinstance(there, Problem):
            raise NotExpressible(f"{call.table} {key_text(key)} would have no other form: {there.message}")
        if there is None:
            side = sides.side_of(call.table, after)
            if side == other(sides.form):
                raise WrongForm(call.table, key, sides.form)
            if side is not None:
                raise NotExpressible(f"{call.table} {key_text(key)} has no {other(side)} key that could be derived")
        elif there[0].keep is not None:
            raise NotExpressible(f"{call.table}: a twin that has not all attributes cannot stand for its item")
        if call.kind == "update" and self._as_it_is_there(world, call, held, own):
            return
        home = own if there is None else Place(there[0].table(self.rules.authority), there[1].key)
        moves = held.raw is not None and held.home.id != home.id
        if moves:
            if call.kind == "update" and not self.rules.writes_twin:
                raise NotExpressible("by this update the item moves on the side that decides, and no twin guards it")
            self._gone(world, held)
        raw = world.at(home)
        if raw is not None and held.home.id != home.id and not (home.id == own.id and self._is_twin(held, raw)):
            raise KeyCollision(home.table, home.key, "another item")
        effect = world.effect(home, after if there is None else there[1].item)
        effect.is_home, effect.hidden, effect.replaces = True, sides.hidden, call.kind == "put"
        effect.whole()
        made = False
        if there is not None and self.rules.writes_twin:
            made = self._keep_twin(world, call, own, held, home, after, there[0])
        if call.kind == "update" and held.raw is not None:
            twin = world.read(own) if self.rules.writes_twin else None
            # As in `_at_home`: where the twin is missing, only in contract is it not made by whoever adds to the item.
            if self.exact or (moves and twin is not None) or ((moves or made) and self.rules.authority == "new"):
                self._pinned(world, own if twin is not None else held.home)

    def _stays_or_goes(self, world: World, call: Call, own: Place, held: Held) -> None:
        if held.raw is None:
            for place in held.looked:
                world.unchanged(place, world.at(place) or ())
        elif call.kind == "check":
            world.unchanged(held.home, held.raw)
        else:
            self._gone(world, held)
            if held.route is not None and self.rules.writes_twin:
                self._take_away(world, held.route, held.home, own)

    def _gone(self, world: World, held: Held) -> None:
        gone = world.effect(held.home, None)
        gone.is_home = True
        gone.whole()

    def _is_twin(self, held: Held, raw: Item) -> bool:
        return held.route is not None and self._is_mine(held.route, held.home, raw)

    def _as_it_is_there(self, world: World, call: Call, held: Held, own: Place) -> bool:
        sides, changed, authority = self.sides, call.update, self.rules.authority
        if held.raw is None or held.route is None or self.exact:
            return False
        image = held.route.image_of(authority, held.raw)
        if not sides.is_plain(call.table, changed.writes | changed.reads, image.reads):
            return False
        twin = world.at(own) if self.rules.writes_twin else None
        if self.rules.writes_twin and twin is None and self.rules.creates_twin:
            return False
        condition = call.condition
        # The condition was judged by what was read.
        judged = frozenset[str]() if condition is None else condition.reads | condition.asks
        special = bool(judged) and not sides.is_plain(call.table, judged)
        effect = world.effect(held.home, held.raw, held.raw if special else {*image.reads, *judged})
        effect.native, effect.is_home = call, True
        if twin is not None:
            world.effect(own, twin).native = call
        elif self.rules.writes_twin:
            world.unchanged(own, ())
        return True

    def _keep_twin(
        self, world: World, call: Call, own: Place, held: Held, home: Place, wanted: Item, route: Route
    ) -> bool:
        """The twin stands where the client's own form says. True where it is made there."""
        if call.kind == "put" and not self.rules.creates_twin:
            for one in {held.home.id: held.home, home.id: home}.values():
                self._take_away(world, route, one, own)
            return False
        raw = world.at(own)
        if raw is not None and self._is_twin(held, raw):
            # Of this very item as it was: its own twin still, wherever the item goes.
            effect = world.effect(own, wanted)
            effect.hidden, effect.replaces = self.sides.hidden, call.kind == "put"
            return False
        return self._bring(world, route, home, own, wanted, replaces=call.kind == "put")


def _image(found: Image | NoImage | Problem) -> Image | NoImage:
    return NoImage(found.reads) if isinstance(found, Problem) else found
