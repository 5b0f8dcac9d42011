"""The steps of a rewrite as items pass through them: which have a twin, and what it costs to make, compare or drop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from migrator.core.costs import READ_UNIT, read_units, write_cost, write_units
from migrator.core.item import Item, item_size, key_of, key_text
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Image, Route
from migrator.core.schema import Index
from migrator.runner.estimates.stages import FENCE_UNITS, Effect, Stage
from migrator.runner.estimates.tally import Example


@dataclass(frozen=True, slots=True)
class Target:
    """A table that twins go into."""

    table: str
    """Physical."""
    key_names: tuple[str, ...]
    indexes: tuple[Index, ...]


@dataclass(slots=True)
class Twinning(Stage):
    """A step of a rewrite. Items of the first source are looked at; each of its pairs is a transaction of its own."""

    rewrite: Rewrite = field(default_factory=lambda: Rewrite(()))
    effect: Effect = "look"
    targets: Mapping[str, Target] = field(default_factory=dict)
    """By alias."""

    def take(self, item: Item) -> Item | None:
        tally = self.tally
        tally.add("scanned")
        if self.effect == "look":
            for problem in self.rewrite.problems_of(self.alias, item):
                tally.add("failed")
                place = key_text(key_of(item, self.key_names))
                tally.problem("failed", problem.code, "", Example(place, problem.message))
        twins = self.rewrite.twins_of(self.alias, item)
        if not twins:
            return item
        tally.add("changed" if self.effect in ("copy", "drop", "release") else "unchanged")
        left: Item | None = item
        for route, image in twins:
            left = self._pair(item, route, image, left)
        return left

    def _pair(self, item: Item, route: Route, image: Image, left: Item | None) -> Item | None:
        target = self.targets[route.target]
        if self.effect == "compare":
            # Both sides are scanned: what stands in another table comes on top of the pass over this one.
            self.tally.add(f"lookup:{target.table}", item_size(image.item) / READ_UNIT)
        if self.effect in ("look", "compare"):
            return left
        # Each pair is read at one moment, by TransactGetItems: twice the units.
        self.tally.add(f"lookup:{self.table}", 2 * read_units(item_size(item)))
        self.tally.add(f"lookup:{target.table}", 2 * read_units(item_size(image.item)))
        self.tally.add("bookkeeping", FENCE_UNITS)
        if self.effect == "copy":
            self._put(target, image)
            self.tally.add(f"write:{self.table}", 2 * write_units(item))
            self.show(item, image.item)
            return left
        self.tally.add(f"write:{target.table}", 2 * write_units(image.item))
        if self.effect == "drop":
            self.write(item, None, factor=2)
            return image.item if route.is_within_one_table else None
        kept = {name: value for name, value in item.items() if name not in (route.keep or ())}
        self.write(item, kept, factor=2)
        return kept

    def _put(self, target: Target, image: Image) -> None:
        table, by_index = write_cost(None, image.item, target.indexes, target.key_names)
        self.tally.add(f"write:{target.table}", 2 * table)
        for name, units in by_index.items():
            self.tally.add(f"write:{target.table}/{name}", units)
