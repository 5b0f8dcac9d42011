"""Capacity that runs out: token buckets for partition keys, tables and indexes (facts §4.5)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from migrator.sandbox.actions import Action, effect_of, units_of
from migrator.sandbox.capacity import shown
from migrator.sandbox.engine import Engine
from migrator.sandbox.faults.kind import ITEMS, Kind, Seconds, Situation
from migrator.sandbox.faults.throttle import Reason, throttled
from migrator.sandbox.index_updates import mode_of
from migrator.sandbox.layer import Proceed
from migrator.sandbox.wire import Reply, Response

Place = tuple[object, ...]


@dataclass
class Bucket:
    """Tokens that refill at `rate` a second up to `most`; what is admitted may leave a debt."""

    rate: float
    most: float
    level: float
    since: float

    def refill(self, now: float) -> None:
        self.level = min(self.most, self.level + (now - self.since) * self.rate)
        self.since = now


@dataclass(frozen=True, slots=True)
class Demand:
    """What an action takes from one bucket, and why it is refused where that is empty."""

    place: Place
    rate: float
    units: float
    index: str
    reason: Reason


@dataclass
class Capacity(Kind):
    """Refuses what goes beyond so many units a second, refilled on the sandbox's clock.

    Limits: of each partition key (of the table and of each global index), of the table, of each global index. Those
    of a provisioned table are its own where none is given; 0 means none. A write that an index has no capacity for
    is refused on the table, with the index's ARN. `burst` is how long unused capacity is saved up.
    """

    key_write: float = 1000.0
    key_read: float = 3000.0
    table_write: float | None = None
    table_read: float | None = None
    index_write: float | None = None
    index_read: float | None = None
    burst: Seconds = 1.0

    happens_to: ClassVar[frozenset[str] | None] = ITEMS
    by_default: ClassVar[frozenset[str] | None] = ITEMS
    decides: ClassVar[bool] = True
    buckets: dict[Place, Bucket] = field(default_factory=dict, init=False)

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        is_whole = "Trans" in here.request.operation
        troubles = {}
        drawn: list[Demand] = []
        for position in here.chosen:
            action = here.actions[position]
            demands = list(self._demands(here, action, _units(here, action, 2.0 if is_whole else 1.0)))
            empty = next((one for one in demands if self._bucket(here, one).level <= 0), None)
            if empty is not None and here.dice.falls():
                arn = here.arn(action.table, empty.index)
                troubles[position] = throttled(here.engine, action, arn, empty.index, empty.reason)
            elif is_whole:
                # A transaction is admitted as a whole, so its actions do not take capacity from each other.
                drawn += demands
            else:
                self._draw(here, demands)
        if not troubles:
            self._draw(here, drawn)
        if troubles or here.request.operation not in ("Query", "Scan"):
            return await here.refuse(troubles, proceed)
        return await self._page(here, here.actions[0], proceed)

    def _draw(self, here: Situation, demands: Iterable[Demand]) -> None:
        for demand in demands:
            self._bucket(here, demand).level -= demand.units

    async def _page(self, here: Situation, action: Action, proceed: Proceed) -> Reply:
        """A page is paid for when it is known what it evaluated."""
        mode = here.request.body.get("ReturnConsumedCapacity", "NONE")
        reply = await proceed(here.request.with_body({**here.request.body, "ReturnConsumedCapacity": "INDEXES"}))
        if not isinstance(reply, Response) or not reply.ok:
            return reply
        body = reply.body
        consumed: dict[str, Any] = body.pop("ConsumedCapacity")
        units = dict.fromkeys(_units(here, action, 1.0), float(consumed["CapacityUnits"]))
        self._draw(here, self._demands(here, action, units))
        if mode != "NONE":
            body["ConsumedCapacity"] = shown(consumed, mode)
        return reply.with_body(body)

    def _demands(self, here: Situation, action: Action, units: Mapping[str, float]) -> Iterator[Demand]:
        """The buckets that an action draws on, the narrowest first. `units` by index, "" for the table."""
        table = here.engine.table(action.table)
        if table is None:
            return
        scope: Place = (here.request.account, here.request.region, action.table, action.writes)
        for index, number in units.items():
            keys = _partitions(here.engine, table, action, index)
            rate = self.key_write if action.writes else self.key_read
            for key in keys if rate else ():
                place: Place = (*scope, index, key)
                yield Demand(place, rate, number / len(keys), index, "KeyRangeThroughputExceeded")
            limit, reason = self._limit(table, index, action)
            if limit:
                yield Demand((*scope, index), limit, number, index, reason)

    def _limit(self, table: dict[str, Any], index: str, action: Action) -> tuple[float, Reason]:
        of_index = (self.index_write, self.index_read)
        write, read = of_index if index else (self.table_write, self.table_read)
        given = write if action.writes else read
        if mode_of({}, table) != "PROVISIONED":
            return given or 0.0, "MaxOnDemandThroughputExceeded"
        owner = _index(table, index) if index else table
        member = "WriteCapacityUnits" if action.writes else "ReadCapacityUnits"
        own = (owner.get("ProvisionedThroughput") or {}).get(member) or 0.0
        return float(own if given is None else given), "ProvisionedThroughputExceeded"

    def _bucket(self, here: Situation, demand: Demand) -> Bucket:
        now, most = here.clock.now(), demand.rate * self.burst
        bucket = self.buckets.setdefault(demand.place, Bucket(demand.rate, most, most, now))
        bucket.refill(now)
        return bucket


def _units(here: Situation, action: Action, factor: float) -> dict[str, float]:
    """What one action consumes by index, "" for the table; of a page only the place, since its size is not known."""
    table = here.engine.table(action.table) or {}
    if action.verb in ("Query", "Scan") and not action.is_statement:
        return {action.index if _index(table, action.index) else "": 0.0}
    capacity = units_of(here.engine, action)
    local = sum(units["CapacityUnits"] for units in capacity.get("LocalSecondaryIndexes", {}).values())
    found = {"": capacity["Table"]["CapacityUnits"] + local}
    found |= {name: units["CapacityUnits"] for name, units in capacity.get("GlobalSecondaryIndexes", {}).items()}
    return {name: units * factor for name, units in found.items()}


def _index(table: dict[str, Any], name: str) -> dict[str, Any]:
    """The engine's record of a global index; empty where there is none of that name."""
    return next((one for one in table.get("GlobalSecondaryIndexes") or [] if one["IndexName"] == name), {})


def _partitions(engine: Engine, table: dict[str, Any], action: Action, index: str) -> list[str]:
    """The partition keys, of the table or of an index, that an action reads or writes."""
    schema = _index(table, index)["KeySchema"] if index else table["KeySchema"]
    names = [element["AttributeName"] for element in schema if element["KeyType"] == "HASH"]
    images = [*effect_of(engine, action)] if action.writes and index else [action.named]
    keys = [json.dumps([image[name] for name in names]) for image in images if image and set(names) <= image.keys()]
    return list(dict.fromkeys(keys))
