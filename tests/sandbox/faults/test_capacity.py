"""Capacity runs out and refills on the sandbox's clock: by partition key, by table and by index."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.sandbox import ManualClock, Sandbox
from tests.sandbox.faults.conftest import error_of, make_table, put, struck

TABLE = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"


def reason_of(error: dict[str, Any]) -> tuple[str, str]:
    (told,) = error.get("ThrottlingReasons") or error["throttlingReasons"]
    return told["reason"], told["resource"]


def test_a_partition_key_has_capacity_of_its_own(still: Sandbox, clock: ManualClock, stopped: Any) -> None:
    still.faults.add("capacity", key_write=3)
    assert struck([lambda: put(stopped, "hot")] * 5) == [False] * 3 + [True] * 2
    put(stopped, "cold")
    assert reason_of(error_of(lambda: put(stopped, "hot"))) == ("TableWriteKeyRangeThroughputExceeded", TABLE)
    clock.advance(0.7)
    assert struck([lambda: put(stopped, "hot")] * 4) == [False] * 3 + [True]


def test_without_options_a_key_takes_what_a_partition_of_the_service_takes(
    still: Sandbox, clock: ManualClock, stopped: Any
) -> None:
    still.faults.add("capacity", operation=["PutItem", "Query"])
    big = "x" * 350_000
    # 343 units each: two fit into 1,000, the third is admitted on what is left, the fourth is not.
    assert struck([lambda: put(stopped, "hot", text=big)] * 4) == [False] * 3 + [True]
    clock.advance(60)
    for _ in range(10):
        put(still.client(unseen=True), "hot", text=big)
    query = {
        "TableName": "orders",
        "KeyConditionExpression": "pk = :v",
        "ExpressionAttributeValues": {":v": {"S": "hot"}},
        "ConsistentRead": True,
    }
    assert struck([lambda: stopped.query(**query)] * 40) == [False] * 35 + [True] * 5


def test_capacity_is_drawn_by_size(still: Sandbox, stopped: Any) -> None:
    still.faults.add("capacity", table_write=10)
    put(stopped, "1", text="x" * 9000)
    put(stopped, "2")
    assert reason_of(error_of(lambda: put(stopped, "3"))) == ("TableWriteMaxOnDemandThroughputExceeded", TABLE)


def test_a_failed_condition_draws_capacity_too(still: Sandbox, stopped: Any) -> None:
    put(stopped, "1")
    still.faults.add("capacity", table_write=2)
    absent = {"TableName": "orders", "Item": {"pk": {"S": "1"}}, "ConditionExpression": "attribute_not_exists(pk)"}
    codes = [error_of(lambda: stopped.put_item(**absent))["Error"]["Code"] for _ in range(3)]
    assert codes == ["ConditionalCheckFailedException"] * 2 + ["ThrottlingException"]


def test_a_transaction_draws_double(still: Sandbox, stopped: Any) -> None:
    still.faults.add("capacity", table_write=4)
    actions = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": key}}}} for key in "ab"]
    assert struck([lambda: stopped.transact_write_items(TransactItems=actions)] * 2) == [False, True]


def test_a_transaction_is_admitted_as_a_whole_and_a_refused_one_draws_nothing(
    still: Sandbox, clock: ManualClock, stopped: Any
) -> None:
    still.faults.add("capacity", table_write=1)
    actions = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": key}}}} for key in "abc"]
    assert struck([lambda: stopped.transact_write_items(TransactItems=actions)] * 3) == [False, True, True]
    clock.advance(6)
    stopped.transact_write_items(TransactItems=actions)


def test_an_index_without_capacity_holds_the_writes_of_the_table_back(
    still: Sandbox, clock: ManualClock, stopped: Any
) -> None:
    still.faults.add("capacity", index_write=2)
    assert struck([lambda n=n: put(stopped, str(n), status="new") for n in range(3)]) == [False, False, True]  # type: ignore[misc]
    error = error_of(lambda: put(stopped, "3", status="old"))
    assert reason_of(error) == ("IndexWriteMaxOnDemandThroughputExceeded", f"{TABLE}/index/by-status")
    put(stopped, "4")
    clock.advance(1)
    put(stopped, "3", status="old")


def test_a_hot_key_of_an_index_holds_the_writes_of_the_table_back(still: Sandbox, stopped: Any) -> None:
    still.faults.add("capacity", key_write=2)
    assert struck([lambda n=n: put(stopped, str(n), status="new") for n in range(3)]) == [False, False, True]  # type: ignore[misc]
    error = error_of(lambda: put(stopped, "9", status="new"))
    assert reason_of(error) == ("IndexWriteKeyRangeThroughputExceeded", f"{TABLE}/index/by-status")
    put(stopped, "9", status="other")


def test_a_provisioned_table_has_the_capacity_it_was_given(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    throughput = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 3}
    client.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PROVISIONED",
        ProvisionedThroughput=throughput,
    )
    still.faults.add("capacity", burst="2s")
    assert struck([lambda n=n: put(client, str(n)) for n in range(7)]) == [False] * 6 + [True]  # type: ignore[misc]
    error = error_of(lambda: put(client, "8"))
    assert error["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert reason_of(error) == ("TableWriteProvisionedThroughputExceeded", TABLE)
    # A consistent read of a page of less than 4 KB is one unit.
    scan = {"TableName": "orders", "ConsistentRead": True}
    assert struck([lambda: client.scan(**scan)] * 5) == [False] * 4 + [True]
    clock.advance(0.5)
    answer = client.scan(**scan, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == {"TableName": "orders", "CapacityUnits": 1.0}


def test_what_a_batch_has_no_capacity_for_comes_back_unprocessed(still: Sandbox, stopped: Any) -> None:
    still.faults.add("capacity", table_write=3)
    writes = {"orders": [{"PutRequest": {"Item": {"pk": {"S": key}}}} for key in "abcde"]}
    assert stopped.batch_write_item(RequestItems=writes)["UnprocessedItems"] == {"orders": writes["orders"][3:]}
    assert error_of(lambda: stopped.batch_write_item(RequestItems=writes))["Error"]["Code"] == "ThrottlingException"


@pytest.mark.usefixtures("stopped")
def test_accounts_do_not_share_capacity(still: Sandbox) -> None:
    still.faults.add("capacity", table_write=1)
    other = still.client(account="111111111111")
    make_table(other)
    assert struck([lambda: put(other, "1")] * 2) == [False, True]
    put(still.client(), "1")
