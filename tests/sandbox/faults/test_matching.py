"""A fault strikes the requests that it names, as often as it says, and the same ones in each run."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.sandbox import ManualClock, Sandbox
from tests.sandbox.faults.conftest import code_of, put, stored, struck
from tests.sandbox.shapes import create_table


def puts(client: Any, number: int) -> list[bool]:
    return struck([lambda n=n: put(client, str(n)) for n in range(number)])  # type: ignore[misc]


@pytest.mark.parametrize(
    ("members", "hits"),
    [
        ({}, [1, 2, 3, 4, 5, 6]),
        ({"nth": 2}, [2]),
        ({"every": 3}, [3, 6]),
        ({"times": 2}, [1, 2]),
        ({"every": 2, "times": 2}, [2, 4]),
    ],
)
def test_it_strikes_the_nth_every_nth_or_so_many(
    sandbox: Sandbox, client: Any, members: dict[str, int], hits: list[int]
) -> None:
    with sandbox.fault("error", **members):
        assert [n for n, hit in enumerate(puts(client, 6), 1) if hit] == hits
    assert puts(client, 1) == [False]


def test_the_same_seed_strikes_the_same_requests_and_another_seed_others(sandbox: Sandbox, client: Any) -> None:
    runs = []
    for seed in (7, 7, 8):
        with sandbox.fault("error", probability=0.4, seed=seed):
            runs.append(puts(client, 60))
    assert runs[0] == runs[1] != runs[2]
    assert 12 <= sum(runs[0]) <= 36


def test_it_ends_with_its_time_on_the_sandboxs_clock(still: Sandbox, clock: ManualClock, stopped: Any) -> None:
    still.faults.add("error", lasts=10)
    assert puts(stopped, 2) == [True, True]
    clock.advance(9.9)
    assert puts(stopped, 1) == [True]
    clock.advance(0.1)
    assert puts(stopped, 2) == [False, False]
    assert still.faults.list()[0].is_over


def test_operations_and_tables_are_told_apart(sandbox: Sandbox, client: Any) -> None:
    create_table(client, "others")
    with sandbox.fault("error", operation=["PutItem", "Scan"], table="orders"):
        assert code_of(lambda: put(client, "1")) == "InternalServerError"
        assert code_of(lambda: client.scan(TableName="orders")) == "InternalServerError"
        client.get_item(TableName="orders", Key={"pk": {"S": "1"}})
        client.scan(TableName="others")


@pytest.mark.parametrize(("name", "hit"), [("orders", True), ("others", False)])
def test_a_table_is_found_in_a_batch_a_transaction_and_a_statement(
    sandbox: Sandbox, client: Any, name: str, hit: bool
) -> None:
    create_table(client, "others")
    item = {"pk": {"S": "1"}}
    calls = [
        lambda: client.batch_write_item(RequestItems={name: [{"PutRequest": {"Item": item}}]}),
        lambda: client.batch_get_item(RequestItems={name: {"Keys": [item]}}),
        lambda: client.transact_write_items(TransactItems=[{"Put": {"TableName": name, "Item": item}}]),
        lambda: client.execute_statement(Statement=f"SELECT * FROM {name} WHERE pk = '1'"),
        lambda: client.describe_table(TableName=name),
    ]
    with sandbox.fault("error", table="orders"):
        assert struck(calls) == [hit] * len(calls)


@pytest.mark.parametrize(("value", "hit"), [("hot", True), ("cold", False)])
def test_a_key_is_found_in_items_keys_queries_and_statements(
    sandbox: Sandbox, client: Any, value: str, hit: bool
) -> None:
    key = {"pk": {"S": value}}
    condition = {
        "KeyConditionExpression": "#k = :v",
        "ExpressionAttributeNames": {"#k": "pk"},
        "ExpressionAttributeValues": {":v": key["pk"]},
    }
    calls = [
        lambda: client.put_item(TableName="orders", Item=key),
        lambda: client.update_item(TableName="orders", Key=key),
        lambda: client.query(TableName="orders", **condition),
        lambda: client.execute_statement(Statement=f"UPDATE orders SET n = 1 WHERE pk = '{value}'"),
    ]
    with sandbox.fault("error", key={"pk": "hot"}):
        assert struck(calls) == [hit] * len(calls)


def test_an_index_is_met_by_its_reads_and_by_the_writes_that_change_it(sandbox: Sandbox, client: Any) -> None:
    put(client, "in", status="new")
    change = {"TableName": "orders", "Key": {"pk": {"S": "in"}}}
    with sandbox.fault("error", index="by-status"):
        assert code_of(lambda: put(client, "1", status="new")) == "InternalServerError"
        assert code_of(lambda: client.scan(TableName="orders", IndexName="by-status")) == "InternalServerError"
        assert code_of(lambda: client.delete_item(**change)) == "InternalServerError"
        update = {"UpdateExpression": "REMOVE #s", "ExpressionAttributeNames": {"#s": "status"}}
        assert code_of(lambda: client.update_item(**change, **update)) == "InternalServerError"
        put(client, "2")
        client.scan(TableName="orders")


def test_the_first_of_several_faults_meets_a_request_first(sandbox: Sandbox, client: Any) -> None:
    first = sandbox.faults.add("error", code="ServiceUnavailable", times=1)
    second = sandbox.faults.add("error")
    assert [code_of(lambda: put(client, "1")) for _ in range(2)] == ["ServiceUnavailable", "InternalServerError"]
    assert [(fault.id, fault.met, fault.struck) for fault in sandbox.faults.list()] == [
        (first.id, 1, 1),
        (second.id, 1, 1),
    ]
    assert sandbox.faults.clear() == 2


def test_an_unseen_client_meets_no_fault(sandbox: Sandbox, client: Any) -> None:
    with sandbox.fault("error"):
        put(sandbox.client(unseen=True), "1")
    assert stored(sandbox) == ["1"]


def test_a_reset_takes_added_faults_away(sandbox: Sandbox, client: Any) -> None:
    sandbox.faults.add("error")
    sandbox.reset()
    assert sandbox.faults.list() == ()
