"""What touches an item of a transaction in flight is refused, and nobody else is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.sandbox import Sandbox
from tests.sandbox.shapes import create_table, refused

WINDOW = 0.3


@pytest.fixture
def slow() -> Iterator[Sandbox]:
    """A sandbox whose transactions hold their items for a third of a second."""
    with Sandbox(transaction_window=WINDOW) as sandbox:
        create_table(sandbox.client())
        yield sandbox


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}}


def put(name: str, **more: str) -> dict[str, Any]:
    return {"Put": {"TableName": "orders", "Item": {**key(name), **{k: {"S": v} for k, v in more.items()}}}}


@pytest.fixture
def transaction(slow: Sandbox) -> Iterator[Callable[..., Future[Any]]]:
    """Start a transaction in another thread; returns once it is under way."""
    client = slow.client()
    with ThreadPoolExecutor(1) as pool:

        def start(*actions: dict[str, Any], **more: Any) -> Future[Any]:
            under_way = threading.Event()
            with slow.on("TransactWriteItems", under_way.set, nth=1):
                running = pool.submit(client.transact_write_items, TransactItems=list(actions), **more)
                assert under_way.wait(5)
                # The hook runs before the items are held: one more round trip is after it.
                client.list_tables()
            return running

        yield start


def test_plain_writes_conflict_and_writes_of_other_items_do_not(slow: Sandbox, transaction: Any) -> None:
    client = slow.client()
    running = transaction(put("a", by="transaction"), put("b"))
    statement = "UPDATE orders SET n = 1 WHERE pk = 'a'"
    for call in (
        lambda: client.put_item(TableName="orders", Item=key("a")),
        lambda: client.update_item(TableName="orders", Key=key("a")),
        lambda: client.delete_item(TableName="orders", Key=key("b")),
        lambda: client.execute_statement(Statement=statement),
    ):
        with pytest.raises(ClientError) as caught:
            call()
        assert refused(caught.value)[0] == "TransactionConflictException"
    client.put_item(TableName="orders", Item=key("c"))
    answers = client.batch_execute_statement(
        Statements=[{"Statement": statement}, {"Statement": "INSERT INTO orders VALUE {'pk': 'd'}"}]
    )["Responses"]
    assert [answer.get("Error", {}).get("Code") for answer in answers] == ["TransactionConflict", None]
    writes = [{"PutRequest": {"Item": key(name)}} for name in ("a", "e")]
    left = client.batch_write_item(RequestItems={"orders": writes})["UnprocessedItems"]
    assert left == {"orders": [{"PutRequest": {"Item": key("a")}}]}
    alone = [{"PutRequest": {"Item": key("a")}}]
    assert client.batch_write_item(RequestItems={"orders": alone})["UnprocessedItems"] == {"orders": alone}
    answers = client.batch_execute_statement(Statements=[{"Statement": statement}])["Responses"]
    assert [answer["Error"]["Code"] for answer in answers] == ["TransactionConflict"]
    free = [{"PutRequest": {"Item": key("f")}}]
    assert client.batch_write_item(RequestItems={"orders": free})["UnprocessedItems"] == {}
    client.batch_execute_statement(Statements=[{"Statement": "INSERT INTO orders VALUE {'pk': 'g'}"}])
    assert not running.done()
    running.result()
    items = {item["pk"]["S"]: item for item in client.scan(TableName="orders")["Items"]}
    assert sorted(items) == ["a", "b", "c", "d", "e", "f", "g"]
    assert items["a"]["by"] == {"S": "transaction"}


def test_another_transaction_is_cancelled_with_the_conflict_at_its_place(slow: Sandbox, transaction: Any) -> None:
    client = slow.client()
    running = transaction(put("a"))
    with pytest.raises(ClientError) as caught:
        client.transact_write_items(TransactItems=[put("z"), put("a")])
    reasons = [reason["Code"] for reason in caught.value.response["CancellationReasons"]]
    assert (refused(caught.value)[0], reasons) == (
        "TransactionCanceledException",
        ["None", "TransactionConflict"],
    )
    gets = [{"Get": {"TableName": "orders", "Key": key("a")}}]
    with pytest.raises(ClientError, match="TransactionConflict"):
        client.transact_get_items(TransactItems=gets)
    assert "Item" not in client.get_item(TableName="orders", Key=key("z"))
    running.result()
    assert client.transact_get_items(TransactItems=gets)["Responses"][0]["Item"] == key("a")


def test_the_same_token_in_flight_is_told_so(slow: Sandbox, transaction: Any) -> None:
    running = transaction(put("a"), ClientRequestToken="t-1")
    with pytest.raises(ClientError) as caught:
        slow.client().transact_write_items(TransactItems=[put("a")], ClientRequestToken="t-1")
    assert refused(caught.value)[0] == "TransactionInProgressException"
    running.result()
    slow.client().transact_write_items(TransactItems=[put("a")], ClientRequestToken="t-1")


def test_a_refused_transaction_frees_its_items(slow: Sandbox) -> None:
    client = slow.client()
    check = {
        "ConditionCheck": {
            "TableName": "orders",
            "Key": key("b"),
            "ConditionExpression": "attribute_exists(pk)",
        }
    }
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        client.transact_write_items(TransactItems=[put("a"), check])
    client.put_item(TableName="orders", Item=key("b"))


def test_a_client_that_waits_for_its_answers_never_conflicts(sandbox: Sandbox, dynamodb: Any) -> None:
    create_table(dynamodb)
    for number in range(50):
        dynamodb.transact_write_items(TransactItems=[put("a", n=str(number)), put("b")])
        dynamodb.update_item(TableName="orders", Key=key("a"))
