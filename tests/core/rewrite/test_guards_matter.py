"""Between a verdict and its transaction anything may happen. Take one condition away, and something is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from migrator.core.change import Change, Check, Delete, Put, Update, Write
from migrator.core.item import Item, Key, key_of
from migrator.core.rewrite.phases import Side
from migrator.core.rewrite.reconcile import Place, Repair
from migrator.core.rewrite.removal import superseded, taken_back
from migrator.core.rewrite.route import Image, Route
from tests.core.rewrite.routes import DEVICES, LOWER
from tests.core.rewrite.world import World, wire

Weaken = Callable[[Repair], Repair]
Act = Callable[[World], None]


# --- what a transaction is without one of its conditions --------------------------------------------------------------


def as_it_is(repair: Repair) -> Repair:
    return repair


def without_check(n: int) -> Weaken:
    def weaken(repair: Repair) -> Repair:
        return replace(repair, checks=repair.checks[:n] + repair.checks[n + 1 :])

    return weaken


def presence_alone(n: int) -> Weaken:
    """The check asks whether the item is there, and no longer how it is."""

    def weaken(repair: Repair) -> Repair:
        checks = list(repair.checks)
        checks[n] = replace(checks[n], guard={})
        return replace(repair, checks=tuple(checks))

    return weaken


def without_the_guard_of(*names: str) -> Weaken:
    def weaken(repair: Repair) -> Repair:
        checks = tuple(
            replace(check, guard={n: v for n, v in check.guard.items() if n not in names}) for check in repair.checks
        )
        return replace(repair, checks=checks)

    return weaken


def blind_write(repair: Repair) -> Repair:
    """The write itself asks for nothing but that its item is there."""

    def blind(write: Write) -> Write:
        match write:
            case Update(key=key, change=change):
                return Update(key, Change({}, change.set, change.remove))
            case Delete(key=key):
                return Delete(key, {})
            case Put():
                return write

    return replace(repair, writes=tuple((table, blind(write)) for table, write in repair.writes))


# --- the application, which writes both sides at once -----------------------------------------------------------------


def writes(world: World, authority: Side, key: Key, item: Item | None) -> None:
    """Change, put or delete an item of the authority's side, and its twin with it, in one transaction."""
    route, side = world.route, "new" if authority == "old" else "old"
    before = world.at(Place(route.table(authority), key))
    found = route.image_of(authority, before) if before is not None else None
    if isinstance(found, Image):
        twin = world.at(Place(route.table(side), found.key))  # type: ignore[arg-type]
        owner = route.attributed(side, twin) if twin is not None else None  # type: ignore[arg-type]
        if isinstance(owner, Image) and owner.key == key:
            world.remove(route.table(side), found.key)  # type: ignore[arg-type]
    world.remove(route.table(authority), key)
    if item is not None:
        world.put(route.table(authority), item)
        image = route.image_of(authority, item)
        if isinstance(image, Image) and world.at(Place(route.table(side), image.key)) is None:  # type: ignore[arg-type]
            world.put(route.table(side), image.item)  # type: ignore[arg-type]


LOG = wire(DeviceID="d", Date="1", State="v1", n=1)
KEY = key_of(LOG, DEVICES.source_names)
TWIN = {**LOG, "State#Date": {"S": "v1#1"}}
TWIN_KEY = key_of(TWIN, DEVICES.target_names)


def app(item: Item | None, key: Key = KEY) -> Act:
    return lambda world: writes(world, "old", key, item)


def in_turn(*acts: Act) -> Act:
    def act(world: World) -> None:
        for one in acts:
            one(world)

    return act


CHANGED, MOVED = {**LOG, "n": {"N": "2"}}, {**LOG, "State": {"S": "v2"}}
ADDED = {**LOG, "more": {"S": "x"}}
EVERYTHING: dict[str, Act] = {
    "nothing": lambda _: None,
    "a change": app(CHANGED),
    "a move": app(MOVED),
    "an attribute more": app(ADDED),
    "a deletion": app(None),
    "away and back": in_turn(app(MOVED), app(LOG)),
    "away, back and changed": in_turn(app(MOVED), app(CHANGED)),
    "deleted and made again": in_turn(app(None), app(CHANGED)),
    "deleted and made again as it was": in_turn(app(None), app(LOG)),
    "changed, then moved": in_turn(app(CHANGED), app(MOVED)),
}
LAGGARDS: dict[str, Act] = {
    "a laggard's change": lambda world: world.put("log", CHANGED),
    "a laggard's move": lambda world: world.put("log", MOVED),
    "a laggard's deletion": lambda world: world.remove("log", KEY),
    "a laggard's new item": lambda world: world.put("log", LOG),
}
"""Writes of the old side alone: the twin does not follow by itself."""


# --- one pair, dual-write ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """How both sides are when the pair is read, and where its twins may be met."""

    route: Route
    old: tuple[Item, ...]
    new: tuple[Item, ...]
    key: Key = field(default_factory=lambda: KEY)
    hints: tuple[Key, ...] = ()
    repair: str = ""

    def world(self) -> World:
        world = World(self.route)
        world.put(self.route.source, *self.old)
        world.put(self.route.target, *self.new)
        return world


PUT = Scene(DEVICES, (LOG,), (), repair="put")
UPDATE = Scene(DEVICES, (LOG,), ({**TWIN, "n": {"N": "0"}},), repair="update")
LEFT_BEHIND = Scene(DEVICES, (MOVED,), (TWIN,), hints=(TWIN_KEY,), repair="delete")
ORPHAN = Scene(DEVICES, (), (TWIN,), hints=(TWIN_KEY,), repair="delete")
SCENES = {"put": PUT, "update": UPDATE, "left behind": LEFT_BEHIND, "orphan": ORPHAN}


def harm(scene: Scene, act: Act, weaken: Weaken) -> set[str]:
    """What a late transaction put wrong: decided on what was read, sent after `act`, and it took effect."""
    world = scene.world()
    verdict, _ = world.decide("old", scene.key, scene.hints)
    assert isinstance(verdict, Repair)
    assert verdict.what == scene.repair
    act(world)
    before = world.differences("old")
    world.apply(weaken(verdict))
    return set(world.differences("old")) - set(before)


@pytest.mark.parametrize("what", EVERYTHING)
@pytest.mark.parametrize("scene", SCENES)
def test_whatever_the_application_does_in_between_the_sides_correspond(scene: str, what: str) -> None:
    one = SCENES[scene]
    world = one.world()
    verdict, _ = world.decide("old", one.key, one.hints)
    assert isinstance(verdict, Repair)
    EVERYTHING[what](world)
    world.apply(verdict)
    assert world.settle("old", one.key, one.hints) is not None
    assert world.differences("old") == []


@pytest.mark.parametrize("what", EVERYTHING | LAGGARDS)
@pytest.mark.parametrize("scene", SCENES)
def test_a_late_transaction_puts_nothing_wrong(scene: str, what: str) -> None:
    assert harm(SCENES[scene], (EVERYTHING | LAGGARDS)[what], as_it_is) == set()


@pytest.mark.parametrize(
    ("scene", "weaken"),
    [
        pytest.param("put", without_check(0), id="a put without its check"),
        pytest.param("put", presence_alone(0), id="a put that checks presence alone"),
        pytest.param("put", without_the_guard_of("n"), id="a put that does not guard what it copies"),
        pytest.param("put", without_the_guard_of("State"), id="a put that does not guard what its key is made of"),
        pytest.param("update", without_check(0), id="an update without its check"),
        pytest.param("update", without_the_guard_of("n"), id="an update that does not guard what it sets"),
        pytest.param("left behind", without_check(0), id="a deletion without its check"),
        pytest.param("left behind", without_the_guard_of("State"), id="a deletion that does not guard what moved"),
        pytest.param("orphan", without_check(0), id="an orphan deleted without a look at its source"),
    ],
)
def test_without_this_condition_a_late_transaction_puts_something_wrong(scene: str, weaken: Weaken) -> None:
    harmful = [what for what, act in (EVERYTHING | LAGGARDS).items() if harm(SCENES[scene], act, weaken)]
    assert harmful


# --- several sources of one new key -----------------------------------------------------------------------------------

BOB, LOUD = wire(id="Bob", n=1), wire(id="BOB", n=2)
BOB_KEY, LOUD_KEY = wire(id="Bob"), wire(id="BOB")


def folded(item: Item) -> Item:
    image = LOWER.twin_of(item)
    assert isinstance(image, Image)
    return image.item


def other_takes_it(world: World) -> None:
    """Another copier brings the place over to another source."""
    world.put("people", LOUD)
    world.settle("old", LOUD_KEY, [wire(id="bob")])


def test_a_deletion_that_does_not_guard_the_twin_takes_that_of_another_source() -> None:
    """The twin of Bob, who is gone, became that of BOB between the look and the deletion."""
    for weaken, harmed in ((as_it_is, False), (blind_write, True)):
        world = World(LOWER)
        world.put("folded", folded(BOB))
        verdict, _ = world.decide("old", BOB_KEY, [wire(id="bob")])
        assert isinstance(verdict, Repair)
        assert verdict.what == "delete"
        other_takes_it(world)
        assert world.differences("old") == []
        world.apply(weaken(verdict))
        assert (world.differences("old") != []) is harmed


def test_an_update_that_does_not_guard_the_twin_writes_into_that_of_another_source() -> None:
    """A stray took Bob's twin away, and BOB, who was there all the time, has put his own in its place."""
    for weaken, harmed in ((as_it_is, False), (blind_write, True)):
        world = World(LOWER)
        world.put("people", BOB)
        world.put("folded", {**folded(BOB), "n": {"N": "0"}})
        verdict, _ = world.decide("old", BOB_KEY)
        assert isinstance(verdict, Repair)
        assert verdict.what == "update"
        world.remove("folded", wire(id="bob"))
        world.put("people", LOUD)
        world.settle("old", LOUD_KEY)
        world.apply(weaken(verdict))
        (twin,) = world.all("folded")
        assert (twin["n"] != LOUD["n"]) is harmed


def test_taking_over_what_another_left_checks_that_it_is_still_left() -> None:
    """Bob, whose twin BOB takes over, is back before the transaction is sent."""
    for weaken, harmed in ((as_it_is, False), (without_check(1), True)):
        world = World(LOWER)
        world.put("people", LOUD)
        world.put("folded", folded(BOB))
        verdict, _ = world.decide("old", LOUD_KEY)
        assert isinstance(verdict, Repair)
        assert len(verdict.checks) == 2
        world.put("people", BOB)
        taken = world.apply(weaken(verdict))
        assert taken is harmed
        (twin,) = world.all("folded")
        assert (twin["n"] != BOB["n"]) is harmed


# --- contract and the way back ----------------------------------------------------------------------------------------


def dropped(world: World, weaken: Weaken, act: Act) -> bool:
    places = [Place("log", KEY), Place("log-by-state", TWIN_KEY)]
    verdict = superseded(DEVICES, KEY, world.read(places))
    assert isinstance(verdict, Repair)
    act(world)
    return world.apply(weaken(verdict))


def stray(item: Item) -> Act:
    """A write of one side alone, by someone who knows no phase."""
    return lambda world: world.put("log", item)


def test_an_old_item_goes_only_as_its_new_one_is_and_as_it_was_read() -> None:
    cases: list[tuple[Weaken, Act, str]] = [
        (without_check(0), lambda world: world.remove("log-by-state", TWIN_KEY), "its new item was deleted"),
        (presence_alone(0), lambda world: world.put("log-by-state", {**TWIN, "n": {"N": "9"}}), "the new one changed"),
        (blind_write, stray(CHANGED), "a stray wrote the old one"),
    ]
    for weaken, act, why in cases:
        for how, goes in ((as_it_is, False), (weaken, True)):
            world = World(DEVICES)
            world.put("log", LOG)
            world.put("log-by-state", TWIN)
            assert dropped(world, how, act) is goes, why
    world = World(DEVICES)
    world.put("log", LOG)
    world.put("log-by-state", TWIN)
    assert dropped(world, as_it_is, lambda _: None)
    assert world.all("log") == []
    assert len(world.all("log-by-state")) == 1


def test_on_the_way_back_a_twin_goes_only_while_it_and_its_source_are_as_read() -> None:
    def decided(world: World) -> Repair:
        verdict = taken_back(LOWER, BOB_KEY, wire(id="bob"), world.read([Place("people", BOB_KEY), FOLDED]))
        assert isinstance(verdict, Repair)
        return verdict

    for weaken, harmed in ((as_it_is, False), (blind_write, True)):
        world = World(LOWER)
        world.put("folded", folded(BOB))
        verdict = decided(world)
        world.put("folded", folded(LOUD))
        assert world.apply(weaken(verdict)) is harmed
    world = World(LOWER)
    world.put("people", BOB)
    world.put("folded", folded(BOB))
    assert world.apply(decided(world))
    assert world.all("folded") == []
    assert world.all("people") == [BOB]


FOLDED = Place("folded", wire(id="bob"))


def test_a_check_of_another_table_s_item_holds_only_what_it_names() -> None:
    """The interpreter of these tests: a condition that fails anywhere leaves everything as it is."""
    world = World(DEVICES)
    world.put("log", LOG)
    write = ("log-by-state", Put(TWIN, TWIN_KEY))
    assert not world.apply(Repair((write,), (Check("log", KEY, present=False),), "put"))
    assert not world.apply(Repair((write,), (Check("log", KEY, True, {"n": {"N": "2"}}),), "put"))
    assert not world.apply(Repair((write,), (Check("log", KEY, True, {"n": None}),), "put"))
    assert world.all("log-by-state") == []
    assert world.apply(Repair((write,), (Check("log", KEY, True, {"n": {"N": "1.0"}, "m": None}),), "put"))
    assert not world.apply(Repair((write,), (), "put"))
