"""Writes whose whole transaction follows from the call alone: no item needs to be read first."""

from __future__ import annotations

from collections.abc import Sequence

from migrator.core.item import same_item
from migrator.core.rewrite.phases import Rules
from migrator.core.rewrite.reconcile import Place
from migrator.core.rewrite.route import Image
from migrator.runtime import actions
from migrator.runtime.actions import Body
from migrator.runtime.calls import Call
from migrator.runtime.errors import WrongForm
from migrator.runtime.sides import Own, Sides


def blind(sides: Sides, rules: Rules, calls: Sequence[Call]) -> list[Body] | None:
    """The transaction, or None where something must be read first.

    Here a twin's place follows from the key, and no other item can have a twin there: so a put may write over what
    stands, and a deletion need not ask.
    """
    bodies: list[Body] = []
    for call in calls:
        made = _one(sides, rules, call)
        if made is None:
            return None
        bodies += made
    return bodies


def _one(sides: Sides, rules: Rules, call: Call) -> list[Body] | None:
    if not sides.has(call.table):
        return [as_said(call)]
    key = call.key(sides.key_names(call.table))
    own = Place(call.table, key)
    found = sides.by_key(call.table, key)
    if found is None:
        return None
    if found == "other":
        raise WrongForm(call.table, key, sides.form)
    if found == "neither":
        return [as_said(call)]
    assert isinstance(found, Own)
    home, twin = (own, found.place) if rules.authority == sides.form else (found.place, own)
    if not _is_portable(sides, call, home):
        return None
    match call.kind:
        case "check":
            return [actions.check(home).of_call(call)]
        case "delete":
            first = actions.delete(home).of_call(call)
            return [first, actions.delete(twin)] if rules.writes_twin else [first]
        case "put":
            return _put(sides, rules, call, found, home, twin)
    # In contract a twin may be there or not, where none is made: that is to be seen first.
    if found.route.set.names or found.route.keep is not None or (rules.writes_twin and not rules.creates_twin):
        return None
    changed = call.update
    if not sides.is_plain(call.table, changed.writes | changed.reads):
        return None
    first = actions.update(home).of_call(call, update=True).unpinned()
    if not rules.writes_twin:
        return [first]
    return [first, actions.update(twin).of_call(call, condition=False, update=True).exists().unpinned()]


def _put(sides: Sides, rules: Rules, call: Call, found: Own, home: Place, twin: Place) -> list[Body] | None:
    item = call.request["Item"]
    image = found.route.image_of(sides.form, item)
    if not isinstance(image, Image) or not same_item(image.key, found.place.key):
        return None
    at_home, at_twin = (item, image.item) if rules.authority == sides.form else (image.item, item)
    first = actions.put(home, at_home).of_call(call)
    if not rules.writes_twin:
        return [first]
    return [first, actions.put(twin, at_twin) if rules.creates_twin else actions.delete(twin)]


def _is_portable(sides: Sides, call: Call, home: Place) -> bool:
    """Whether the condition says the same of the item where it stands."""
    condition = call.condition
    if condition is None or (home.table == call.table and same_item(home.key, call.key(tuple(home.key)))):
        return True
    asks = condition.asks - set(home.key) & set(sides.key_names(call.table))
    return sides.is_plain(call.table, condition.reads | asks)


def as_said(call: Call) -> Body:
    """An action on an item that the rewrite has nothing to do with."""
    kind = {"put": "Put", "update": "Update", "delete": "Delete", "check": "ConditionCheck"}[call.kind]
    members = {"Item": call.request["Item"]} if call.kind == "put" else {}
    return Body(Place(call.table, call.request.get("Key") or {}), kind, members).of_call(call, update=True)
