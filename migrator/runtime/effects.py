"""What a call comes to, place by place: how each item was read, how it is to be, and what must still be so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from migrator.core.item import Item, same
from migrator.core.rewrite.reconcile import Place, Seen
from migrator.core.rewrite.route import PIN
from migrator.runtime import actions
from migrator.runtime.actions import Body
from migrator.runtime.calls import Call
from migrator.runtime.sides import unpinned


class Need(Exception):
    """More must be read, at the same moment as the rest."""

    def __init__(self, *places: Place):
        super().__init__()
        self.places = places


@dataclass(slots=True)
class Effect:
    """What becomes of one place. `native`: the call's own expressions say it, and `after` what they come to."""

    place: Place
    before: Item | None
    after: Item | None
    guard: set[str] = field(default_factory=set)
    native: Call | None = None
    """Whose update expression is applied there as it is."""
    judged: Call | None = None
    """Whose condition is asked there, by the service itself."""
    is_home: bool = False
    replaces: bool = False
    """Whether the whole item is put, over one that may stand there: a put of the application's."""
    hidden: frozenset[str] = frozenset()

    def whole(self) -> None:
        """Guard every attribute that was read, and the pin or its absence."""
        self.guard |= {*(self.before or {}), PIN}

    def body(self) -> Body:
        if self.after is None:
            return self._gone()
        if self.native is not None:
            body = actions.update(self.place)
            body.of_call(self.native, condition=self.judged is not None, update=True)
            body.as_read(self.before, self.guard)
            return body.unpinned()
        if self.before is None or self.replaces:
            body = actions.put(self.place, self.after)
            self._judge(body)
            return body.as_read(self.before, self.guard)
        return self._changed()

    def _gone(self) -> Body:
        # Where nothing stands and nothing is to stand, that it stays so is what matters.
        body = actions.delete(self.place) if self.before is not None or self.is_home else actions.check(self.place)
        self._judge(body)
        return body.as_read(self.before, self.guard)

    def _changed(self) -> Body:
        assert self.before is not None
        assert self.after is not None
        # What only the rewrite put there stays, but for the pin.
        kept = {name: value for name, value in self.before.items() if name in self.hidden and name != PIN}
        after = {**kept, **{name: value for name, value in self.after.items() if name not in self.hidden}}
        before = unpinned(self.before)
        differing = {name for name in {*before, *after} if not same(before.get(name), after.get(name))}
        if differing or PIN in self.before:
            body = actions.update(self.place).change(before, after).unpinned()
        else:
            body = actions.check(self.place)
        self._judge(body)
        return body.as_read(self.before, self.guard | differing)

    def _judge(self, body: Body) -> None:
        if self.judged is not None:
            body.of_call(self.judged)


@dataclass(slots=True)
class World:
    """Places as they were read at one moment, and as the calls so far leave them."""

    seen: Seen
    effects: dict[str, Effect] = field(default_factory=dict)

    def at(self, place: Place) -> Item | None:
        """The item there, after the calls so far. Raises Need."""
        effect = self.effects.get(place.id)
        return self.read(place) if effect is None else effect.after

    def read(self, place: Place) -> Item | None:
        if not self.seen.has(place):
            raise Need(place)
        return self.seen.at(place)

    def effect(self, place: Place, after: Item | None, guard: Iterable[str] = ()) -> Effect:
        found = self.effects.get(place.id)
        if found is None:
            found = self.effects[place.id] = Effect(place, self.read(place), after)
        found.after = after
        found.guard |= set(guard)
        return found

    def unchanged(self, place: Place, guard: Iterable[str]) -> None:
        """The place stays, and must still be as it was read."""
        found = self.effects.get(place.id)
        if found is None:
            item = self.read(place)
            self.effects[place.id] = Effect(place, item, item, set(guard))
        else:
            found.guard |= set(guard)
