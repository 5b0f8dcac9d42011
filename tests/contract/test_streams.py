"""What the Streams port promises, whatever engine is behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from migrator.core.item import Item
from migrator.core.schema import KeyAttribute, Table
from migrator.core.settings import Stream
from migrator.core.streams import ChangeRecord, Streams, Trimmed
from migrator.dynamo.client import connect
from migrator.dynamo.credentials import Connection
from migrator.dynamo.retry import Retry
from migrator.dynamo.streams import DynamoStreams
from migrator.dynamo.tables import DynamoTables
from migrator.sandbox import Sandbox
from migrator.testing.memory import World
from migrator.testing.streams import MemoryStreams
from tests.contract.adapters import Chance, WallClock

SHAPE = Table("app", KeyAttribute("PK"), KeyAttribute("SK"))


@dataclass
class Place:
    """A table with a stream, and what may happen to it."""

    streams: Streams
    table: str
    put: Callable[[Item], object]
    remove: Callable[[Item], object]
    split: Callable[[], object]
    trim: Callable[[], object]

    @property
    def arn(self) -> str:
        info = self.streams.stream(self.table)
        assert info is not None
        return info.arn

    def read(self, shard: str, after: str | None = None) -> tuple[list[ChangeRecord], bool]:
        """Everything of a shard, and whether it is closed."""
        position: str | None = self.streams.position(self.arn, shard, after)
        found: list[ChangeRecord] = []
        for _ in range(20):
            assert position is not None
            page = self.streams.read(self.arn, position)
            found += page.records
            position = page.position
            if position is None or not page.records:
                break
        return found, position is None


@contextmanager
def in_memory(view: str | None) -> Iterator[Place]:
    world = World({"app": ("PK", "SK")})
    streams = MemoryStreams(world.items, world.clock, page=2)
    if view:
        streams.enable("app", view)
    yield Place(
        streams,
        "app",
        lambda item: world.items.put("app", item),
        lambda key: world.items.remove("app", key),
        lambda: streams.split("app"),
        lambda: streams.trim("app"),
    )


@contextmanager
def on_sandbox(view: str | None) -> Iterator[Place]:
    with Sandbox() as sandbox, connect(Connection(endpoint_url=sandbox.endpoint_url), {}, workers=2) as clients:
        retry = Retry(WallClock(), Chance())
        DynamoTables(clients, retry).create("app", SHAPE, (Stream(view),) if view else ())
        client: Any = clients.items
        yield Place(
            DynamoStreams(clients, retry),
            "app",
            lambda item: client.put_item(TableName="app", Item=item),
            lambda key: client.delete_item(TableName="app", Key=key),
            lambda: sandbox.faults.add("shard-split", table="app"),
            lambda: sandbox.faults.add("stream-trim", table="app"),
        )


PLACES = {"memory": in_memory, "sandbox": on_sandbox}
each_place = pytest.mark.parametrize("engine", PLACES)


def item(name: str, **more: str) -> Item:
    return {"PK": {"S": name}, "SK": {"S": "1"}, **{attribute: {"S": value} for attribute, value in more.items()}}


def key(name: str) -> Item:
    return item(name)


@each_place
def test_a_table_without_a_stream_has_none(engine: str) -> None:
    with PLACES[engine](None) as place:
        assert place.streams.stream("app") is None


@each_place
@pytest.mark.parametrize("view", ["KEYS_ONLY", "OLD_IMAGE", "NEW_IMAGE", "NEW_AND_OLD_IMAGES"])
def test_records_tell_keys_in_order_and_the_images_of_the_view(engine: str, view: str) -> None:
    with PLACES[engine](view) as place:
        place.put(item("a", v="1"))
        place.put(item("a", v="2"))
        place.remove(key("a"))
        place.put(item("ключ\n", v="x"))
        info = place.streams.stream("app")
        assert info is not None
        assert info.view == view
        (shard,) = place.streams.shards(place.arn)
        records, is_over = place.read(shard.id)
    assert (shard.parent, shard.is_closed, is_over) == ("", False, False)
    assert [one.key for one in records] == [key("a"), key("a"), key("a"), key("ключ\n")]
    images = [(one.old and one.old.get("v", {}).get("S"), one.new and one.new.get("v", {}).get("S")) for one in records]
    both = [(None, "1"), ("1", "2"), ("2", None), (None, "x")]
    assert images == [(old if "OLD" in view else None, new if "NEW" in view else None) for old, new in both]
    assert all(one.at > 1e9 for one in records)


@each_place
def test_reading_goes_on_after_a_record(engine: str) -> None:
    with PLACES[engine]("KEYS_ONLY") as place:
        for name in "abcde":
            place.put(item(name))
        (shard,) = place.streams.shards(place.arn)
        records, _ = place.read(shard.id)
        again, _ = place.read(shard.id, records[2].sequence)
    assert [one.key["PK"]["S"] for one in again] == ["d", "e"]


@each_place
def test_a_split_closes_the_parent_and_each_item_goes_on_in_one_child(engine: str) -> None:
    with PLACES[engine]("NEW_AND_OLD_IMAGES") as place:
        names = [f"n{number}" for number in range(12)]
        for name in names:
            place.put(item(name, v="1"))
        place.split()
        for name in names:
            place.put(item(name, v="2"))
        shards = place.streams.shards(place.arn)
        (parent,) = [one for one in shards if not one.parent]
        children = [one for one in shards if one.parent == parent.id]
        before, is_over = place.read(parent.id)
        after = [place.read(child.id) for child in children]
    assert parent.is_closed
    assert is_over
    assert [one.is_closed for one in children] == [False, False]
    assert sorted(one.key["PK"]["S"] for one in before) == sorted(names)
    assert sorted(one.key["PK"]["S"] for records, _ in after for one in records) == sorted(names)


@each_place
def test_a_position_before_what_was_trimmed_is_refused_and_the_oldest_record_left_is_not(engine: str) -> None:
    with PLACES[engine]("KEYS_ONLY") as place:
        for name in "abc":
            place.put(item(name))
        (shard,) = place.streams.shards(place.arn)
        records, _ = place.read(shard.id)
        old = place.streams.position(place.arn, shard.id, records[0].sequence)
        place.trim()
        place.put(item("d"))
        with pytest.raises(Trimmed) as caught:
            place.streams.read(place.arn, old)
        rest, _ = place.read(shard.id)
    assert caught.value.code == "stream-trimmed"
    assert [one.key["PK"]["S"] for one in rest] == ["d"]
