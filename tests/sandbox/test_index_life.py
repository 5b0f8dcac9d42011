"""An index is made and deleted through the states of the real service, by the sandbox's clock."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.sandbox import ManualClock, Sandbox
from tests.sandbox.shapes import (
    attributes,
    create_index,
    create_table,
    delete_index,
    describe,
    index,
    keys,
    refused,
    states,
)


def test_a_build_is_allocated_then_backfilled_then_active(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(client)
    answer = create_index(client, "by-owner", "owner", owner="S")
    assert states(answer) == ("UPDATING", {"by-owner": ("CREATING", False)})
    assert states(describe(client)) == ("UPDATING", {"by-owner": ("CREATING", False)})
    clock.advance(2.9)
    assert states(describe(client)) == ("UPDATING", {"by-owner": ("CREATING", False)})
    clock.advance(0.2)
    assert states(describe(client)) == ("ACTIVE", {"by-owner": ("CREATING", True)})
    clock.advance(6.8)
    assert states(describe(client)) == ("ACTIVE", {"by-owner": ("CREATING", True)})
    clock.advance(0.2)
    assert states(describe(client)) == ("ACTIVE", {"by-owner": ("ACTIVE", None)})


def test_a_deleted_index_shows_as_deleting_and_then_vanishes_with_its_attributes(
    still: Sandbox, clock: ManualClock
) -> None:
    client = still.client()
    create_table(client)
    create_index(client, "by-owner", "owner", owner="S")
    clock.advance(11)
    assert states(delete_index(client, "by-owner")) == ("UPDATING", {"by-owner": ("DELETING", None)})
    assert states(describe(client)) == ("UPDATING", {"by-owner": ("DELETING", None)})
    clock.advance(3)
    table = describe(client)
    assert states(table) == ("ACTIVE", {})
    assert table["AttributeDefinitions"] == attributes(pk="S")


def test_an_index_declared_with_its_table_is_active_with_it_and_never_backfills(dynamodb: Any) -> None:
    made = create_table(
        dynamodb,
        AttributeDefinitions=attributes(pk="S", owner="S"),
        GlobalSecondaryIndexes=[index("by-owner", "owner")],
    )
    assert states(made) == ("CREATING", {"by-owner": ("CREATING", None)})
    assert states(describe(dynamodb)) == ("ACTIVE", {"by-owner": ("ACTIVE", None)})


def test_a_building_index_cannot_be_read_and_an_active_one_can(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(client)
    client.put_item(TableName="orders", Item={"pk": {"S": "1"}, "owner": {"S": "ada"}})
    create_index(client, "by-owner", "owner", owner="S")
    for _ in range(2):
        with pytest.raises(ClientError) as caught:
            client.scan(TableName="orders", IndexName="by-owner")
        text = "Cannot read from backfilling global secondary index: by-owner"
        assert refused(caught.value) == ("ValidationException", text)
        with pytest.raises(ClientError, match="backfilling"):
            client.execute_statement(Statement='SELECT * FROM "orders"."by-owner"')
        clock.advance(4)
    clock.advance(4)
    assert client.scan(TableName="orders", IndexName="by-owner")["Count"] == 1


def test_a_backfilling_index_may_be_deleted_and_an_allocating_one_not(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(client)
    create_index(client, "by-owner", "owner", owner="S")
    with pytest.raises(ClientError) as caught:
        delete_index(client, "by-owner")
    code, message = refused(caught.value)
    assert code == "ResourceInUseException"
    assert "Index creation is in resource allocation phase." in message
    assert message.endswith("Table: orders Index: by-owner")
    clock.advance(5)
    assert states(delete_index(client, "by-owner")) == ("UPDATING", {"by-owner": ("DELETING", None)})
    clock.advance(3)
    assert states(describe(client)) == ("ACTIVE", {})


def test_one_index_change_at_a_time_for_each_table(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(client)
    create_table(client, "other")
    create_index(client, "by-owner", "owner", owner="S")
    for _ in range(2):
        with pytest.raises(ClientError) as caught:
            create_index(client, "by-status", "status", status="S")
        code, message = refused(caught.value)
        assert code == "LimitExceededException"
        assert "Only 1 online index can be created or deleted simultaneously per table" in message
        clock.advance(4)
    create_index(client, "by-status", "status", table="other", status="S")
    clock.advance(4)
    create_index(client, "by-status", "status", status="S")


def test_definitions_and_projections_are_described_in_the_order_of_their_names(sandbox: Sandbox) -> None:
    client = sandbox.client()
    create_table(
        client,
        KeySchema=keys("pk", "sk"),
        AttributeDefinitions=attributes(zip="S", sk="S", pk="S", a="S"),
        GlobalSecondaryIndexes=[index("by-zip", "zip", projection=["c", "b"]), index("by-a", "a")],
    )
    table = describe(client)
    assert [a["AttributeName"] for a in table["AttributeDefinitions"]] == ["a", "pk", "sk", "zip"]
    by_zip = next(i for i in table["GlobalSecondaryIndexes"] if i["IndexName"] == "by-zip")
    assert by_zip["Projection"]["NonKeyAttributes"] == ["b", "c"]


def test_a_throughput_change_shows_as_updating_and_answers_with_the_old_figures(
    still: Sandbox, clock: ManualClock
) -> None:
    client = still.client()
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    create_table(
        client,
        AttributeDefinitions=attributes(pk="S", owner="S"),
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units,
        GlobalSecondaryIndexes=[index("by-owner", "owner", ProvisionedThroughput=units)],
    )
    more = {
        "IndexName": "by-owner",
        "ProvisionedThroughput": {"ReadCapacityUnits": 9, "WriteCapacityUnits": 9},
    }
    answer = client.update_table(TableName="orders", GlobalSecondaryIndexUpdates=[{"Update": more}])["TableDescription"]
    assert states(answer) == ("ACTIVE", {"by-owner": ("UPDATING", None)})
    assert answer["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 5
    clock.advance(3)
    table = describe(client)
    assert states(table) == ("ACTIVE", {"by-owner": ("ACTIVE", None)})
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 9


def test_a_table_id_is_stable_and_changes_when_the_table_is_made_anew(dynamodb: Any) -> None:
    create_table(dynamodb)
    first = describe(dynamodb)
    assert describe(dynamodb)["TableId"] == first["TableId"]
    dynamodb.delete_table(TableName="orders")
    create_table(dynamodb)
    again = describe(dynamodb)
    assert again["TableId"] != first["TableId"]
    assert again["CreationDateTime"] >= first["CreationDateTime"]


def test_a_table_build_makes_tables_wait_to_come_and_to_go(clock: ManualClock) -> None:
    with Sandbox(clock=clock, table_build=5) as sandbox:
        client = sandbox.client()
        create_table(client)
        assert describe(client)["TableStatus"] == "CREATING"
        with pytest.raises(ClientError) as caught:
            client.put_item(TableName="orders", Item={"pk": {"S": "1"}})
        assert refused(caught.value)[0] == "ResourceNotFoundException"
        clock.advance(6)
        client.put_item(TableName="orders", Item={"pk": {"S": "1"}})
        client.delete_table(TableName="orders")
        assert describe(client)["TableStatus"] == "DELETING"
        clock.advance(6)
        with pytest.raises(ClientError, match="not found"):
            describe(client)


def test_only_the_definitions_that_keys_use_are_kept_and_unused_ones_may_contradict(
    still: Sandbox, clock: ManualClock
) -> None:
    client = still.client()
    create_table(client)
    create_index(client, "by-owner", "owner", owner="S", pk="N", unused="B")
    clock.advance(11)
    assert describe(client)["AttributeDefinitions"] == attributes(owner="S", pk="S")
    create_index(client, "by-owner-too", "owner", owner="S")
    clock.advance(11)
    delete_index(client, "by-owner")
    clock.advance(3)
    assert describe(client)["AttributeDefinitions"] == attributes(owner="S", pk="S")
