"""What a client's form and a rewrite say of tables, keys and items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from migrator.core.item import AttributeValue, Item, Key
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.keys import across, is_of_keys
from migrator.core.rewrite.phases import Side, other
from migrator.core.rewrite.reconcile import Place
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import PIN, Image, NoImage, Problem, Route


@dataclass(frozen=True, slots=True)
class Own:
    """A key of the client's own form, and where its other form stands."""

    route: Route
    place: Place


ByKey: TypeAlias = Own | Literal["other", "neither"]


@dataclass(frozen=True, slots=True)
class Sides:
    rewrite: Rewrite
    form: Side

    def has(self, table: str) -> bool:
        return table in self.rewrite.tables

    def key_names(self, table: str) -> tuple[str, ...]:
        for route in self.rewrite.routes:
            if route.source == table:
                return route.source_names
            if route.target == table:
                return route.target_names
        raise KeyError(table)

    def own(self, table: str, form: Side | None = None) -> Iterable[Route]:
        """The routes whose items of the form stand in the table."""
        return (route for route in self.rewrite.routes if route.table(form or self.form) == table)

    def by_key(self, table: str, key: Key) -> ByKey | None:
        """What the key alone tells of its item; None where it does not tell."""
        routes = [route for route in self.rewrite.routes if table in (route.source, route.target)]
        if not self.rewrite.moves or not all(is_of_keys(route) for route in routes):
            return None
        for route in self.own(table):
            there = across(route, self.form, key)
            if there is not None:
                return Own(route, Place(route.table(other(self.form)), there))
        if any(across(route, other(self.form), key) is not None for route in self.own(table, other(self.form))):
            return "other"
        return "neither"

    def image(self, side: Side, table: str, item: Item) -> tuple[Route, Image] | Problem | None:
        """The one other form of an item of a side, for a rewrite that moves."""
        problem: Problem | None = None
        for route in self.own(table, side):
            found = route.image_of(side, item)
            if isinstance(found, Image):
                return route, found
            if isinstance(found, Problem):
                problem = found
        return problem

    def side_of(self, table: str, item: Item) -> Side | None:
        return self.rewrite.side_of(table, item)

    def attributed(self, side: Side, table: str, item: Item) -> list[tuple[Route, Image | NoImage]]:
        """Where twins of an item may stand, whatever else may be wrong with it; `reads` are all that may tell."""
        found: list[tuple[Route, Image | NoImage]] = []
        for route in self.own(table, side):
            image, place = route.image_of(side, item), route.attributed(side, item)
            reads = image.reads | place.reads
            one = Image(place.item, place.key, reads) if isinstance(place, Image) else NoImage(reads)
            found.append((route, one))
        return found

    def images(self, side: Side, table: str, item: Item) -> list[tuple[Route, Image | NoImage | Problem]]:
        return [(route, route.image_of(side, item)) for route in self.own(table, side)]

    def is_plain(self, table: str, names: frozenset[str], further: frozenset[str] = frozenset()) -> bool:
        """Whether attributes are the same on both sides, and nothing is made of them. `further` are not."""
        return all(
            not names & (specials_of(route) | further) and (route.keep is None or names <= set(route.keep))
            for route in self.rewrite.routes
            if table in (route.source, route.target)
        )

    def shown(self, item: Item) -> dict[str, AttributeValue]:
        """An item as the application may see it: without what only the rewrite put there."""
        return {name: value for name, value in item.items() if name not in self.hidden}

    @property
    def hidden(self) -> frozenset[str]:
        marks = {route.mark for route in self.rewrite.routes if route.mark is not None and not route.keeps_mark}
        return frozenset({*marks, PIN})


def unpinned(item: Item) -> dict[str, AttributeValue]:
    return {name: value for name, value in item.items() if name != PIN}


def specials_of(route: Route) -> frozenset[str]:
    """The attributes that a side has in a form of its own, or that say where a twin stands."""
    forms = [route.old, route.set, *([route.key] if isinstance(route.key, Form) else [])]
    named = {name for form in forms for name in form.names}
    read = {one.attribute for form in forms for t in form.templates.values() for one in t.references}
    where = set(route.where) if isinstance(route.where, Mapping) else set()
    marks = {route.mark} if route.mark is not None else set()
    return frozenset({*route.source_names, *route.target_names, *named, *read, *where, *marks, PIN})
