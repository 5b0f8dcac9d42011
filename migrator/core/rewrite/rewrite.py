"""A key rewrite as a whole: its routes, and how the application takes part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from migrator.core.item import Item, key_text
from migrator.core.rewrite.phases import Side
from migrator.core.rewrite.route import Image, Problem, Route

Application: TypeAlias = Literal["dual-write", "mirror", "stopped"]
"""Who writes the twins while the application runs: itself (`migrator.runtime`), `migrator mirror run`, or nobody: its
writers are stopped."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Items move to new keys (`moves`), or get twins that stay beside them for good.

    An item has at most one twin by each route. In a rewrite that moves one route at most selects an item (others of
    its source may select other items); readers change over to the new side at cutover, and the old side goes at
    contract. One that does not has no cutover: the old side stays the authority, and the application keeps the twins.
    """

    routes: tuple[Route, ...]
    application: Application = "dual-write"
    moves: bool = True
    accept_duplicates_in: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Aliases, each once, in order."""
        return tuple(dict.fromkeys(route.source for route in self.routes))

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(route.target for route in self.routes))

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.sources, *self.targets)))

    def tables_of(self, side: Side) -> tuple[str, ...]:
        return self.sources if side == "old" else self.targets

    def routes_from(self, alias: str) -> Iterable[Route]:
        return (route for route in self.routes if route.source == alias)

    def routes_to(self, alias: str) -> Iterable[Route]:
        return (route for route in self.routes if route.target == alias)

    @property
    def has_way_back(self) -> bool:
        """Whether every item that is born on the new side has an old form."""
        return all(route.has_way_back for route in self.routes)

    @property
    def splits(self) -> bool:
        """Whether twins take over attributes, which their items lose in the end: from then on nobody keeps both."""
        return not self.moves and any(route.keep for route in self.routes)

    @property
    def is_static(self) -> bool:
        return all(route.is_static for route in self.routes)

    def side_of(self, alias: str, item: Item) -> Side | None:
        """The side that an item of a table is on; None where it is none of this rewrite's business."""
        found = {route.side_of(alias, item) for route in self.routes if alias in (route.source, route.target)} - {None}
        # An item that one route made may look selected to another (several sources merged): made is what it is.
        return "new" if "new" in found else ("old" if found else None)

    def twins_of(self, alias: str, item: Item) -> tuple[tuple[Route, Image], ...]:
        """The new forms of an old item, one for each route that selects it. Raises nothing: a Problem is left out."""
        found = ((route, route.twin_of(item)) for route in self.routes_from(alias))
        return tuple((route, image) for route, image in found if isinstance(image, Image))

    def problems_of(self, alias: str, item: Item) -> tuple[Problem, ...]:
        """Why images of an old item cannot be made, or may not stand: found for every item before the first write."""
        made = [(route, route.twin_of(item)) for route in self.routes_from(alias)]
        images = [(route, image) for route, image in made if isinstance(image, Image)]
        found = [image for _, image in made if isinstance(image, Problem)]
        if self.moves and len(images) > 1:
            found.append(Problem("selected-twice", "two routes of the rewrite select it, and it can move to one place"))
        for route, image in images:
            found += (
                Problem("twin-is-selected", f"its new form {key_text(image.key)} would be taken for an old item")
                for another in self.routes_from(route.target)
                if another is not route and another.side_of(route.target, image.item) == "old"
            )
        return tuple(found)
