"""The steps of a key rewrite as items pass through them: what has a twin, and what pairs cost in transactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from migrator.core.costs import READ_UNIT, entry, index_units, write_cost, write_units
from migrator.core.item import Item, item_size, key_of, key_text
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Image, Problem, Route
from migrator.core.schema import Index
from migrator.engine.indexable import problems
from migrator.engine.rewriting.batch import MOST_ACTIONS, BatchSize
from migrator.engine.rewriting.pairs import read_units
from migrator.runner.estimates.stage import FENCE_UNITS, Stage
from migrator.runner.estimates.tally import Example


@dataclass(slots=True)
class Twins:
    """What the items of a rewrite's only source come to; the last answer is kept, since several steps ask in turn."""

    rewrite: Rewrite
    table: str
    """The target's name in DynamoDB."""
    indexes: Sequence[Index]
    """Those of the target."""
    key_names: tuple[str, ...]
    _item: Item | None = None
    _images: tuple[tuple[Route, Image], ...] = ()
    _problems: tuple[Problem, ...] = ()

    def images(self, item: Item) -> tuple[tuple[Route, Image], ...]:
        self._look(item)
        return self._images

    def problems(self, item: Item) -> tuple[Problem, ...]:
        """Why it stands in the way: its twin cannot be made, or an index of the target would not take it."""
        self._look(item)
        return self._problems

    def _look(self, item: Item) -> None:
        if item is self._item:
            return
        (source,) = self.rewrite.sources
        self._item, self._images = item, self.rewrite.twins_of(source, item)
        found = list(self.rewrite.problems_of(source, item))
        for _, image in self._images:
            for index in self.indexes:
                found += (
                    Problem(one.code, f"its twin: {one.attribute}: {one.reason}, and it is a key of {index.name}")
                    for one in problems(image.item, index)
                )
        self._problems = tuple(found)

    @property
    def pairs_a_transaction(self) -> int:
        """As many as the engine begins with; each is two actions, the write and the check."""
        return min(BatchSize.of(self.rewrite.application).size, MOST_ACTIONS // 2)


@dataclass(slots=True)
class Twinned(Stage):
    """What the steps of a rewrite have in common."""

    twins: Twins = field(kw_only=True)

    def pair(self, item: Item, image: Image) -> None:
        """Read both at one moment, as each pair is before it is judged."""
        self.tally.add(f"lookup:{self.table}", read_units(item))
        self.tally.add(f"lookup:{self.twins.table}", read_units(image.item))

    def met(self, image: Image) -> None:
        """A pass over the new side meets the twin."""
        self.tally.add(f"lookup:{self.twins.table}", item_size(image.item) / READ_UNIT)

    def count(self, *, changes: bool) -> None:
        self.tally.add("changed" if changes else "unchanged")


@dataclass(slots=True)
class Preparing(Twinned):
    """What stands in the way keeps the rewrite from beginning. Two items of one new key are not looked for."""

    def take(self, item: Item) -> Item | None:
        tally = self.tally
        tally.add("scanned")
        found = self.twins.problems(item)
        for problem in found:
            example = Example(key_text(key_of(item, self.key_names)), problem.message)
            tally.problem("failed", problem.code, "", example)
        if found:
            tally.add("failed")
        elif self.twins.images(item):
            self.count(changes=False)
        return item


@dataclass(slots=True)
class Copying(Twinned):
    """Each twin is put in a transaction that checks its source."""

    def take(self, item: Item) -> Item | None:
        tally = self.tally
        tally.add("scanned")
        images = self.twins.images(item)
        if self.twins.problems(item) or not images:
            return item
        self.count(changes=True)
        for _, image in images:
            # Both are read before, the twin's place being empty.
            tally.add(f"lookup:{self.table}", read_units(item))
            tally.add(f"lookup:{self.twins.table}", read_units(None))
            units, by_index = write_cost(None, image.item, self.twins.indexes, self.twins.key_names)
            tally.add(f"write:{self.twins.table}", 2 * units)
            tally.add(f"write:{self.table}", 2 * write_units(item))
            for name, cost in by_index.items():
                tally.add(f"write:{self.twins.table}/{name}", cost)
            tally.add("bookkeeping", FENCE_UNITS / self.twins.pairs_a_transaction)
            if self.has_stream and self.twins.table == self.table:
                tally.add("stream")
        self.show(item, images[0][1].item)
        return item


@dataclass(slots=True)
class Verifying(Twinned):
    """Both sides are read whole, and the indexes of the new one."""

    def take(self, item: Item) -> Item | None:
        self.tally.add("scanned")
        images = self.twins.images(item)
        if images and not self.twins.problems(item):
            self.count(changes=False)
            for _, image in images:
                self.met(image)
                self._indexed(image.item)
        if self.twins.table == self.table:
            self._indexed(item)
        return item

    def _indexed(self, item: Item) -> None:
        """The indexes of the new side are read too, at half the price: they are never strongly consistent."""
        for index in self.twins.indexes:
            made = entry(index, item, self.twins.key_names)
            if made is not None:
                self.tally.add(f"lookup:{self.twins.table}/{index.name}", item_size(made) / READ_UNIT / 2)


@dataclass(slots=True)
class Dropping(Twinned):
    """Each old item goes in a transaction that checks its twin; what comes after finds the twin."""

    def take(self, item: Item) -> Item | None:
        tally = self.tally
        tally.add("scanned")
        images = self.twins.images(item)
        if self.twins.problems(item) or not images:
            return item
        self.count(changes=True)
        for _, image in images:
            self.pair(item, image)
            tally.add(f"write:{self.twins.table}", 2 * write_units(image.item))
            if self.twins.table == self.table:
                self.met(image)
        tally.add(f"write:{self.table}", 2 * write_units(item))
        for index in self.indexes:
            if cost := index_units(index, item, None, self.key_names):
                tally.add(f"write:{self.table}/{index.name}", cost)
        tally.add("bookkeeping", FENCE_UNITS / self.twins.pairs_a_transaction)
        if self.has_stream:
            tally.add("stream")
        if self.twins.table == self.table:
            return images[0][1].item
        return None


@dataclass(slots=True)
class Releasing(Twinned):
    """What siblings have taken over leaves each item, in a transaction that checks the sibling."""

    def take(self, item: Item) -> Item | None:
        tally = self.tally
        tally.add("scanned")
        images = self.twins.images(item)
        if self.twins.problems(item) or not images:
            return item
        self.count(changes=True)
        left = item
        for route, image in images:
            self.pair(left, image)
            if self.twins.table == self.table:
                self.met(image)
            tally.add(f"write:{self.twins.table}", 2 * write_units(image.item))
            kept = {name: value for name, value in left.items() if name not in (route.keep or ())}
            self.write(left, kept, factor=2)
            tally.add("bookkeeping", FENCE_UNITS / self.twins.pairs_a_transaction)
            left = kept
        return left
