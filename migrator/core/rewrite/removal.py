"""When one of two that correspond may go, purely: an old item at contract, a twin on the way back."""

from __future__ import annotations

from collections.abc import Sequence

from migrator.core.change import Change, Check, Delete, Update
from migrator.core.expression import guard_is_too_large
from migrator.core.item import Item, Key, key_text, same, same_item
from migrator.core.rewrite.reconcile import Equal, Failed, Look, Place, Repair, Seen, Verdict, whole_guard
from migrator.core.rewrite.route import PIN, Image, NoImage, Problem, Route

DROP = "drop"
"""What a Repair of this module does: after it, nothing more is to be looked at."""
STRAY = "stray"
"""The code of an old item that is not as its new one: somebody wrote it who knows no phase."""

AHEAD = "sibling-ahead"
"""The code of an item whose sibling holds what it lacks: to take the sibling back would lose it."""


def superseded(route: Route, key: Key, seen: Seen) -> Verdict:
    """At contract: the old item at `key` goes if it is as its new one, both as read; else it is a stray, and stays."""
    home = Place(route.source, key)
    if not seen.has(home):
        return Look((home,))
    old = seen.at(home)
    image = NoImage(frozenset()) if old is None else route.twin_of(old)
    if old is None or isinstance(image, NoImage):
        return Equal(None)
    if isinstance(image, Problem):
        return Failed(STRAY, f"it has no new form any more: {image.message}")
    wanted = Place(route.target, image.key)
    if not seen.has(wanted):
        return Look((home, wanted))
    new = seen.at(wanted)
    if new is None:
        return Failed(STRAY, "it has no new item: it was written, or the new one deleted, on one side alone")
    origin = route.attributed("new", new)
    if not isinstance(origin, Image) or not same_item(origin.key, key):
        return Failed(STRAY, "the item at its new key is another's")
    differing = differences(route, image.item, new)
    if differing:
        return Failed(
            STRAY, f"it differs from its new item in {', '.join(differing)}: it was written on one side alone"
        )
    guard, check = whole_guard(old, key), whole_guard(new, wanted.key)
    if guard is None or check is None:
        return Failed("guard-too-large", "the item has more attributes than one guard can hold: delete it by hand")
    return Repair(
        ((home.table, Delete(key, guard)),), (Check(wanted.table, wanted.key, present=True, guard=check),), DROP
    )


def released(route: Route, key: Key, seen: Seen) -> Verdict:
    """At contract of a split: the item at `key` loses what its twin holds equal, both as read; else it is a stray.

    What only the twin has is not looked at: by then the application writes there alone.
    """
    home = Place(route.source, key)
    if not seen.has(home):
        return Look((home,))
    item = seen.at(home)
    image = NoImage(frozenset()) if item is None else route.twin_of(item)
    if item is None or isinstance(image, NoImage):
        return Equal(None)
    held = {name: item[name] for name in route.keep or () if name in item}
    if not held:
        return Equal(None)
    if isinstance(image, Problem):
        return Failed(STRAY, f"it has no sibling any more: {image.message}")
    wanted = Place(route.target, image.key)
    if not seen.has(wanted):
        return Look((home, wanted))
    twin = seen.at(wanted)
    if twin is None:
        return Failed(STRAY, f"it has no sibling {key_text(wanted.key)}")
    differing = sorted(name for name, value in held.items() if not same(value, twin.get(name)))
    if differing:
        return Failed(STRAY, f"{', '.join(differing)} differ from the sibling's: they were written on one side alone")
    change = Change(guard=held, remove=frozenset(held))
    check = Check(wanted.table, wanted.key, present=True, guard=held)
    if guard_is_too_large(change, tuple(key)):
        return Failed("guard-too-large", f"{', '.join(held)} are more than one guard can hold: remove them by hand")
    return Repair(((home.table, Update(key, change)),), (check,), DROP)


def taken_back(route: Route, key: Key, twin_key: Key, seen: Seen) -> Verdict:
    """On the way back: the twin at `twin_key` of the old item at `key` goes, while both are as read.

    Whether the old item is there or not: the old side decides. What is no twin of that item stays.
    """
    home, place = Place(route.source, key), Place(route.target, twin_key)
    if not seen.has(home) or not seen.has(place):
        return Look((home, place))
    twin, old = seen.at(place), seen.at(home)
    origin = NoImage(frozenset()) if twin is None else route.attributed("new", twin)
    if twin is None or not isinstance(origin, Image) or not same_item(origin.key, key):
        return Equal(None)
    ahead = [] if old is None else sorted(n for n in route.keep or () if n in twin and not same(twin[n], old.get(n)))
    if ahead:
        # Of what a sibling has taken over it may be the only place.
        return Failed(AHEAD, f"its sibling {key_text(twin_key)} holds another {', '.join(ahead)} than the item")
    guard = whole_guard(twin, twin_key)
    if guard is None:
        guard = {name: twin.get(name) for name in origin.reads if name not in twin_key}
    check = Check(home.table, key, present=False)
    if old is not None:
        reads = route.twin_of(old).reads
        check = Check(home.table, key, present=True, guard={n: old.get(n) for n in reads if n not in key})
    return Repair(((place.table, Delete(twin_key, guard)),), (check,), DROP)


def differences(route: Route, wanted: Item, found: Item) -> Sequence[str]:
    """Attributes in which a new item is not as wanted. Mark and pin are not the application's and do not count."""
    names = {*wanted, *found} - {route.mark, PIN}
    return sorted(name for name in names if not same(wanted.get(name), found.get(name)))
