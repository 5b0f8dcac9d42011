"""What the Records port promises, whatever engine is behind it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from migrator.core.item import Item, same_item
from migrator.core.ports import Address, CheckRecord, DeleteRecord, Expect, PutRecord, Record
from migrator.errors import RecordConflict, ServiceError
from tests.contract.adapters import Adapter

_partitions = count(1)


@pytest.fixture
def partition() -> str:
    return f"records-{next(_partitions)}"


@pytest.fixture
def one(partition: str) -> Address:
    return Address(partition, "one")


def put(address: Address, token: int = 1, body: dict[str, Any] | None = None, **expect: Any) -> PutRecord:
    return PutRecord(Record(address, token, {} if body is None else body), Expect(**expect))


def stored(adapter: Adapter, address: Address) -> Record:
    found = adapter.records.get(address)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        10**30,
        2**48 - 1,
        "",
        "text",
        "1",
        [],
        {},
        [1, "1", True, None, [], {"a": [{}]}],
        {"a.b": 1, "#x": {":v": ["é", "\u0000"]}},
    ],
)
def test_a_body_comes_back_exactly(adapter: Adapter, one: Address, value: object) -> None:
    adapter.records.write(put(one, body={"value": value}))
    found = stored(adapter, one).body["value"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [1.5, b"x", (1,), {1}, {1: "a"}, object()])
def test_a_body_of_anything_else_is_an_error_and_writes_nothing(adapter: Adapter, one: Address, value: object) -> None:
    with pytest.raises(TypeError):
        adapter.records.write(put(one, body={"value": value}))
    assert adapter.records.get(one) is None


def test_whole_items_come_back_type_exact(adapter: Adapter, one: Address) -> None:
    item: Item = {
        "PK": {"S": "a"},
        "n": {"N": "12345678901234567890123456789012345678"},
        "b": {"B": b"\x00\xff"},
        "bs": {"BS": [b"\x00"]},
        "ns": {"NS": ["1", "2"]},
        "m": {"M": {"x.y": {"L": [{"NULL": True}, {"BOOL": False}, {"S": ""}]}}},
    }
    record = Record(one, 1, {}, {"before": item, "after": {}})
    adapter.records.write(PutRecord(record, Expect()))
    items = stored(adapter, one).items
    assert set(items) == {"before", "after"}
    assert same_item(items["before"], item)
    assert items["after"] == {}


def test_a_record_that_is_not_there_is_none(adapter: Adapter, one: Address) -> None:
    assert adapter.records.get(one) is None


def test_every_put_gives_the_record_a_fresh_version(adapter: Adapter, one: Address) -> None:
    versions = set()
    for _ in range(3):
        adapter.records.write(put(one))
        versions.add(stored(adapter, one).version)
    assert len(versions) == 3
    assert "" not in versions


@pytest.mark.parametrize(
    ("expect", "holds_when_absent", "holds_for_token_5"),
    [
        ({}, True, True),
        ({"absent": True}, True, False),
        ({"absent": False}, False, True),
        ({"token": 5}, True, True),
        ({"token": 4}, True, False),
        ({"token": 5, "absent": False}, False, True),
        ({"token": 6, "absent": False}, False, False),
        ({"most_token": 4}, True, False),
        ({"most_token": 5}, True, True),
        ({"most_token": 6}, True, True),
        ({"most_token": 6, "absent": False}, False, True),
        ({"version": "other"}, True, False),
        ({"version": "other", "most_token": 9}, True, False),
        ({"token": 5, "most_token": 4}, True, False),
    ],
)
@pytest.mark.parametrize("action", ["put", "delete", "check"])
def test_an_expectation_holds_for_what_is_stored(
    adapter: Adapter,
    one: Address,
    action: str,
    expect: dict[str, Any],
    holds_when_absent: bool,
    holds_for_token_5: bool,
) -> None:
    actions: dict[str, Callable[[], Any]] = {
        "put": lambda: PutRecord(Record(one, 6, {}), Expect(**expect)),
        "delete": lambda: DeleteRecord(one, Expect(**expect)),
        "check": lambda: CheckRecord(one, Expect(**expect)),
    }
    assert holds(adapter, actions[action]()) is holds_when_absent
    adapter.records.write(DeleteRecord(one, Expect()))
    adapter.records.write(put(one, 5))
    before = stored(adapter, one)
    assert holds(adapter, actions[action]()) is holds_for_token_5
    if not holds_for_token_5 or action == "check":
        assert stored(adapter, one) == before


def holds(adapter: Adapter, action: PutRecord | DeleteRecord | CheckRecord) -> bool:
    try:
        adapter.records.write(action)
    except RecordConflict:
        return False
    return True


def test_a_version_that_was_read_is_expected_and_then_is_no_more(adapter: Adapter, one: Address) -> None:
    adapter.records.write(put(one))
    version = stored(adapter, one).version
    adapter.records.write(put(one, absent=False, version=version))
    with pytest.raises(RecordConflict):
        adapter.records.write(put(one, absent=False, version=version))


def test_a_conflict_carries_the_record_that_stands_there(adapter: Adapter, one: Address) -> None:
    adapter.records.write(put(one, 9, {"who": "other"}))
    with pytest.raises(RecordConflict) as caught:
        adapter.records.write(put(one, 8, most_token=8))
    assert caught.value.current == stored(adapter, one)
    with pytest.raises(RecordConflict) as caught:
        adapter.records.write(put(Address(one.partition, "none"), absent=False))
    assert caught.value.current is None


def test_several_actions_are_all_or_nothing(adapter: Adapter, partition: str) -> None:
    first, second, third = (Address(partition, name) for name in ("1", "2", "3"))
    adapter.records.write(put(first, 5), put(second, 5))
    before = stored(adapter, first)
    with pytest.raises(RecordConflict) as caught:
        adapter.records.write(
            put(first, 6),
            DeleteRecord(second, Expect(token=5)),
            CheckRecord(third, Expect(absent=False)),
        )
    assert caught.value.current is None
    assert stored(adapter, first) == before
    adapter.records.write(
        put(third, 6, absent=True),
        DeleteRecord(second, Expect(token=5)),
        CheckRecord(first, Expect(absent=False, token=5)),
    )
    assert [record.address.sort for record in adapter.records.query(partition)] == ["1", "3"]


def test_a_conflict_among_several_actions_carries_the_record_that_failed(adapter: Adapter, partition: str) -> None:
    first, second = Address(partition, "1"), Address(partition, "2")
    adapter.records.write(put(first, 1), put(second, 7))
    with pytest.raises(RecordConflict) as caught:
        adapter.records.write(put(first, 2, most_token=2), put(second, 2, most_token=2))
    assert caught.value.current == stored(adapter, second)


def test_one_record_twice_in_a_transaction_is_an_error(adapter: Adapter, one: Address) -> None:
    with pytest.raises(ServiceError) as caught:
        adapter.records.write(put(one), CheckRecord(one, Expect()))
    assert caught.value.code == "validation"


def test_a_query_gives_one_partition_in_order_and_by_prefix(adapter: Adapter, partition: str) -> None:
    sorts = ["b#2", "a", "b#10", "c", "b", "B#", "b#é"]
    for sort in sorts:
        adapter.records.write(put(Address(partition, sort)))
    adapter.records.write(put(Address(partition + "x", "b#other")))
    ordered = sorted(sorts, key=str.encode)
    assert [record.address.sort for record in adapter.records.query(partition)] == ordered
    found = [record.address for record in adapter.records.query(partition, "b#")]
    assert found == [Address(partition, sort) for sort in ordered if sort.startswith("b#")]
    assert list(adapter.records.query(partition, "z")) == []


def test_a_query_goes_on_past_a_megabyte(adapter: Adapter, partition: str) -> None:
    for number in range(9):
        adapter.records.write(put(Address(partition, f"{number}"), body={"text": "x" * 300_000}))
    assert [record.address.sort for record in adapter.records.query(partition)] == [str(n) for n in range(9)]
