"""An index holds the items that the service would index, and writes that would break it are refused."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.sandbox import ManualClock, Sandbox
from tests.sandbox.shapes import attributes, create_index, create_table, index, keys, refused

TYPE = "The update expression attempted to update the secondary index key to unsupported type"
SIZE = "The update expression attempted to update the secondary index key beyond allowed size limits"
MISMATCH = "Type mismatch for Index Key owner Expected: S Actual: {} IndexName: by-owner"
VIOLATORS: dict[str, dict[str, Any]] = {
    "number": {"N": "5"},
    "null": {"NULL": True},
    "empty": {"S": ""},
    "too-long": {"S": "x" * 2049},
    "too-long-in-bytes": {"S": "ü" * 1025},
    "list": {"L": []},
}
SOUND: dict[str, dict[str, Any]] = {"ada": {"S": "ada"}, "longest": {"S": "x" * 2048}}


def put(client: Any, key: str, **item: Any) -> None:
    client.put_item(TableName="orders", Item={"pk": {"S": key}, **item})


def found(client: Any, name: str = "by-owner") -> list[str]:
    page = client.scan(TableName="orders", IndexName=name)
    assert page["Count"] == page["ScannedCount"] == len(page["Items"])
    assert client.scan(TableName="orders", IndexName=name, Select="COUNT")["Count"] == page["Count"]
    return sorted(item["pk"]["S"] for item in page["Items"])


@pytest.fixture
def filled(still: Sandbox, clock: ManualClock) -> Any:
    """A table with sound, sparse and violating items from before its index `by-owner`."""
    client = still.client()
    create_table(client)
    for key, value in {**SOUND, **VIOLATORS}.items():
        put(client, key, owner=value)
    put(client, "sparse")
    create_index(client, "by-owner", "owner", owner="S")
    clock.advance(11)
    return client


def test_a_build_leaves_out_what_it_cannot_index(filled: Any) -> None:
    assert found(filled) == ["ada", "longest"]
    for value in ("5", ""):
        with pytest.raises(ClientError):
            query(filled, {"N": value} if value else {"S": value})
    assert query(filled, {"S": "ada"}) == ["ada"]
    assert filled.scan(TableName="orders")["Count"] == len(SOUND) + len(VIOLATORS) + 1
    statement = 'SELECT * FROM "orders"."by-owner"'
    assert len(filled.execute_statement(Statement=statement)["Items"]) == 2


def query(client: Any, owner: dict[str, Any]) -> list[str]:
    page = client.query(
        TableName="orders",
        IndexName="by-owner",
        KeyConditionExpression="#o = :o",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":o": owner},
    )
    return [item["pk"]["S"] for item in page["Items"]]


def test_an_item_repaired_after_the_build_enters_the_index(filled: Any) -> None:
    put(filled, "null", owner={"S": "ben"})
    put(filled, "number")
    assert found(filled) == ["ada", "longest", "null"]
    assert query(filled, {"S": "ben"}) == ["null"]


def test_a_sort_key_has_its_own_size_limit(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(client)
    put(client, "long", owner={"S": "ada"}, at={"B": b"x" * 1025})
    put(client, "longest", owner={"S": "ada"}, at={"B": b"x" * 1024})
    put(client, "half", owner={"S": "ada"})
    create_index(client, "by-owner", "owner", "at", owner="S", at="B")
    clock.advance(11)
    assert found(client) == ["longest"]


def test_every_attribute_of_a_wide_key_counts(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(client)
    put(client, "whole", a={"S": "a"}, b={"N": "1"}, c={"S": "c"})
    put(client, "wrong", a={"S": "a"}, b={"S": "1"}, c={"S": "c"})
    put(client, "sparse", a={"S": "a"}, b={"N": "1"})
    create_index(client, "wide", ["a", "b"], "c", a="S", b="N", c="S")
    clock.advance(11)
    assert found(client, "wide") == ["whole"]


@pytest.mark.parametrize(
    ("value", "of_put", "of_update"),
    [
        ({"N": "5"}, MISMATCH.format("N"), TYPE),
        ({"NULL": True}, MISMATCH.format("NULL"), TYPE),
        (
            {"S": ""},
            "cannot contain an empty string value. IndexName: by-owner, IndexKey: owner",
            "empty string value",
        ),
        ({"S": "x" * 2049}, "Size of hashkey has exceeded the maximum size limit of2048 bytes", SIZE),
    ],
    ids=["type", "null", "empty", "size"],
)
def test_a_write_that_breaks_an_index_is_refused_on_every_path(
    filled: Any, value: dict[str, Any], of_put: str, of_update: str
) -> None:
    item, key = {"pk": {"S": "new"}, "owner": value}, {"pk": {"S": "ada"}}
    update: dict[str, Any] = {
        "TableName": "orders",
        "Key": key,
        "UpdateExpression": "SET #o = :o",
        "ExpressionAttributeNames": {"#o": "owner"},
        "ExpressionAttributeValues": {":o": value},
    }
    statement = {"Statement": "UPDATE orders SET owner = ? WHERE pk = 'ada'", "Parameters": [value]}
    insert = {"Statement": "INSERT INTO orders VALUE {'pk': 'new', 'owner': ?}", "Parameters": [value]}
    before = filled.scan(TableName="orders")["Items"]
    for text, call in (
        (of_put, lambda: filled.put_item(TableName="orders", Item=item)),
        (of_put, lambda: filled.batch_write_item(RequestItems={"orders": [{"PutRequest": {"Item": item}}]})),
        (of_put, lambda: filled.execute_statement(**insert)),
        (of_update, lambda: filled.update_item(**update)),
        (of_update, lambda: filled.execute_statement(**statement)),
    ):
        with pytest.raises(ClientError) as caught:
            call()
        assert refused(caught.value)[0] == "ValidationException"
        assert text in refused(caught.value)[1]
    for action in ({"Put": {"TableName": "orders", "Item": item}}, {"Update": update}):
        with pytest.raises(ClientError) as caught:
            filled.transact_write_items(TransactItems=[action])
        assert refused(caught.value)[0] in ("TransactionCanceledException", "ValidationException")
    answers = filled.batch_execute_statement(Statements=[statement, insert])["Responses"]
    assert [answer["Error"]["Code"] for answer in answers] == ["ValidationError", "ValidationError"]
    with pytest.raises(ClientError) as caught:
        filled.execute_transaction(TransactStatements=[{"Statement": "DELETE FROM orders WHERE pk = 'sparse'"}, insert])
    assert [reason["Code"] for reason in caught.value.response["CancellationReasons"]] == [
        "None",
        "ValidationError",
    ]
    assert filled.scan(TableName="orders")["Items"] == before


def test_a_write_is_refused_during_the_build_and_taken_again_once_the_index_is_gone(
    still: Sandbox, clock: ManualClock
) -> None:
    client = still.client()
    create_table(client)
    create_index(client, "by-owner", "owner", owner="S")
    with pytest.raises(ClientError):
        put(client, "1", owner={"NULL": True})
    clock.advance(5)
    client.update_table(TableName="orders", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-owner"}}])
    put(client, "1", owner={"NULL": True})


def test_the_first_index_by_name_is_named(dynamodb: Any) -> None:
    create_table(
        dynamodb,
        KeySchema=keys("pk"),
        AttributeDefinitions=attributes(pk="S", a="S", b="S"),
        GlobalSecondaryIndexes=[index("zzz", "a"), index("aaa", "b")],
    )
    with pytest.raises(ClientError, match="IndexName: aaa"):
        put(dynamodb, "1", a={"N": "1"}, b={"N": "1"})
