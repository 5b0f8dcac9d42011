"""A table whose items move, in memory, and an application that writes as each phase asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migrator.config import Limits
from migrator.control.phases import PhaseRecord
from migrator.core.item import Item, Key, key_of
from migrator.core.plan import Operation
from migrator.core.rewrite.phases import Phase, rules
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Image, Route
from migrator.core.rewrite.steps import PrepareRewrite
from migrator.core.schema import Schema, Table
from migrator.core.where import BeginsWith
from migrator.engine.rewriting.physical import physical
from migrator.operations import RewriteKeys
from migrator.testing.memory import Hook, World
from tests.simulation.world import KEY, SHAPE, Site, chain, migration, plain, quick_world, wire

OLD, NEW = "test-app", "test-new"


def rewrite_state(**options: Any) -> RewriteKeys:
    """Into another table, whose sort key holds `state`, which changes: such an update moves the twin."""
    return RewriteKeys(key={"PK": "{PK}", "SK": "{state}#{date}"}, old={"SK": "{date}"}, to="new", **options)


def rewrite_prefix(**options: Any) -> RewriteKeys:
    """Within one table, from P# to PERSON#."""
    return RewriteKeys(
        where={"PK": BeginsWith("P#")},
        key={"PK": "PERSON#{n}"},
        old={"PK": "P#{n}"},
        readers="runtime",
        **options,
    )


def log(number: int, **more: Any) -> dict[str, Any]:
    """An item of the old side, whichever rewrite it is for."""
    return {"PK": f"P#{number}", "SK": f"day{number}", "state": f"s{number % 3}", "name": f"n{number}", **more}


@dataclass
class House(Site):
    """A site with both tables. `rewrite` is the operation's, as planned."""

    tables: Mapping[str, str] = field(default_factory=lambda: {"app": OLD, "new": NEW})

    @staticmethod
    def of(operation: Operation, *items: Mapping[str, Any], world: World | None = None, **limits: Any) -> House:
        house = House(chain(migration("001", operation)), world=world or quick_world(page_bytes=200))
        house.limits = Limits(**{"workers": 1, "segments": 2, "lease": 60.0, "settle_time": 900.0, **limits})
        for table in (OLD, NEW):
            house.world.tables.add(table, SHAPE)
        house.put(*items)
        return house

    # --- commands

    def prepared(self, *hooks: Hook) -> House:
        assert self.runner(*hooks).upgrade(from_base=True).exit_code == 9
        return self

    def copied(self, *hooks: Hook) -> House:
        """At the gate before cutover."""
        self.prepared()
        result = self.runner(*hooks).upgrade(app_ready=True)
        assert result.exit_code == 9, result
        return self

    def cut_over(self, *hooks: Hook) -> House:
        self.copied()
        result = self.runner(*hooks).cutover(None, yes=True)
        assert result.exit_code == 9, result
        return self

    # --- what stands

    @property
    def rewrite(self) -> Rewrite:
        schema = Schema({alias: Table(alias, SHAPE.partition_key, SHAPE.sort_key) for alias in self.tables}, "app")
        (operation,) = self.migrations[0].operations
        (step,) = [one for one in operation.plan(schema).apply if isinstance(one, PrepareRewrite)]
        return physical(step.rewrite, lambda alias: self.tables[alias])

    @property
    def route(self) -> Route:
        (route,) = self.rewrite.routes
        return route

    @property
    def record(self) -> PhaseRecord:
        (found,) = [one for one in self.kept("phase#") if one.address.sort == "phase"]
        return PhaseRecord.of(found)

    def side(self, side: str) -> list[dict[str, Any]]:
        """The items of a side, as the application wrote them."""
        tables = self.rewrite.tables_of("old" if side == "old" else "new")
        found = [
            item
            for table in tables
            for item in self.world.items.all(table)
            if self.rewrite.side_of(table, item) == side
        ]
        return sorted((plain(item) for item in found), key=lambda item: (item["PK"], item["SK"]))

    @property
    def old(self) -> list[dict[str, Any]]:
        return self.side("old")

    @property
    def new(self) -> list[dict[str, Any]]:
        return self.side("new")

    def twins(self, *items: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The new forms of old items."""
        found = [self.twin(wire(item)) for item in items]
        return sorted((plain(item) for item in found), key=lambda item: (item["PK"], item["SK"]))

    def twin(self, item: Item) -> Item:
        image = self.route.twin_of(item)
        assert isinstance(image, Image)
        return image.item

    def app(self, phase: Phase | None = None) -> App:
        """The application, in a phase: that of the record unless given."""
        return App(self, phase or self.record.phase)


@dataclass
class App:
    """Writes as an instance does that believes to be in `phase`; each call is one transaction.

    Items are named by their old form. `moves` of the rewrite is taken for granted.
    """

    house: House
    phase: Phase

    def put(self, item: Mapping[str, Any]) -> None:
        self._replace(wire(key_of(item, KEY)), wire(item), is_put=True)

    def update(self, key: Mapping[str, Any], **changes: Any) -> None:
        """An update of an item that is there; None removes an attribute."""
        old = self._known(wire(key_of(key, KEY)))
        assert old is not None, f"{self.phase}: no {key}"
        merged = {**plain(old), **changes}
        after = wire({name: value for name, value in merged.items() if value is not None})
        self._replace(key_of(old, KEY), after, is_put=False)

    def delete(self, key: Mapping[str, Any]) -> None:
        self._replace(wire(key_of(key, KEY)), None, is_put=False)

    # --- how

    @property
    def _items(self) -> Any:
        return self.house.world.items

    def _at(self, table: str, key: Key) -> Item | None:
        found: Item | None = self._items.as_another().get(table, key)
        return found

    def _known(self, key: Key) -> Item | None:
        """The item as the authority has it, in its old form."""
        if rules(self.phase).authority == "old":
            return self._at(OLD, key)
        for item in self._items.all(self._new_table):
            origin = self.house.route.source_of(item)
            if isinstance(origin, Image) and origin.key == key:
                return origin.item
        return None

    @property
    def _new_table(self) -> str:
        return self.house.route.target

    def _replace(self, key: Key, after: Item | None, *, is_put: bool) -> None:
        rule = rules(self.phase)
        before = self._known(key)
        old_stands = self._at(OLD, key) is not None
        twin_stands = any(self._twin_at(item) for item in (before, after))
        writes_old = rule.authority == "old" or (
            rule.writes_twin and (rule.creates_twin or (old_stands and not is_put))
        )
        writes_new = rule.authority == "new" or (rule.writes_twin and (rule.creates_twin or twin_stands))
        if writes_old or (rule.authority == "new" and rule.writes_twin):
            # A put in contract takes the old item away.
            self._set(OLD, key, after if writes_old else None)
        if writes_new:
            if before is not None:
                self._set(self._new_table, self._new_key(before), None)
            if after is not None:
                twin = self.house.twin(after)
                self._set(self._new_table, key_of(twin, KEY), twin)

    def _twin_at(self, item: Item | None) -> bool:
        return item is not None and self._at(self._new_table, self._new_key(item)) is not None

    def _new_key(self, item: Item) -> Key:
        return key_of(self.house.twin(item), KEY)

    def _set(self, table: str, key: Key, item: Item | None) -> None:
        if item is None:
            self._items.remove(table, key)
        else:
            self._items.put(table, item)
