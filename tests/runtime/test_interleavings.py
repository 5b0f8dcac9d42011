"""Applications, instances of adjacent phases and the copier at once: in every order nothing is lost, nothing undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.core.change import Check, Write
from migrator.core.item import Item
from migrator.core.rewrite.phases import Phase, Side
from migrator.core.rewrite.reconcile import Equal, Failed, Look, Place, Repair, Seen, reconcile
from migrator.core.rewrite.removal import superseded
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import PIN, Image, Route
from migrator.dynamo.writes import condition_check, transact
from migrator.runtime import RewritingClient
from tests.core.rewrite import routes
from tests.runtime.double import Double
from tests.runtime.situation import Numbers, Situation, StandIn, outcome
from tests.runtime.test_calls import ORDERS, wire
from tests.runtime.turns import Actor, Turn, orders, run

Said = tuple[str, dict[str, Any]]


def _key(**key: str) -> dict[str, Any]:
    return wire(key)  # type: ignore[return-value]


@dataclass(frozen=True)
class Play:
    """One rewrite, the items it begins with, and what is said to it in the old form."""

    rewrite: Rewrite
    table: str
    items: tuple[Item, ...]
    key: dict[str, Any]
    """Of the item that everybody writes."""
    moving: tuple[str, str] | None = None

    def update(self, text: str, further: Mapping[str, Any] | None = None, **values: Any) -> Said:
        request: dict[str, Any] = {"TableName": self.table, "Key": self.key, "UpdateExpression": text}
        if self.moving is not None and "#m" not in text:
            # Without its other attributes an item has no new form.
            request["ConditionExpression"] = f"attribute_exists({next(iter(self.key))})"
        if values:
            request["ExpressionAttributeValues"] = {f":{name}": one for name, one in wire(values).items()}
        return "update_item", {**request, **(further or {})}

    @property
    def put(self) -> Said:
        return "put_item", {"TableName": self.table, "Item": {**self.items[0], "note": {"S": "put"}}}

    @property
    def delete(self) -> Said:
        return "delete_item", {"TableName": self.table, "Key": self.key}

    @property
    def count(self) -> Said:
        return self.update("ADD wins :one", one=1)

    @property
    def add(self) -> Said:
        return self.update("SET fresh = :f", f="added")

    @property
    def move(self) -> Said:
        assert self.moving is not None
        name, value = self.moving
        return self.update("SET #m = :v", {"ExpressionAttributeNames": {"#m": name}}, v=value)


STILL = Play(
    routes.GAME,
    "game",
    (wire({"PK": "USER#ann", "SK": "#METADATA#ann", "wins": 3, "note": "x"}),),
    _key(PK="USER#ann", SK="#METADATA#ann"),
)
MOVING = Play(
    Rewrite((routes.DEVICES,)),
    "log",
    (wire({"DeviceID": "d1", "Date": "1", "State": "NORMAL", "wins": 3, "note": "x"}),),
    _key(DeviceID="d1", Date="1"),
    ("State", "ALARM"),
)
KINDS = Play(
    Rewrite((ORDERS,)),
    "shop",
    (wire({"id": "1", "kind": "order", "user": "ann", "wins": 3, "note": "x"}),),
    _key(id="1"),
    ("kind", "draft"),
)
STARTS = Play(
    Rewrite((ORDERS,)),
    "shop",
    (wire({"id": "1", "kind": "draft", "user": "ann", "wins": 3, "note": "x"}),),
    _key(id="1"),
    ("kind", "order"),
)


def copier(route: Route, authority: Side, key: Item, hints: Sequence[Item], situation: Situation) -> Actor:
    """Reconcile one item, as the tool does it for each that it meets."""

    def act(turn: Turn) -> None:
        client = Double(situation.store, before=lambda method, request: turn())
        for _ in range(50):
            seen = Seen()
            while isinstance(verdict := reconcile(route, authority, key, seen, hints), Look):
                gets = [{"Get": {"TableName": place.table, "Key": place.key}} for place in verdict.places]
                answer = client.transact_get_items(TransactItems=gets)["Responses"]
                for place, found in zip(verdict.places, answer, strict=True):
                    seen.put(place, found.get("Item"))
            if isinstance(verdict, Equal | Failed):
                return
            assert isinstance(verdict, Repair), verdict
            try:
                client.transact_write_items(TransactItems=_actions(verdict.writes, verdict.checks))
            except ClientError as exc:
                if exc.response["Error"]["Code"] != "TransactionCanceledException":
                    raise
        raise AssertionError("the copier does not come to an end")

    return act


def _actions(writes: Sequence[tuple[str, Write]], checks: Sequence[Check]) -> list[dict[str, Any]]:
    return [transact(table, write) for table, write in writes] + [condition_check(check) for check in checks]


def instance(
    situation: Situation, phase: Phase, said: Said, answers: list[Any], number: int, form: Side = "old"
) -> Actor:
    def act(turn: Turn) -> None:
        client = Double(situation.store, before=lambda method, request: turn())
        reader = StandIn(situation.rewrite, phase, entropy=Numbers(str(number)))
        app = RewritingClient(client, reader, form=form)  # type: ignore[arg-type]
        answers.append((said[0], str(said[1]), outcome(app, *said)))

    return act


def serially(play: Play, phase: Phase, calls: Sequence[Said]) -> list[tuple[Any, Any]]:
    """What the calls may come to: one after the other, in any order."""
    found = []
    for order in permutations(calls):
        situation = Situation(play.rewrite, phase, "old", {play.table: list(play.items)})
        answers = [(said[0], str(said[1]), outcome(situation.plain, *said)) for said in order]
        found.append((sorted(answers, key=str), situation.expected()))
    return found


def try_all(
    play: Play,
    phases: Sequence[Phase],
    calls: Sequence[Said],
    *,
    copies: bool = False,
    without_twin: bool = False,
    authority: Phase | None = None,
    switches: int = 3,
) -> int:
    """Every order of the calls, each by an instance of its own in its own phase, and of the copier."""
    base = authority or phases[0]
    allowed = serially(play, base, calls)
    tried = 0

    def attempt(prefix: Sequence[int]) -> tuple[list[int], list[list[int]]]:
        situation = Situation(
            play.rewrite, base, "old", {play.table: list(play.items)}, without_twin=(0,) if without_twin else ()
        )
        answers: list[Any] = []
        actors = [
            instance(situation, phase, said, answers, number)
            for number, (phase, said) in enumerate(zip(phases, calls, strict=True))
        ]
        if copies:
            route = next(one for one in play.rewrite.routes if one.table("old") == play.table)
            hints = situation.store.all(route.target)
            names = route.names("new")
            keys = [{name: item[name] for name in names} for item in hints if set(names) <= item.keys()]
            actors.append(copier(route, "old", play.key, keys, situation))
        order, choices = run(actors, prefix)
        result = (sorted(answers, key=str), situation.seen())
        assert result in allowed, f"order {order}: {result}"
        assert situation.discrepancies(creates="contract" not in phases) == [], f"order {order}"
        return order, choices

    for _ in orders(attempt, switches):
        tried += 1
    return tried


PAIRS: dict[str, Callable[[Play], Sequence[Said]]] = {
    "count and count": lambda p: [p.count, p.count],
    "count and add": lambda p: [p.count, p.add],
    "count and delete": lambda p: [p.count, p.delete],
    "put and delete": lambda p: [p.put, p.delete],
    "put and count": lambda p: [p.put, p.count],
    "delete and put": lambda p: [p.delete, p.put],
}
MOVES: dict[str, Callable[[Play], Sequence[Said]]] = {
    "move and add": lambda p: [p.move, p.add],
    "move and count": lambda p: [p.move, p.count],
    "move and delete": lambda p: [p.move, p.delete],
    "move and put": lambda p: [p.move, p.put],
    "move and move": lambda p: [p.move, p.move],
}


def _params(*names: str, quick: Sequence[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.deep] * (name not in quick)) for name in names]


@pytest.mark.parametrize("pair", _params(*PAIRS, quick=["count and add", "delete and put"]))
@pytest.mark.parametrize("without_twin", [False, True])
@pytest.mark.parametrize("play", [pytest.param(STILL, id="still"), pytest.param(MOVING, id="moving")])
def test_two_writers_and_the_copier(play: Play, without_twin: bool, pair: str, pytestconfig: pytest.Config) -> None:
    switches = 2 if pytestconfig.getoption("--deep") or not without_twin else 1
    calls = PAIRS[pair](play)
    assert (
        try_all(play, ["dual-write"] * 2, calls, copies=without_twin, without_twin=without_twin, switches=switches) > 5
    )


@pytest.mark.parametrize("pair", _params(*MOVES, quick=["move and add", "move and delete"]))
@pytest.mark.parametrize(
    "play", [pytest.param(p, id=n) for n, p in (("moving", MOVING), ("stops", KINDS), ("starts", STARTS))]
)
def test_a_twin_that_moves_among_other_writers(play: Play, pair: str, pytestconfig: pytest.Config) -> None:
    switches = 3 if pytestconfig.getoption("--deep") else 2
    assert try_all(play, ["dual-write"] * 2, MOVES[pair](play), switches=switches) > 5


@pytest.mark.parametrize("call", ["count", "add", "delete", "put", "move"])
@pytest.mark.parametrize(
    "play", [pytest.param(p, id=n) for n, p in (("moving", MOVING), ("stops", KINDS), ("starts", STARTS))]
)
def test_the_copier_against_a_write_at_every_step(play: Play, call: str, pytestconfig: pytest.Config) -> None:
    switches = 4 if pytestconfig.getoption("--deep") else 2
    said = getattr(play, call)
    assert try_all(play, ["dual-write"], [said], copies=True, without_twin=True, switches=switches) > 2


ADJACENT: list[tuple[Phase, Phase]] = [("dual-write", "cutover"), ("cutover", "dual-write")]
LATE: list[tuple[Phase, Phase]] = [("cutover", "contract"), ("contract", "cutover")]


@pytest.mark.parametrize("pair", _params(*PAIRS, quick=["count and add", "put and delete", "count and delete"]))
@pytest.mark.parametrize("phases", [*ADJACENT, *LATE])
def test_instances_in_adjacent_phases_lose_nothing(phases: tuple[Phase, Phase], pair: str) -> None:
    first = "cutover" if "contract" in phases else "dual-write"
    assert try_all(STILL, phases, PAIRS[pair](STILL), authority=first, switches=2) > 2


@pytest.mark.parametrize("pair", _params(*PAIRS, *MOVES, quick=["move and add", "count and add", "move and put"]))
@pytest.mark.parametrize("phases", ADJACENT)
def test_a_twin_that_moves_while_the_authority_changes(phases: tuple[Phase, Phase], pair: str) -> None:
    assert try_all(MOVING, phases, {**PAIRS, **MOVES}[pair](MOVING), authority="dual-write", switches=2) > 2


INDEXED = Play(
    Rewrite((routes.INDEXED,)),
    "app",
    (wire({"PK": "U#ann", "SK": "1", "GSI1PK": "CITY#Rome", "note": "x"}),),
    _key(PK="U#ann", SK="1"),
)


def test_what_an_update_copies_is_what_stands_when_it_is_written() -> None:
    """It touches what the new side has in another form, so its outcome is told from what was read."""
    copies = INDEXED.update("SET GSI1PK = :c, copied = note", c="CITY#Oslo")
    changes = INDEXED.update("SET note = :n", n="y")
    assert try_all(INDEXED, ["dual-write"] * 2, [copies, changes], switches=3) > 5


@pytest.mark.parametrize("pair", ["count and add", "count and count"])
@pytest.mark.parametrize("phases", LATE)
def test_a_twin_that_one_instance_makes_again_is_not_missed_by_the_other(
    phases: tuple[Phase, Phase], pair: str
) -> None:
    assert try_all(STILL, phases, PAIRS[pair](STILL), authority="cutover", without_twin=True, switches=3) > 5


def test_two_items_never_come_by_one_twin() -> None:
    """A twin was left behind; its item is made again while another one takes the twin over."""

    def put(state: str) -> Said:
        item = wire({"DeviceID": "d1", "State#Date": f"{state}#1", "State": state, "Date": "1"})
        return "put_item", {"TableName": "log-by-state", "Item": item}

    def attempt(prefix: Sequence[int]) -> tuple[list[int], list[list[int]]]:
        situation = Situation(MOVING.rewrite, "cutover", "new", {"log": []})
        situation.store.put("log", *MOVING.items)
        answers: list[Any] = []
        calls = [put("ALARM"), put("NORMAL")]
        actors = [instance(situation, "cutover", said, answers, n, "new") for n, said in enumerate(calls)]
        order, choices = run(actors, prefix)
        codes = sorted(answer[2][0] if answer[2] else "" for answer in answers)
        assert codes == ["", "key-collision"], f"order {order}: {codes}"
        assert situation.discrepancies() == [], f"order {order}"
        return order, choices

    assert len(list(orders(attempt))) > 5


def test_a_pin_is_no_difference_and_is_never_copied() -> None:
    """It stands for moments, on one of the two: the copier and verify would fight with who set it."""
    item = wire({"DeviceID": "d1", "Date": "1", "State": "NORMAL"})
    pinned = {**item, PIN: {"S": "nonce"}}
    twin = routes.DEVICES.twin_of(pinned)
    assert isinstance(twin, Image)
    assert PIN not in twin.item
    seen = Seen()
    seen.put(Place("log", MOVING.key), item)
    seen.put(Place("log-by-state", twin.key), {**twin.item, PIN: {"S": "nonce"}})
    assert isinstance(reconcile(routes.DEVICES, "old", MOVING.key, seen), Equal)
    back = routes.DEVICES.source_of({**twin.item, PIN: {"S": "nonce"}})
    assert isinstance(back, Image)
    assert PIN not in back.item
    gone = superseded(routes.DEVICES, MOVING.key, seen)
    assert isinstance(gone, Repair), gone


@pytest.mark.parametrize("phases", LATE)
def test_new_code_in_contract_does_not_miss_a_twin_that_cutover_makes(phases: tuple[Phase, Phase]) -> None:
    new = Play(STILL.rewrite, "game", (), _key(PK="PLAYER#ann", SK="#METADATA#ann"))

    def attempt(prefix: Sequence[int]) -> tuple[list[int], list[list[int]]]:
        situation = Situation(STILL.rewrite, "cutover", "new", {"game": list(STILL.items)}, without_twin=(0,))
        answers: list[Any] = []
        actors = [instance(situation, phase, new.count, answers, n, "new") for n, phase in enumerate(phases)]
        order, choices = run(actors, prefix)
        item = situation.store.get("game", new.key)
        assert item is not None
        assert item["wins"] == {"N": "5"}, f"order {order}"
        assert situation.discrepancies(creates=False) == [], f"order {order}"
        return order, choices

    assert len(list(orders(attempt))) > 5
