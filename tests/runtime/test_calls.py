"""Every phase, every call, both forms: what an application sees is what it would see without any rewrite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from migrator.core.item import Item, from_python, key_of
from migrator.core.rewrite.phases import PHASES, Phase, Side
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Route
from migrator.core.schema import KeyAttribute
from tests.core.rewrite import routes
from tests.runtime.situation import Situation, form_of

ORDERS = Route(
    "shop",
    "orders",
    (KeyAttribute("id"),),
    (KeyAttribute("user"), KeyAttribute("id")),
    where={"kind": "order"},
)
"""Selection and key rest on attributes that change; items of other kinds stay."""


@dataclass(frozen=True)
class Case:
    rewrite: Rewrite
    table: str
    items: tuple[dict[str, Any], ...]
    """In the old form; the first is written to."""
    newcomer: dict[str, Any]
    """One that does not exist yet."""
    neither: dict[str, Any] | None = None
    """One that is on neither side."""
    moving: tuple[str, Any] | None = None
    """An attribute of the old form whose change moves the twin, and its new value."""


def wire(item: dict[str, Any]) -> Item:
    return {name: from_python(value) for name, value in item.items()}


GAME = Case(
    routes.GAME,
    "game",
    (
        {"PK": "USER#ann", "SK": "#METADATA#ann", "wins": 3, "tags": ["a"], "note": "x"},
        {"PK": "GAME#1", "SK": "USER#ann", "score": 7, "note": "y"},
        {"PK": "USER#bob", "SK": "#METADATA#bob", "wins": 0, "note": "z"},
    ),
    {"PK": "USER#cid", "SK": "#METADATA#cid", "wins": 1, "note": "n"},
    {"PK": "GAME#1", "SK": "#METADATA#1", "map": "green", "note": "m"},
)
DEVICES = Case(
    Rewrite((routes.DEVICES,)),
    "log",
    (
        {"DeviceID": "d1", "Date": "2020-01-01", "State": "WARNING", "wins": 3, "tags": ["a"], "note": "x"},
        {"DeviceID": "d1", "Date": "2020-01-02", "State": "NORMAL", "note": "y"},
        {"DeviceID": "d2", "Date": "2020-01-01", "State": "NORMAL", "note": "z"},
    ),
    {"DeviceID": "d3", "Date": "2020-01-09", "State": "NORMAL", "wins": 1, "note": "n"},
    moving=("State", "ALARM"),
)
TASKS = Case(
    Rewrite((routes.TASKS,)),
    "app",
    (
        {"PK": "TENANT#1", "SK": "TASK#2020#7", "createdAt": "2020", "wins": 3, "tags": ["a"], "note": "x"},
        {"PK": "TENANT#1", "SK": "TASK#2021#8", "createdAt": "2021", "note": "y"},
    ),
    {"PK": "TENANT#1", "SK": "TASK#2022#9", "createdAt": "2022", "wins": 1, "note": "n"},
    {"PK": "TENANT#1", "SK": "META", "name": "One", "note": "m"},
)
ELSEWHERE = Case(
    Rewrite((routes.TASKS_ELSEWHERE,)),
    "app",
    (
        {
            "PK": "TENANT#1#PROJECT#p",
            "SK": "TASK#2020#7",
            "createdAt": "2020",
            "wins": 3,
            "tags": ["a"],
            "note": "x",
        },
        {"PK": "TENANT#1#PROJECT#p", "SK": "TASK#2021#8", "createdAt": "2021", "note": "y"},
    ),
    {"PK": "TENANT#1#PROJECT#p", "SK": "TASK#2022#9", "createdAt": "2022", "wins": 1, "note": "n"},
    {"PK": "TENANT#1#PROJECT#p", "SK": "META", "name": "One", "note": "m"},
)
MERGED = Case(
    routes.MERGED,
    "users",
    ({"id": "ann", "wins": 3, "tags": ["a"], "note": "x"}, {"id": "bob", "note": "y"}),
    {"id": "cid", "wins": 1, "note": "n"},
)
FOLDED = Case(
    Rewrite((routes.LOWER,)),
    "people",
    ({"id": "Ann", "wins": 3, "tags": ["a"], "note": "x"}, {"id": "BOB", "note": "y"}),
    {"id": "Cid", "wins": 1, "note": "n"},
)
KINDS = Case(
    Rewrite((ORDERS,)),
    "shop",
    (
        {"id": "1", "kind": "order", "user": "ann", "wins": 3, "tags": ["a"], "note": "x"},
        {"id": "2", "kind": "order", "user": "bob", "note": "y"},
    ),
    {"id": "3", "kind": "order", "user": "cid", "wins": 1, "note": "n"},
    {"id": "4", "kind": "user", "name": "Ann", "note": "m"},
    moving=("user", "zoe"),
)
INDEXED = Case(
    Rewrite((routes.INDEXED,)),
    "app",
    (
        {"PK": "U#ann", "SK": "1", "GSI1PK": "CITY#Rome", "wins": 3, "tags": ["a"], "note": "x"},
        {"PK": "U#bob", "SK": "1", "GSI1PK": "CITY#Oslo", "note": "y"},
    ),
    {"PK": "U#cid", "SK": "1", "GSI1PK": "CITY#Bonn", "wins": 1, "note": "n"},
    {"PK": "X#1", "SK": "1", "note": "m"},
)
CASES = {
    "game": GAME,
    "devices": DEVICES,
    "tasks": TASKS,
    "elsewhere": ELSEWHERE,
    "merged": MERGED,
    "folded": FOLDED,
    "kinds": KINDS,
    "indexed": INDEXED,
}

DEEP = ("tasks", "elsewhere", "merged", "indexed")
"""Cases that say what others say, with other templates."""


@dataclass
class Scene:
    case: Case
    situation: Situation

    def place(self, item: dict[str, Any]) -> tuple[str, Item]:
        return form_of(self.case.rewrite, self.situation.form, self.case.table, wire(item))

    def key(self, item: dict[str, Any]) -> dict[str, Any]:
        table, content = self.place(item)
        key = key_of(content, self.situation.store.keys[table])
        return {"TableName": table, "Key": key}

    def put(self, item: dict[str, Any]) -> dict[str, Any]:
        table, content = self.place(item)
        hidden = {"__migrator_source__"}
        return {"TableName": table, "Item": {name: value for name, value in content.items() if name not in hidden}}

    def exists(self, item: dict[str, Any]) -> dict[str, Any]:
        name = next(iter(self.key(item)["Key"]))
        return {"ConditionExpression": "attribute_exists(#k)", "ExpressionAttributeNames": {"#k": name}}

    def absent(self, item: dict[str, Any]) -> dict[str, Any]:
        name = next(iter(self.key(item)["Key"]))
        return {"ConditionExpression": "attribute_not_exists(#k)", "ExpressionAttributeNames": {"#k": name}}


Said = Callable[[Scene], tuple[str, dict[str, Any]]]
ONE = {":one": {"N": "1"}}
NOTE = {":n": {"S": "new"}}
OLD_ITEM = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


def _update(scene: Scene, item: dict[str, Any], text: str, values: Any, **further: Any) -> tuple[str, dict[str, Any]]:
    request = {**scene.key(item), "UpdateExpression": text, **further}
    if values:
        request["ExpressionAttributeValues"] = values
    return "update_item", request


def _first(scene: Scene) -> dict[str, Any]:
    return scene.case.items[0]


CALLS: dict[str, Said] = {
    "put over": lambda s: ("put_item", s.put({**_first(s), "note": "changed"})),
    "put over, fewer attributes": lambda s: (
        "put_item",
        s.put({n: v for n, v in _first(s).items() if n not in ("tags", "wins")}),
    ),
    "put anew": lambda s: ("put_item", s.put(s.case.newcomer)),
    "put if absent, refused": lambda s: ("put_item", {**s.put(_first(s)), **s.absent(_first(s)), **OLD_ITEM}),
    "put if absent": lambda s: ("put_item", {**s.put(s.case.newcomer), **s.absent(_first(s))}),
    "put returning the old": lambda s: ("put_item", {**s.put({**_first(s), "note": "c"}), "ReturnValues": "ALL_OLD"}),
    "update": lambda s: _update(s, _first(s), "SET note = :n", NOTE),
    "update counts": lambda s: _update(s, _first(s), "ADD wins :one", ONE),
    "update appends": lambda s: _update(
        s, _first(s), "SET tags = list_append(tags, :l) REMOVE note", {":l": {"L": [{"S": "b"}]}}
    ),
    "update adds": lambda s: _update(s, _first(s), "SET fresh = if_not_exists(fresh, wins)", {}),
    "update returning all": lambda s: _update(s, _first(s), "ADD wins :one", ONE, ReturnValues="ALL_NEW"),
    "update returning what was": lambda s: _update(s, _first(s), "ADD wins :one", ONE, ReturnValues="UPDATED_OLD"),
    "update if": lambda s: _update(
        s, _first(s), "SET note = :n", {**NOTE, ":w": {"N": "3"}}, ConditionExpression="wins = :w"
    ),
    "update if, refused": lambda s: _update(
        s, _first(s), "SET note = :n", {**NOTE, ":w": {"N": "4"}}, ConditionExpression="wins = :w", **OLD_ITEM
    ),
    "update if it exists": lambda s: _update(s, _first(s), "SET note = :n", NOTE, **s.exists(_first(s))),
    "update if it exists, refused": lambda s: _update(s, s.case.newcomer, "SET note = :n", NOTE, **s.exists(_first(s))),
    "update if it is itself": lambda s: _update(
        s,
        _first(s),
        "SET note = :n",
        {**NOTE, ":k": next(iter(s.key(_first(s))["Key"].values()))},
        ConditionExpression="#k = :k",
        ExpressionAttributeNames={"#k": next(iter(s.key(_first(s))["Key"]))},
    ),
    "update of a misfit": lambda s: _update(s, _first(s), "ADD note :one", ONE),
    "delete": lambda s: ("delete_item", s.key(_first(s))),
    "delete of nothing": lambda s: ("delete_item", s.key(s.case.newcomer)),
    "delete if": lambda s: ("delete_item", {**s.key(_first(s)), **s.exists(_first(s))}),
    "delete if, refused": lambda s: ("delete_item", {**s.key(s.case.newcomer), **s.exists(_first(s))}),
    "delete returning": lambda s: ("delete_item", {**s.key(_first(s)), "ReturnValues": "ALL_OLD"}),
    "transaction": lambda s: (
        "transact_write_items",
        {
            "TransactItems": [
                {"Put": s.put(s.case.newcomer)},
                {"Update": _update(s, _first(s), "ADD wins :one", ONE)[1]},
                {"Delete": s.key(s.case.items[1])},
            ]
        },
    ),
    "transaction with a check": lambda s: (
        "transact_write_items",
        {
            "TransactItems": [
                {"ConditionCheck": {**s.key(_first(s)), **s.exists(_first(s))}},
                {"Put": s.put(s.case.newcomer)},
            ]
        },
    ),
    "transaction, refused": lambda s: (
        "transact_write_items",
        {
            "TransactItems": [
                {"Put": s.put(s.case.newcomer)},
                {"ConditionCheck": {**s.key(_first(s)), **s.absent(_first(s)), **OLD_ITEM}},
            ]
        },
    ),
    "get": lambda s: ("get_item", s.key(_first(s))),
    "get some": lambda s: ("get_item", {**s.key(_first(s)), "ProjectionExpression": "note, tags[0]"}),
    "get nothing": lambda s: ("get_item", s.key(s.case.newcomer)),
    "get many": lambda s: (
        "batch_get_item",
        {
            "RequestItems": {
                s.place(_first(s))[0]: {"Keys": [s.key(_first(s))["Key"], s.key(s.case.newcomer)["Key"]]},
            }
        },
    ),
}
REFUSED = {"key-unknown", "not-expressible"}


def _may_refuse(case: Case, phase: Phase, form: Side) -> bool:
    """Where an item cannot be found from the other form's key, and no twin need be there to tell."""
    if form == "new":
        # The new key does not tell the old one; a twin that could may not be there yet.
        return phase in ("expand", "dual-write") and case in (FOLDED, TASKS, ELSEWHERE)
    return phase in ("contract", "done") and case not in (GAME, MERGED)


@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.deep] * (one in DEEP)) for one in CASES])
def test_an_application_sees_no_rewrite(name: str, phase: Phase, form: Side) -> None:
    case = CASES[name]
    told = []
    for said in CALLS:
        for missing in ((), (0,)) if phase in ("dual-write", "contract") else ((),):
            items = [*case.items, *([case.neither] if case.neither else [])]
            old = {case.table: [wire(item) for item in items]}
            situation = Situation(case.rewrite, phase, form, old, without_twin=missing)
            method, request = CALLS[said](Scene(case, situation))
            seen, expected = situation.both(method, **request)
            if isinstance(seen, tuple) and seen[0] in REFUSED and _may_refuse(case, phase, form):
                assert not any(name.endswith("write_items") for name, _ in situation.client.requests)
                continue
            where = f"{said} {missing}"
            if seen != expected:
                told.append(f"{where}: answered {seen}, not {expected}")
            if situation.seen() != situation.expected():
                told.append(f"{where}: it is {situation.seen()}, not {situation.expected()}")
            left = [f for f in situation.discrepancies() if not (missing and seen == expected and _unwritten(said))]
            told += [f"{where}: {one}" for one in left]
    assert told == []


def _unwritten(said: str) -> bool:
    """Whether the call writes nothing, or not to the item without a twin."""
    return (
        "refused" in said
        or said.startswith(("get", "delete of nothing", "put anew", "put if absent"))
        or (said in ("update of a misfit", "transaction with a check"))
    )
