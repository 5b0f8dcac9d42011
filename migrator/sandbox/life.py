"""What is in flight on a table: the build or removal of an index, and shorter changes (facts §1.2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from migrator.sandbox.clock import Clock
from migrator.sandbox.wire import Request


@dataclass(frozen=True, slots=True)
class Timing:
    """How long each change takes, in seconds of the sandbox's clock."""

    allocation: float
    backfill: float
    deletion: float
    settling: float
    table: float

    @classmethod
    def of(cls, index_build: float, table_build: float = 0.0) -> Timing:
        """An index build of `index_build` seconds: three tenths allocation, the rest backfill."""
        short = index_build / 5
        return cls(index_build * 0.3, index_build * 0.7, short, short, table_build)


@dataclass(frozen=True, slots=True)
class Build:
    """One index being made: allocating until `allocated`, backfilling until `active`."""

    index: str
    started: float
    allocated: float
    active: float

    def allocating(self, now: float) -> bool:
        return now < self.allocated

    def progress(self, now: float) -> float:
        """Per cent, over allocation and backfill together."""
        length = self.active - self.started
        return 100.0 if length <= 0 else min(100.0, max(0.0, 100.0 * (now - self.started) / length))


@dataclass(frozen=True, slots=True)
class Removal:
    """One index being deleted: its last description and the key attributes it was declared with."""

    index: str
    entry: dict[str, Any]
    attributes: list[dict[str, Any]]
    gone: float


@dataclass
class TableLife:
    """The changes in flight on one table; what has ended by `now` is as if it had never been."""

    ready: float = 0.0
    build: Build | None = None
    removal: Removal | None = None
    changes: dict[str, float] = field(default_factory=dict)
    """When each change ends: `throughput`, `stream`, `class`, or `index NAME` for an index's throughput."""

    def building(self, now: float) -> Build | None:
        return self.build if self.build is not None and now < self.build.active else None

    def removing(self, now: float) -> Removal | None:
        return self.removal if self.removal is not None and now < self.removal.gone else None

    def changing(self, what: str, now: float) -> bool:
        return now < self.changes.get(what, 0.0)

    def status(self, now: float) -> str:
        if now < self.ready:
            return "CREATING"
        build = self.building(now)
        in_flight = (build is not None and build.allocating(now)) or self.removing(now) is not None
        changed = any(now < end for what, end in self.changes.items() if not what.startswith("index "))
        return "UPDATING" if in_flight or changed else "ACTIVE"

    def describe(self, table: dict[str, Any], now: float) -> dict[str, Any]:
        """A table's description as the service shows it now (facts §1.2, §1.5)."""
        shown = {**table, "TableStatus": self.status(now)}
        indexes = [self._index(index, now) for index in table.get("GlobalSecondaryIndexes", [])]
        defined = list(table.get("AttributeDefinitions", []))
        if removal := self.removing(now):
            indexes.append({**removal.entry, "IndexStatus": "DELETING"})
            known = {attribute["AttributeName"] for attribute in defined}
            defined += [a for a in removal.attributes if a["AttributeName"] not in known]
        if indexes:
            shown["GlobalSecondaryIndexes"] = [_sorted_projection(index) for index in indexes]
        if table.get("LocalSecondaryIndexes"):
            shown["LocalSecondaryIndexes"] = [_sorted_projection(index) for index in table["LocalSecondaryIndexes"]]
        shown["AttributeDefinitions"] = sorted(defined, key=lambda attribute: attribute["AttributeName"])
        return shown

    def _index(self, index: dict[str, Any], now: float) -> dict[str, Any]:
        build = self.building(now)
        if build is not None and build.index == index["IndexName"]:
            return {**index, "IndexStatus": "CREATING", "Backfilling": not build.allocating(now)}
        if now < self.ready:
            return {**index, "IndexStatus": "CREATING"}
        changing = self.changing(f"index {index['IndexName']}", now)
        return {**index, "IndexStatus": "UPDATING" if changing else "ACTIVE"}


def _sorted_projection(index: dict[str, Any]) -> dict[str, Any]:
    names = index.get("Projection", {}).get("NonKeyAttributes")
    return index if not names else {**index, "Projection": {**index["Projection"], "NonKeyAttributes": sorted(names)}}


@dataclass
class Lives:
    """The lives of all tables, and the clock and the timing they go by."""

    clock: Clock
    timing: Timing
    tables: dict[tuple[str, str, str], TableLife] = field(default_factory=dict)
    departing: dict[tuple[str, str, str], tuple[dict[str, Any], float]] = field(default_factory=dict)
    """Deleted tables that still show as DELETING: the last description and when it vanishes."""

    def of(self, request: Request, table: str | None = None) -> TableLife:
        return self.tables.get(_place(request, table), TableLife())

    def start(self, request: Request) -> TableLife:
        return self.tables.setdefault(_place(request), TableLife())

    def created(self, request: Request) -> None:
        self.tables[_place(request)] = TableLife(ready=self.clock.now() + self.timing.table)

    def deleted(self, request: Request, description: dict[str, Any]) -> None:
        self.tables.pop(_place(request), None)
        self.departing[_place(request)] = (description, self.clock.now() + self.timing.table)

    def departed(self, request: Request) -> dict[str, Any] | None:
        """The description of a table that is DELETING; None once it is gone."""
        description, gone = self.departing.get(_place(request), ({}, 0.0))
        return description if self.clock.now() < gone else None

    def builds(self, request: Request) -> dict[str, Build]:
        """The builds in flight in the request's account and region, by table."""
        now, scope = self.clock.now(), (request.account, request.region)
        found = {place[2]: life.building(now) for place, life in self.tables.items() if place[:2] == scope}
        return {table: build for table, build in found.items() if build is not None}

    def begin_build(self, request: Request, index: str) -> None:
        now, life = self.clock.now(), self.start(request)
        allocated = now + self.timing.allocation
        life.build = Build(index, now, allocated, allocated + self.timing.backfill)

    def begin_removal(self, request: Request, index: str, table: dict[str, Any]) -> None:
        life = self.start(request)
        entry = next(i for i in table["GlobalSecondaryIndexes"] if i["IndexName"] == index)
        names = {element["AttributeName"] for element in entry["KeySchema"]}
        attributes = [a for a in table["AttributeDefinitions"] if a["AttributeName"] in names]
        if life.build is not None and life.build.index == index:
            life.build = replace(life.build, active=self.clock.now())
        life.removal = Removal(index, entry, attributes, self.clock.now() + self.timing.deletion)

    def begin_change(self, request: Request, what: str) -> None:
        self.start(request).changes[what] = self.clock.now() + self.timing.settling

    def clear(self) -> None:
        self.tables.clear()
        self.departing.clear()


def _place(request: Request, table: str | None = None) -> tuple[str, str, str]:
    return request.account, request.region, table or request.table
