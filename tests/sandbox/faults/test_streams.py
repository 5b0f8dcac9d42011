"""Streams that are trimmed or split, and items that expire."""

from __future__ import annotations

import time
from typing import Any

import pytest

from migrator.errors import UsageError
from migrator.sandbox import Sandbox
from tests.sandbox.faults.conftest import code_of, make_table, put, stored
from tests.sandbox.shapes import describe


class Reader:
    """Reads the shards of the stream of `orders`."""

    def __init__(self, sandbox: Sandbox, client: Any) -> None:
        self.streams = sandbox.client("dynamodbstreams")
        self.arn = describe(client)["LatestStreamArn"]

    def shards(self, **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.streams.describe_stream(StreamArn=self.arn, **more)["StreamDescription"][
            "Shards"
        ]
        return found

    def iterator(self, shard: str, kind: str = "TRIM_HORIZON", **more: Any) -> str:
        answer = self.streams.get_shard_iterator(StreamArn=self.arn, ShardId=shard, ShardIteratorType=kind, **more)
        return str(answer["ShardIterator"])

    def page(self, iterator: str, **more: Any) -> tuple[list[str], str | None]:
        """Keys of the records, and the next iterator."""
        answer = self.streams.get_records(ShardIterator=iterator, **more)
        keys = [record["dynamodb"]["Keys"]["pk"]["S"] for record in answer["Records"]]
        return keys, answer.get("NextShardIterator")


@pytest.fixture
def streamed(sandbox: Sandbox) -> Any:
    client = sandbox.client()
    make_table(client, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    return client


@pytest.fixture
def reader(sandbox: Sandbox, streamed: Any) -> Reader:
    return Reader(sandbox, streamed)


def test_an_iterator_before_the_trim_is_refused_and_a_new_one_reads_what_came_after(
    sandbox: Sandbox, streamed: Any, reader: Reader
) -> None:
    put(streamed, "old")
    (shard,) = reader.shards()
    before = reader.iterator(shard["ShardId"])
    sandbox.faults.add("stream-trim", table="orders")
    put(streamed, "new")
    assert code_of(lambda: reader.page(before)) == "TrimmedDataAccessException"
    assert reader.page(reader.iterator(shard["ShardId"]))[0] == ["new"]


def test_a_trim_may_wait_for_a_request(sandbox: Sandbox, streamed: Any, reader: Reader) -> None:
    for key in "ab":
        put(streamed, key)
    iterator = reader.iterator(reader.shards()[0]["ShardId"])
    sandbox.faults.add("stream-trim", table="orders", operation="GetRecords", nth=2)
    keys, iterator = reader.page(iterator, Limit=1)  # type: ignore[assignment]
    assert keys == ["a"]
    assert code_of(lambda: reader.page(iterator)) == "TrimmedDataAccessException"


def test_a_split_closes_the_parent_and_shares_its_keys_between_two_children(
    sandbox: Sandbox, streamed: Any, reader: Reader
) -> None:
    keys = [f"k{n}" for n in range(20)]
    for key in keys:
        put(streamed, key)
    before = reader.iterator(reader.shards()[0]["ShardId"])
    sandbox.faults.add("shard-split", table="orders")
    for key in keys:
        put(streamed, key, status="new")
    parent, left, right = reader.shards()
    assert "EndingSequenceNumber" in parent["SequenceNumberRange"]
    assert {left["ParentShardId"], right["ParentShardId"]} == {parent["ShardId"]}
    assert "EndingSequenceNumber" not in left["SequenceNumberRange"]

    first, following = reader.page(before, Limit=15)
    assert following is not None
    rest, end = reader.page(following)
    assert (first + rest, end) == (keys, None), "the parent ends, and it has what was written before"
    halves = [reader.page(reader.iterator(shard["ShardId"])) for shard in (left, right)]
    assert all(next_iterator is not None for _, next_iterator in halves)
    assert sorted(halves[0][0] + halves[1][0]) == sorted(keys)
    assert 0 < len(halves[0][0]) < 20


def test_the_shards_of_a_split_stream_are_listed_in_pages_and_by_parent(
    sandbox: Sandbox, streamed: Any, reader: Reader
) -> None:
    put(streamed, "a")
    sandbox.faults.add("shard-split", table="orders")
    parent, left, right = (shard["ShardId"] for shard in reader.shards())
    page = reader.streams.describe_stream(StreamArn=reader.arn, Limit=2)["StreamDescription"]
    assert page["LastEvaluatedShardId"] == left
    assert [shard["ShardId"] for shard in reader.shards(ExclusiveStartShardId=left)] == [right]
    children = reader.shards(ShardFilter={"Type": "CHILD_SHARDS", "ShardId": parent})
    assert [shard["ShardId"] for shard in children] == [left, right]
    assert code_of(lambda: reader.iterator("shardId-00000000000000000000-99999999")) == "ResourceNotFoundException"


def test_children_split_again(sandbox: Sandbox, streamed: Any, reader: Reader) -> None:
    for generation in range(3):
        for n in range(8):
            put(streamed, f"k{n}", status=str(generation))
        sandbox.faults.add("shard-split", table="orders")
    shards = reader.shards()
    assert [sum("EndingSequenceNumber" in one["SequenceNumberRange"] for one in shards), len(shards)] == [7, 15]
    read = [key for shard in shards for key in reader.page(reader.iterator(shard["ShardId"]))[0]]
    assert sorted(read) == sorted(f"k{n}" for n in range(8) for _ in range(3))


def test_expired_items_are_deleted_with_the_service_as_the_one_who_did(
    sandbox: Sandbox, streamed: Any, reader: Reader
) -> None:
    ttl = {"Enabled": True, "AttributeName": "expires"}
    streamed.update_time_to_live(TableName="orders", TimeToLiveSpecification=ttl)
    now = int(time.time())
    for key, expires in (("past", now - 60), ("future", now + 3600), ("ancient", 5)):
        item = {"pk": {"S": key}, "expires": {"N": str(expires)}}
        streamed.put_item(TableName="orders", Item=item)
    put(streamed, "eternal")
    sandbox.faults.add("ttl-delete", table="orders")
    assert stored(sandbox) == ["ancient", "eternal", "future"]
    iterator = reader.iterator(reader.shards()[0]["ShardId"])
    last = reader.streams.get_records(ShardIterator=iterator)["Records"][-1]
    assert (last["eventName"], last["dynamodb"]["Keys"]) == ("REMOVE", {"pk": {"S": "past"}})
    assert last["userIdentity"] == {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}


@pytest.mark.parametrize(
    ("kind", "table", "said"),
    [
        ("stream-trim", "orders", "stream-trim cannot happen to orders: it has no stream"),
        ("shard-split", "orders", "shard-split cannot happen to orders: it has no stream"),
        ("ttl-delete", "orders", "ttl-delete cannot happen to orders: it has no Time to Live"),
        ("ttl-delete", "others", "there is no table others in the sandbox"),
    ],
)
@pytest.mark.usefixtures("client")
def test_what_has_nothing_to_happen_to_is_refused(sandbox: Sandbox, kind: str, table: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        sandbox.faults.add(kind, table=table)
    assert sandbox.faults.list() == ()
