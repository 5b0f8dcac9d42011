"""Reads in the client's form: of the side that decides, without the other one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from migrator.core.item import Item, Key, key_of
from migrator.core.rewrite.phases import Side, other
from migrator.core.rewrite.reconcile import Place, Seen
from migrator.errors import MigratorError
from migrator.runtime.effects import Need, World
from migrator.runtime.errors import NotExpressible, PageMoved
from migrator.runtime.expressions.conditions import Condition
from migrator.runtime.expressions.paths import Path, projected
from migrator.runtime.expressions.tokens import BadExpression, paths_of
from migrator.runtime.finding import find
from migrator.runtime.reader import Stance
from migrator.runtime.sending import Sender, raise_cause
from migrator.runtime.sides import Sides

AT = "__migrator_side__"
"""In a LastEvaluatedKey: the part of a listing, and the side, where it is not the client's own."""


def get(sender: Sender, stance: Stance, sides: Sides, request: Mapping[str, Any]) -> dict[str, Any]:
    """As GetItem: of the side that decides, in the client's form."""
    table = str(request["TableName"]).rpartition("/")[2]
    key = {name: request["Key"][name] for name in sides.key_names(table)}
    at_home = stance.rules.authority == sides.form
    by_key = sides.by_key(table, key)
    if at_home and (by_key is not None or not _is_mixed(sides, table)):
        if by_key == "other":
            return {}
        return _shown(sides, passed(sender, stance, "get_item", request))
    places: dict[str, Place] = {}
    seen = Seen()
    while True:
        try:
            held = find(sides, stance.rules.authority, stance.phase, World(seen), table, key)
        except Need as need:
            places |= {place.id: place for place in need.places}
            seen = sender.look(stance, places.values())
            continue
        if held.item is None:
            return {}
        return {"Item": projected_of(request, sides.shown(held.item))}


def passed(sender: Sender, stance: Stance, method: str, request: Mapping[str, Any]) -> Any:
    """The call as it was said, under the permit; what the client raises is raised."""
    try:
        return sender.request(stance, method, request)
    except MigratorError as exc:
        raise_cause(exc)


def projected_of(request: Mapping[str, Any], item: Item) -> dict[str, Any]:
    paths = projection(request)
    return dict(item) if paths is None else projected(item, paths)


def projection(request: Mapping[str, Any]) -> Sequence[Path] | None:
    if request.get("AttributesToGet"):
        return [Path(name) for name in request["AttributesToGet"]]
    text = request.get("ProjectionExpression")
    try:
        return paths_of(text, request.get("ExpressionAttributeNames") or {}) if text else None
    except BadExpression as exc:
        raise NotExpressible(f"the ProjectionExpression {text!r} cannot be read here: {exc}") from exc


def _shown(sides: Sides, answer: Mapping[str, Any]) -> dict[str, Any]:
    return {**answer, "Item": sides.shown(answer["Item"])} if "Item" in answer else dict(answer)


def _is_mixed(sides: Sides, table: str) -> bool:
    """Whether items of the form that the client does not speak may stand in the table."""
    return any(True for _ in sides.own(table, other(sides.form)))


# --- listings ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """One stretch of a listing: the items of `side` that stand in `table`.

    `neutral`: also the items that are on neither side; `rest`: those alone.
    """

    table: str
    side: Side
    neutral: bool = True
    rest: bool = False


@dataclass(slots=True)
class Listing:
    """A query or a scan: `overrides` are what the caller says for each side."""

    sender: Sender
    stance: Stance
    sides: Sides
    method: str
    request: Mapping[str, Any]
    overrides: Mapping[Side, Mapping[str, Any] | None]

    @property
    def table(self) -> str:
        return str(self.request["TableName"]).rpartition("/")[2]

    def page(self) -> dict[str, Any]:
        """One answer, as of Query or Scan."""
        side, number, start = self._start()
        parts = self._parts(self.table, side)
        if number >= len(parts):
            raise PageMoved
        part = parts[number]
        if side == self.sides.form and not _is_mixed(self.sides, self.table):
            return self._as_said(part)
        return self._filled(side, parts, number, start)

    def _start(self) -> tuple[Side, int, Key | None]:
        """Which side is read, from which part on, and after which key."""
        start = self.request.get("ExclusiveStartKey")
        authority = self.stance.rules.authority
        if not start:
            return authority, 0, None
        mark = start.get(AT, {}).get("S", f"{self.sides.form}:0")
        side, _, number = mark.partition(":")
        # Where both sides are kept whole, a listing ends on the side on which it was begun.
        if side != authority and self.stance.phase not in ("dual-write", "cutover"):
            raise PageMoved
        key = {name: value for name, value in start.items() if name != AT}
        return ("new" if side == "new" else "old"), int(number), key or None

    def _parts(self, table: str, side: Side) -> list[Part]:
        own = Part(table, side)
        if side == self.sides.form:
            return [own]
        routes = list(self.sides.own(table))
        if not routes:
            return [own]
        tables = list(dict.fromkeys(route.table(side) for route in routes))
        # What is on neither side stays where the caller looks for it: for a scan of one table that is the same place.
        if self.method == "scan" and tables == [table]:
            return [own]
        parts = [Part(one, side, neutral=False) for one in tables]
        return [*parts, Part(table, side, rest=True)]

    def _said(self, part: Part) -> dict[str, Any]:
        """The request for a part, in the words that the caller has for that side."""
        side: Side = self.sides.form if part.rest else part.side
        override = self.overrides.get(side)
        if self.method == "query" and side != self.sides.form and override is None:
            raise NotExpressible(
                f"a query of {part.table} whose condition is said for the {self.sides.form} side alone",
                hint=f"give {side}={{...}}: what KeyConditionExpression, values and index are on the {side} side",
            )
        found = {**self.request, **(override or {}), "TableName": part.table}
        found.pop("ExclusiveStartKey", None)
        return found

    def _as_said(self, part: Part) -> dict[str, Any]:
        request = self._said(part)
        start = self.request.get("ExclusiveStartKey")
        if start:
            request["ExclusiveStartKey"] = {name: value for name, value in start.items() if name != AT}
        answer = dict(passed(self.sender, self.stance, self.method, request))
        if self.sides.hidden and "Items" in answer:
            answer["Items"] = [self.sides.shown(item) for item in answer["Items"]]
        return answer

    def _filled(self, side: Side, parts: list[Part], number: int, start: Key | None) -> dict[str, Any]:
        limit = self.request.get("Limit")
        counts = self.request.get("Select") == "COUNT"
        paths = projection(self.request)
        kept: list[Item] = []
        scanned = 0
        last: dict[str, Any] | None = None
        while True:
            request = self._bare(parts[number], None if limit is None else limit - scanned)
            if start is not None:
                request["ExclusiveStartKey"] = start
            answer = passed(self.sender, self.stance, self.method, request)
            for raw in answer.get("Items", ()):
                item = self._of_part(parts[number], raw, request)
                if item is not None:
                    scanned += 1
                    if self._is_wanted(item):
                        kept.append(item)
            start = answer.get("LastEvaluatedKey")
            if start is None and number + 1 < len(parts):
                number, start = number + 1, None
                last = {AT: {"S": f"{side}:{number}"}}
            else:
                last = None if start is None else self._marked(side, number, start)
            if last is None or (scanned >= limit if limit is not None else bool(kept)):
                break
        shown = [projected(item, paths) if paths is not None else dict(item) for item in kept]
        found: dict[str, Any] = {"Count": len(kept), "ScannedCount": scanned, **({} if counts else {"Items": shown})}
        if last is not None:
            found["LastEvaluatedKey"] = last
        if "ResponseMetadata" in answer:
            found["ResponseMetadata"] = answer["ResponseMetadata"]
        return found

    def _marked(self, side: Side, number: int, start: Key) -> dict[str, Any]:
        if side == self.sides.form:
            return dict(start)
        return {**start, AT: {"S": f"{side}:{number}"}}

    def _bare(self, part: Part, limit: int | None) -> dict[str, Any]:
        """The request without what is done here: a filter and a projection may be of attributes of the other form."""
        request = self._said(part)
        for name in ("FilterExpression", "ProjectionExpression", "AttributesToGet", "Limit"):
            request.pop(name, None)
        if request.get("Select") in ("COUNT", "SPECIFIC_ATTRIBUTES"):
            del request["Select"]
        text = request.get("KeyConditionExpression") or ""
        used = set(re.findall(r"[#:][A-Za-z0-9_]+", text))
        for name in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
            left = {key: value for key, value in (request.get(name) or {}).items() if key in used}
            request.pop(name, None)
            if left:
                request[name] = left
        if limit is not None:
            request["Limit"] = limit
        return request

    def _of_part(self, part: Part, raw: Item, request: Mapping[str, Any]) -> Item | None:
        """The item in the client's form; None for one of the other side."""
        item = raw
        if "IndexName" in request and request.get("Select") != "ALL_ATTRIBUTES":
            item = self._whole(part.table, raw)
        side = self.sides.side_of(part.table, item)
        if side is None:
            return self.sides.shown(raw) if part.neutral else None
        if part.rest or side != part.side:
            return None
        if part.side == self.sides.form:
            return self.sides.shown(raw)
        image = self.sides.image(side, part.table, item)
        if not isinstance(image, tuple) or image[0].table(self.sides.form) != self.table:
            return None
        route, made = image
        if item is raw:
            return self.sides.shown(made.item)
        # Of an index that has some attributes only: those, and what the other form has beside them.
        names = {*raw, *route.source_names, *route.target_names, *route.set.names, *route.old.names}
        return {name: value for name, value in self.sides.shown(made.item).items() if name in names}

    def _whole(self, table: str, raw: Item) -> Item:
        """An item of an index with all its attributes: which side it is on may be told by one that it lacks."""
        key = key_of(raw, self.sides.key_names(table))
        by_key = self.sides.by_key(table, key)
        if by_key is not None and self.stance.rules.authority == self.sides.form:
            return raw
        place = Place(table, key)
        return self.sender.look(self.stance, [place]).at(place) or raw

    def _is_wanted(self, item: Item) -> bool:
        """The filter, as the caller said it for its own form."""
        text = self.request.get("FilterExpression")
        if not text:
            return True
        override = self.overrides.get(self.sides.form) or {}
        names = {
            **(self.request.get("ExpressionAttributeNames") or {}),
            **(override.get("ExpressionAttributeNames") or {}),
        }
        values = {
            **(self.request.get("ExpressionAttributeValues") or {}),
            **(override.get("ExpressionAttributeValues") or {}),
        }
        try:
            return Condition.parse(text, names, values).holds(item)
        except BadExpression as exc:
            raise NotExpressible(f"the FilterExpression {text!r} cannot be judged here: {exc}") from exc


def pages(page: Any, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Page after page, of a method such as `RewritingClient.scan`."""
    asked = dict(request)
    while True:
        answer = page(**asked)
        yield answer
        if "LastEvaluatedKey" not in answer:
            return
        asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
