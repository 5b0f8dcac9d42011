"""The TypeScript of `examples/service-typescript` on the same record and tables: it agrees with the runtime."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from migrator.control.layout import phase as phase_address
from migrator.control.phases import PhaseRecord
from migrator.core.item import fingerprint
from migrator.core.ports import Record
from migrator.core.rewrite.phases import PHASES, Phase, Side
from migrator.core.rewrite.record import to_json
from migrator.dynamo.layout import Layout
from tests.runtime.situation import Situation
from tests.runtime.test_calls import CASES, Scene, wire
from tests.runtime.test_on_the_sandbox import make

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "service-typescript"
TSC = EXAMPLE / "node_modules" / ".bin" / "tsc"
LAYOUT = Layout("ts-control", "PK", "SK")
QUICK = {("devices", "dual-write"), ("game", "cutover")}


class Node:
    """The client at the end of a pipe."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process

    def ask(self, **asked: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the program ended"
        return json.loads(line)


@pytest.fixture(scope="module")
def node(client: Any, sandbox: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    program = shutil.which("node")
    if program is None or not TSC.exists():
        pytest.skip("needs node, and `npm ci` in examples/service-typescript")
    built = EXAMPLE / "dist"
    subprocess.run([str(TSC)], cwd=EXAMPLE, check=True, timeout=120)
    client.create_table(
        TableName=LAYOUT.table,
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=LAYOUT.table, WaiterConfig={"Delay": 1})
    with subprocess.Popen(
        [program, str(built / "drive.js"), sandbox.endpoint_url, LAYOUT.table, "r1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Node(process)
        assert Node(process).ask(method="close", form="old") == {"answer": None}
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 0


_generations = iter(range(1, 1_000_000))


def enter(client: Any, node: Node, situation: Situation) -> None:
    names = {table: table for table in situation.store.keys}
    document = to_json(situation.rewrite, names)
    record = PhaseRecord("r1", "0", situation.phase, next(_generations), "", rewrite=document)
    client.put_item(TableName=LAYOUT.table, Item=LAYOUT.item(Record(phase_address("r1", "0"), 1, record.body()), "v"))
    assert node.ask(method="refresh", form="old") == {"answer": situation.phase}


def load(client: Any, situation: Situation) -> None:
    """What the engine holds, as the situation's store."""
    for table in situation.store.keys:
        situation.store.items[table] = {}
        situation.store.put(table, *client.scan(TableName=table, ConsistentRead=True)["Items"])


def prints(tables: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """Numbers by value: 4.50 is 4.5."""
    return {table: sorted(fingerprint(item) for item in items.values()) for table, items in tables.items()}


Both = Callable[[Scene], tuple[dict[str, Any], str, dict[str, Any]]]


def _key(scene: Scene, item: dict[str, Any]) -> dict[str, Any]:
    found = scene.key(item)
    return {"table": found["TableName"], "key": found["Key"]}


def _put(scene: Scene, item: dict[str, Any], condition: Any = None) -> tuple[dict[str, Any], str, dict[str, Any]]:
    request = scene.put(item)
    call = {"kind": "put", "table": request["TableName"], "item": request["Item"]}
    if condition is not None:
        call["condition"] = {"exists": condition}
        request |= scene.exists(item) if condition else scene.absent(item)
    return {"method": "put", "call": call}, "put_item", request


def _update(
    scene: Scene, item: dict[str, Any], change: Any, text: str, values: Any, condition: Any = None
) -> tuple[dict[str, Any], str, dict[str, Any]]:
    call = {"kind": "update", **_key(scene, item), "change": change}
    request = {**scene.key(item), "UpdateExpression": text}
    if values:
        request["ExpressionAttributeValues"] = dict(values)
    if condition is not None:
        call["condition"] = condition
        request["ConditionExpression"] = "wins = :w"
        request["ExpressionAttributeValues"] = {**(values or {}), ":w": condition["equals"]["wins"]}
    return {"method": "update", "call": call}, "update_item", request


def _transact(scene: Scene) -> tuple[dict[str, Any], str, dict[str, Any]]:
    first, second = scene.case.items[:2]
    put, _, put_request = _put(scene, scene.case.newcomer)
    update, _, update_request = _update(scene, first, {"add": {"wins": "1"}}, "ADD wins :one", {":one": {"N": "1"}})
    calls = [put["call"], update["call"], {"kind": "delete", **_key(scene, second)}]
    actions = [{"Put": put_request}, {"Update": update_request}, {"Delete": scene.key(second)}]
    return {"method": "transact", "calls": calls}, "transact_write_items", {"TransactItems": actions}


def _first(scene: Scene) -> dict[str, Any]:
    return scene.case.items[0]


CALLS: dict[str, Both] = {
    "put over": lambda s: _put(s, {**_first(s), "note": "changed"}),
    "put anew": lambda s: _put(s, s.case.newcomer),
    "put if absent, refused": lambda s: _put(s, _first(s), condition=False),
    "update": lambda s: _update(s, _first(s), {"set": {"note": {"S": "n"}}}, "SET note = :n", {":n": {"S": "n"}}),
    "count": lambda s: _update(s, _first(s), {"add": {"wins": "1.50"}}, "ADD wins :one", {":one": {"N": "1.5"}}),
    "append": lambda s: _update(
        s,
        _first(s),
        {"append": {"tags": [{"S": "b"}]}, "remove": ["note"]},
        "SET tags = list_append(tags, :l) REMOVE note",
        {":l": {"L": [{"S": "b"}]}},
    ),
    "update if": lambda s: _update(
        s,
        _first(s),
        {"set": {"note": {"S": "n"}}},
        "SET note = :n",
        {":n": {"S": "n"}},
        {"equals": {"wins": {"N": "3.0"}}},
    ),
    "update if, refused": lambda s: _update(
        s,
        _first(s),
        {"set": {"note": {"S": "n"}}},
        "SET note = :n",
        {":n": {"S": "n"}},
        {"equals": {"wins": {"N": "4"}}},
    ),
    "delete": lambda s: (
        {"method": "delete", "call": {"kind": "delete", **_key(s, _first(s))}},
        "delete_item",
        s.key(_first(s)),
    ),
    "transaction": _transact,
}


@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", ["devices", "game", "kinds", "merged", "indexed"])
def test_typescript_sees_no_rewrite(
    client: Any, node: Node, pytestconfig: pytest.Config, name: str, phase: Phase, form: Side
) -> None:
    if (name, phase) not in QUICK and not pytestconfig.getoption("--deep"):
        pytest.skip("a long proof: run it with --deep")
    case = CASES[name]
    told = []
    items = [*case.items, *([case.neither] if case.neither else [])]
    for said, both in CALLS.items():
        for missing in ((), (0,)) if phase == "dual-write" else ((),):
            situation = Situation(case.rewrite, phase, form, {case.table: [wire(item) for item in items]}, missing)
            make(client, situation)
            enter(client, node, situation)
            asked, method, request = both(Scene(case, situation))
            answer = node.ask(form=form, **asked)
            _, expected = situation.both(method, **request)
            if answer.get("error") == "key-unknown" and form == "old" and phase in ("contract", "done"):
                continue
            load(client, situation)
            refused = expected[0] if isinstance(expected, tuple) else None
            if answer.get("error") != refused:
                told.append(f"{said} {missing}: {answer}, not {expected}")
            if prints(situation.seen()) != prints(situation.expected()):
                told.append(f"{said} {missing}: it is {situation.seen()}, not {situation.expected()}")
            if not (missing and "refused" in said) and not (missing and said == "put anew"):
                told += [f"{said} {missing}: {one}" for one in situation.discrepancies()]
    assert told == []


@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("phase", PHASES)
def test_typescript_lists_each_item_once(
    client: Any, node: Node, pytestconfig: pytest.Config, phase: Phase, form: Side
) -> None:
    if phase not in ("dual-write", "cutover") and not pytestconfig.getoption("--deep"):
        pytest.skip("a long proof: run it with --deep")
    for name in ("game", "devices"):
        case = CASES[name]
        items = [*case.items, *([case.neither] if case.neither else [])]
        situation = Situation(case.rewrite, phase, form, {case.table: [wire(item) for item in items]})
        make(client, situation)
        enter(client, node, situation)
        for table in situation.store.keys:
            for limit in (1, 3):
                found = node.ask(method="scan", form=form, listing={"table": table, "limit": limit})["answer"]
                expected = situation.expected().get(table, {}).values()
                assert sorted(map(fingerprint, found["items"])) == sorted(map(fingerprint, expected)), (name, table)
                assert all(size <= limit for size in found["sizes"])
        for item in case.items:
            key = Scene(case, situation).key(item)
            got = node.ask(method="get", form=form, table=key["TableName"], key=key["Key"])
            if got.get("error") == "key-unknown":
                assert (name, form) == ("devices", "old")
                assert phase in ("contract", "done")
            else:
                assert fingerprint(got["answer"]) in map(fingerprint, situation.expected()[key["TableName"]].values())


def test_typescript_queries_as_each_side_says(client: Any, node: Node) -> None:
    case = CASES["game"]
    items = [*case.items, *([case.neither] if case.neither else [])]
    for phase in ("dual-write", "cutover"):
        for form, prefix in (("old", "USER#"), ("new", "PLAYER#")):
            situation = Situation(case.rewrite, phase, form, {"game": [wire(item) for item in items]})  # type: ignore[arg-type]
            make(client, situation)
            enter(client, node, situation)
            said = {
                side: {
                    "KeyConditionExpression": "PK = :g AND begins_with(SK, :u)",
                    "ExpressionAttributeValues": {":g": {"S": "GAME#1"}, ":u": {"S": own}},
                }
                for side, own in (("old", "USER#"), ("new", "PLAYER#"))
            }
            found = node.ask(method="query", form=form, listing={"table": "game", **said})["answer"]
            assert [item["SK"]["S"] for item in found["items"]] == [f"{prefix}ann"], (phase, form)


def test_typescript_reports_itself_and_refuses_what_it_does_not_know(client: Any, node: Node) -> None:
    case = CASES["folded"]
    situation = Situation(case.rewrite, "dual-write", "old", {"people": [wire(item) for item in case.items]})
    instances = [
        item for item in client.scan(TableName=LAYOUT.table)["Items"] if item["SK"]["S"].startswith("instance#")
    ]
    assert [LAYOUT.record(item).body["name"] for item in instances] == ["drive"]
    document = to_json(situation.rewrite, {table: table for table in situation.store.keys})
    record = PhaseRecord("r1", "0", "dual-write", next(_generations), "", rewrite=document, lease_ms=60_000)
    client.put_item(TableName=LAYOUT.table, Item=LAYOUT.item(Record(phase_address("r1", "0"), 1, record.body()), "v"))
    # What was known still holds for its lease; what is written there now is none of this program's.
    before = node.ask(method="refresh", form="old")
    assert before["answer"] in PHASES
