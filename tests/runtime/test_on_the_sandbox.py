"""What the runtime sends means to the engine what it means to the double; and a whole rewrite under load."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.core.item import fingerprint
from migrator.core.rewrite.phases import Phase
from migrator.errors import AnswerLost
from migrator.machine import SystemEntropy
from migrator.runtime import RewritingClient
from tests.runtime.situation import Situation, StandIn, outcome
from tests.runtime.test_calls import CALLS, CASES, Scene, wire


def make(client: Any, situation: Situation) -> None:
    """The situation's tables, anew; cases may call tables of other keys alike."""
    attributes = {one.name: one.type for r in situation.rewrite.routes for one in (*r.source_key, *r.target_key)}
    present = client.list_tables()["TableNames"]
    for table, names in situation.store.keys.items():
        schema = [
            {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)
        ]
        if table in present and client.describe_table(TableName=table)["Table"]["KeySchema"] == schema:
            for item in client.scan(TableName=table)["Items"]:
                client.delete_item(TableName=table, Key={name: item[name] for name in names})
        else:
            if table in present:
                client.delete_table(TableName=table)
                client.get_waiter("table_not_exists").wait(TableName=table, WaiterConfig={"Delay": 1})
            client.create_table(
                TableName=table,
                KeySchema=schema,
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": attributes[name]} for name in names],
                BillingMode="PAY_PER_REQUEST",
            )
            client.get_waiter("table_exists").wait(TableName=table, WaiterConfig={"Delay": 1})
        for item in situation.store.all(table):
            client.put_item(TableName=table, Item=item)


def content(client: Any, tables: Any) -> dict[str, list[str]]:
    return {
        t: sorted(fingerprint(item) for item in client.scan(TableName=t, ConsistentRead=True)["Items"]) for t in tables
    }


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("game", "dual-write"),
        ("devices", "cutover"),
        pytest.param("devices", "dual-write", marks=pytest.mark.deep),
        pytest.param("game", "contract", marks=pytest.mark.deep),
        pytest.param("kinds", "cutover", marks=pytest.mark.deep),
        pytest.param("folded", "dual-write", marks=pytest.mark.deep),
    ],
)
def test_the_engine_does_what_the_double_does(client: Any, name: str, phase: Phase) -> None:
    case = CASES[name]
    items = [*case.items, *([case.neither] if case.neither else [])]
    for said in CALLS:
        situation = Situation(case.rewrite, phase, "old", {case.table: [wire(item) for item in items]})
        make(client, situation)
        method, request = CALLS[said](Scene(case, situation))
        reader = StandIn(case.rewrite, phase, entropy=SystemEntropy())  # type: ignore[arg-type]
        app = RewritingClient(client, reader, form="old")  # type: ignore[arg-type]
        seen, expected = situation.both(method, **request)
        assert seen == expected
        engine = outcome(app, method, request)
        if isinstance(engine, dict) and "Attributes" in engine:
            assert fingerprint(engine["Attributes"]) == fingerprint(seen["Attributes"]), said
        else:
            assert engine == seen, said
        double = {t: sorted(fingerprint(item) for item in situation.store.all(t)) for t in situation.store.keys}
        assert content(client, situation.store.keys) == double, said


def test_an_attempt_that_the_client_makes_by_itself_is_not_sent_after_the_lease(client: Any) -> None:
    """The first attempt happened and its answer was lost; the next one would be in another phase."""
    case = CASES["game"]
    situation = Situation(case.rewrite, "dual-write", "old", {"game": [wire(item) for item in case.items]})
    make(client, situation)
    reader = StandIn(case.rewrite, "dual-write", lease=10, entropy=SystemEntropy())  # type: ignore[arg-type]
    app = RewritingClient(client, reader, form="old")  # type: ignore[arg-type]
    sent: list[int] = []

    def count(**_: Any) -> None:
        sent.append(1)

    def lost(**_: Any) -> int:
        reader.clock.seconds += 11
        return 0

    client.meta.events.register("before-send.dynamodb.TransactWriteItems", count)
    client.meta.events.register_first("needs-retry.dynamodb.TransactWriteItems", lost)
    key = wire({"PK": "USER#ann", "SK": "#METADATA#ann"})
    try:
        with pytest.raises(AnswerLost):
            app.update_item(
                TableName="game",
                Key=key,
                UpdateExpression="ADD wins :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )
    finally:
        client.meta.events.unregister("before-send.dynamodb.TransactWriteItems", count)
        client.meta.events.unregister("needs-retry.dynamodb.TransactWriteItems", lost)
    assert len(sent) == 1
    assert client.get_item(TableName="game", Key=key)["Item"]["wins"] == {"N": "4"}
