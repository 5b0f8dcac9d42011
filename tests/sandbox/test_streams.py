"""Writes by PartiQL leave the stream records that writes by item leave."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.sandbox import Sandbox
from tests.sandbox.shapes import create_table, describe


class Stream:
    """Reads what the table's stream got since the last look."""

    def __init__(self, sandbox: Sandbox, client: Any) -> None:
        self._streams = sandbox.client("dynamodbstreams")
        arn = describe(client)["LatestStreamArn"]
        shard = self._streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
        self._next = self._streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]

    def news(self) -> list[tuple[str, Any, Any]]:
        page = self._streams.get_records(ShardIterator=self._next)
        self._next = page["NextShardIterator"]
        return [(r["eventName"], r["dynamodb"].get("OldImage"), r["dynamodb"].get("NewImage")) for r in page["Records"]]


@pytest.fixture
def stream(sandbox: Sandbox, dynamodb: Any) -> Stream:
    create_table(dynamodb, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    return Stream(sandbox, dynamodb)


def image(key: str, **attributes: str) -> dict[str, Any]:
    return {"pk": {"S": key}, **{name: {"N": value} for name, value in attributes.items()}}


def test_single_statements_are_recorded(dynamodb: Any, stream: Stream) -> None:
    for statement in (
        "INSERT INTO orders VALUE {'pk': 'a', 'n': 1}",
        "UPDATE orders SET n = 2 WHERE pk = 'a'",
        "UPDATE orders SET n = 2 WHERE pk = 'a'",
        "DELETE FROM orders WHERE pk = 'a'",
        "DELETE FROM orders WHERE pk = 'a'",
    ):
        dynamodb.execute_statement(Statement=statement)
    assert stream.news() == [
        ("INSERT", None, image("a", n="1")),
        ("MODIFY", image("a", n="1"), image("a", n="2")),
        ("REMOVE", image("a", n="2"), None),
    ]


def test_of_a_batch_only_what_succeeded_is_recorded(dynamodb: Any, stream: Stream) -> None:
    dynamodb.put_item(TableName="orders", Item=image("a", n="1"))
    stream.news()
    answers = dynamodb.batch_execute_statement(
        Statements=[
            {"Statement": "INSERT INTO orders VALUE {'pk': 'a'}"},
            {"Statement": "INSERT INTO orders VALUE {'pk': 'b'}"},
            {"Statement": "UPDATE orders SET n = 1 WHERE pk = 'absent'"},
        ]
    )["Responses"]
    codes = [answer.get("Error", {}).get("Code") for answer in answers]
    assert codes == ["DuplicateItem", None, "ConditionalCheckFailed"]
    assert stream.news() == [("INSERT", None, image("b"))]


def test_a_transaction_is_recorded_whole_or_not_at_all(dynamodb: Any, stream: Stream) -> None:
    dynamodb.put_item(TableName="orders", Item=image("a", n="1"))
    stream.news()
    update = {"Statement": "UPDATE orders SET n = 2 WHERE pk = 'a'"}
    with pytest.raises(ClientError):
        dynamodb.execute_transaction(
            TransactStatements=[update, {"Statement": "UPDATE orders SET n = 1 WHERE pk = 'absent'"}]
        )
    assert stream.news() == []
    dynamodb.execute_transaction(TransactStatements=[update, {"Statement": "INSERT INTO orders VALUE {'pk': 'b'}"}])
    assert sorted(name for name, _, _ in stream.news()) == ["INSERT", "MODIFY"]


def test_statements_name_an_item_once_and_do_not_mix_reads_with_writes(dynamodb: Any, stream: Stream) -> None:
    insert, update = "INSERT INTO orders VALUE {'pk': 'a'}", "UPDATE orders SET n = 2 WHERE pk = 'a'"
    with pytest.raises(ClientError, match="duplicates"):
        dynamodb.batch_execute_statement(Statements=[{"Statement": insert}, {"Statement": update}])
    with pytest.raises(ClientError, match="multiple operations on one item"):
        dynamodb.execute_transaction(TransactStatements=[{"Statement": insert}, {"Statement": update}])
    with pytest.raises(ClientError, match="all reads or all writes"):
        dynamodb.batch_execute_statement(
            Statements=[{"Statement": insert}, {"Statement": "SELECT * FROM orders WHERE pk = 'b'"}]
        )
    assert stream.news() == []
