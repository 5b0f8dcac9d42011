"""Reads consume what the service would count, by the bytes evaluated."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.shapes import attributes, create_table, index, keys

KB = 1024


@pytest.fixture
def filled(dynamodb: Any) -> Any:
    """Ten items of just under 1 KB in one partition, also in `by-kind`, and one of 9 KB in another."""
    create_table(
        dynamodb,
        KeySchema=keys("pk", "sk"),
        AttributeDefinitions=attributes(pk="S", sk="N", kind="S"),
        GlobalSecondaryIndexes=[index("by-kind", "kind", projection="KEYS_ONLY")],
    )
    for number in range(10):
        item = {"pk": {"S": "p"}, "sk": {"N": str(number)}, "kind": {"S": "k"}, "x": {"S": "x" * 1000}}
        dynamodb.put_item(TableName="orders", Item=item)
    dynamodb.put_item(TableName="orders", Item={"pk": {"S": "big"}, "sk": {"N": "1"}, "x": {"S": "x" * 9 * KB}})
    return dynamodb


def units(answer: dict[str, Any]) -> float:
    return float(answer["ConsumedCapacity"]["CapacityUnits"])


def test_a_scan_rounds_up_its_whole_page_to_4_kb(filled: Any) -> None:
    scan = {"TableName": "orders", "ReturnConsumedCapacity": "TOTAL"}
    # Ten items of about 1 020 bytes and one of about 9 230: five blocks.
    assert units(filled.scan(**scan, ConsistentRead=True)) == 5
    assert units(filled.scan(**scan)) == 2.5


def test_filter_projection_and_count_do_not_make_a_read_cheaper(filled: Any) -> None:
    scan = {"TableName": "orders", "ReturnConsumedCapacity": "TOTAL", "ConsistentRead": True}
    narrowed = filled.scan(
        **scan,
        FilterExpression="#k = :none",
        ProjectionExpression="pk",
        ExpressionAttributeNames={"#k": "kind"},
        ExpressionAttributeValues={":none": {"S": "none"}},
    )
    assert (narrowed["Count"], narrowed["ScannedCount"], units(narrowed)) == (0, 11, 5)
    assert units(filled.scan(**scan, Select="COUNT")) == 5


def test_a_query_counts_the_items_of_its_page(filled: Any) -> None:
    query = {
        "TableName": "orders",
        "KeyConditionExpression": "#p = :p AND sk < :s",
        "FilterExpression": "#k = :k",
        "ExpressionAttributeNames": {"#p": "pk", "#k": "kind"},
        "ExpressionAttributeValues": {":p": {"S": "p"}, ":s": {"N": "8"}, ":k": {"S": "none"}},
        "ConsistentRead": True,
        "ReturnConsumedCapacity": "TOTAL",
    }
    assert units(filled.query(**query)) == 2
    assert units(filled.query(**query, Limit=3)) == 1


def test_an_index_carries_its_own_reads_by_its_entries(filled: Any) -> None:
    capacity = filled.scan(TableName="orders", IndexName="by-kind", ReturnConsumedCapacity="INDEXES")[
        "ConsumedCapacity"
    ]
    assert capacity["CapacityUnits"] == 0.5
    assert capacity["Table"]["CapacityUnits"] == 0
    assert capacity["GlobalSecondaryIndexes"] == {"by-kind": {"CapacityUnits": 0.5}}


def test_single_items_round_up_each(filled: Any) -> None:
    big, small, absent = ({"pk": {"S": pk}, "sk": {"N": "1"}} for pk in ("big", "p", "none"))
    get = {"TableName": "orders", "ReturnConsumedCapacity": "TOTAL"}
    assert [units(filled.get_item(**get, Key=key)) for key in (big, small, absent)] == [1.5, 0.5, 0.5]
    batch = filled.batch_get_item(
        RequestItems={"orders": {"Keys": [big, small, absent], "ConsistentRead": True}},
        ReturnConsumedCapacity="TOTAL",
    )
    assert [c["CapacityUnits"] for c in batch["ConsumedCapacity"]] == [5]
    gets = [{"Get": {"TableName": "orders", "Key": key}} for key in (big, small)]
    transaction = filled.transact_get_items(TransactItems=gets, ReturnConsumedCapacity="TOTAL")
    assert [c["CapacityUnits"] for c in transaction["ConsumedCapacity"]] == [8]


def test_nothing_is_told_unasked(filled: Any) -> None:
    assert "ConsumedCapacity" not in filled.scan(TableName="orders")


def test_a_write_by_statement_costs_what_the_same_write_by_item_costs(filled: Any) -> None:
    statement = {"Statement": "UPDATE orders SET kind = 'z' WHERE pk = 'p' AND sk = 1"}
    one = filled.execute_statement(**statement, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert one["Table"]["CapacityUnits"] == 1
    assert one["GlobalSecondaryIndexes"]["by-kind"]["CapacityUnits"] == 2
    assert one["CapacityUnits"] == 3
    big = {"Statement": "UPDATE orders SET y = 1 WHERE pk = 'big' AND sk = 1"}
    other = {"Statement": "UPDATE orders SET y = 1 WHERE pk = 'p' AND sk = 2"}
    batch = filled.batch_execute_statement(Statements=[big, other], ReturnConsumedCapacity="TOTAL")
    assert [c["CapacityUnits"] for c in batch["ConsumedCapacity"]] == [11]
    moves = [{"Statement": f"UPDATE orders SET kind = 'y' WHERE pk = 'p' AND sk = {sort}"} for sort in (1, 2)]
    (whole,) = filled.execute_transaction(TransactStatements=moves, ReturnConsumedCapacity="INDEXES")[
        "ConsumedCapacity"
    ]
    assert whole["Table"]["CapacityUnits"] == 4
    assert whole["GlobalSecondaryIndexes"]["by-kind"]["CapacityUnits"] == 4


def test_a_read_by_statement_counts_the_items_it_returns(filled: Any) -> None:
    select = {"Statement": "SELECT * FROM orders WHERE pk = 'p'", "ReturnConsumedCapacity": "TOTAL"}
    assert units(filled.execute_statement(**select)) == 1.5
    assert units(filled.execute_statement(**select, ConsistentRead=True)) == 3
