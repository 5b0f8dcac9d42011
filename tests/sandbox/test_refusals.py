"""A schema or a change that the service refuses is refused here, with its code and its words."""

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

UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
MORE = {"ReadCapacityUnits": 9, "WriteCapacityUnits": 9}
PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
BY_OWNER = {"Create": index("by-owner", "owner")}
OWNER = attributes(owner="S")


def many(count: int, **more: Any) -> list[dict[str, Any]]:
    return [index(f"by-{number:02}", "owner", **more) for number in range(count)]


def names(count: int) -> list[str]:
    return [f"a{number:02}" for number in range(count)]


CREATE: dict[str, tuple[dict[str, Any], str]] = {
    "21 indexes": (
        {"AttributeDefinitions": attributes(pk="S", owner="S"), "GlobalSecondaryIndexes": many(21)},
        "GlobalSecondaryIndex count exceeds the per-table limit of 20",
    ),
    "five partition attributes": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S", b="S", c="S", d="S", e="S"),
            "GlobalSecondaryIndexes": [index("by-all", ["a", "b", "c", "d", "e"])],
        },
        "The KeySchema exceeds the maximum allowed number of HASH key attributes",
    ),
    "five sort attributes": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S", b="S", c="S", d="S", e="S"),
            "GlobalSecondaryIndexes": [index("by-all", "pk", ["a", "b", "c", "d", "e"])],
        },
        "The KeySchema exceeds the maximum allowed number of RANGE key attributes",
    ),
    "partition after sort": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S", b="S"),
            "GlobalSecondaryIndexes": [
                {**index("by-all", "pk"), "KeySchema": [*keys("a", "b"), *keys("pk")]},
            ],
        },
        "All HASH key attributes must precede RANGE key attributes in the KeySchema",
    ),
    "one attribute twice": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [index("by-a", ["a", "a"])],
        },
        "The KeySchema contains multiple key attributes with the same name",
    ),
    "undefined key": (
        {"GlobalSecondaryIndexes": [index("by-a", "a")]},
        "Some index key attributes are not defined in AttributeDefinitions. Keys: [pk, a], AttributeDefinitions: [pk]",
    ),
    "unused definition": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S", b="S"),
            "GlobalSecondaryIndexes": [index("by-a", "a")],
        },
        "Some AttributeDefinitions are not used. AttributeDefinitions: [pk, a, b], keys used: [pk, a]",
    ),
    "unused definition without an index": (
        {"AttributeDefinitions": attributes(pk="S", a="S")},
        "Number of attributes in KeySchema does not exactly match number of attributes defined in",
    ),
    "two indexes of one name": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [index("by-a", "a"), index("by-a", "a")],
        },
        "Duplicate index name: by-a",
    ),
    "21 projected attributes": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [index("by-a", "a", projection=names(21))],
        },
        "Member must have length less than or equal to 20",
    ),
    "120 projected attributes in all": (
        {
            "AttributeDefinitions": attributes(pk="S", owner="S"),
            "GlobalSecondaryIndexes": many(6, projection=names(20)),
        },
        "Number of attributes projected into all indexes exceeds the limit of 100",
    ),
    "include nothing": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [index("by-a", "a", projection="INCLUDE")],
        },
        "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    "an empty list of indexes": ({"GlobalSecondaryIndexes": []}, "List of GlobalSecondaryIndexes is empty"),
    "a sort key alone": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [{**index("by-a", "a"), "KeySchema": keys([], "a")}],
        },
        "The first KeySchemaElement is not a HASH key type",
    ),
    "attributes listed for all": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [
                {**index("by-a", "a"), "Projection": {"ProjectionType": "ALL", "NonKeyAttributes": ["b"]}}
            ],
        },
        "ProjectionType is ALL, but NonKeyAttributes is specified",
    ),
    "no projection type": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [{**index("by-a", "a"), "Projection": {}}],
        },
        "Unknown ProjectionType: null",
    ),
    "an attribute projected twice": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [index("by-a", "a", projection=["b", "b"])],
        },
        "Duplicate element in NonKeyAttributes: b",
    ),
    "two partition keys": (
        {"KeySchema": keys(["pk", "sk"]), "AttributeDefinitions": attributes(pk="S", sk="S")},
        "The second KeySchemaElement is not a RANGE key type",
    ),
    "three keys": (
        {"KeySchema": keys("pk", ["a", "b"]), "AttributeDefinitions": attributes(pk="S", a="S", b="S")},
        "Member must have length less than or equal to 2",
    ),
    "one key twice": (
        {"KeySchema": keys("pk", "pk")},
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    ),
    "a local index without a sort key in the table": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "LocalSecondaryIndexes": [index("by-a", "pk", "a")],
        },
        "Table KeySchema does not have a range key",
    ),
    "six local indexes": (
        {
            "KeySchema": keys("pk", "sk"),
            "AttributeDefinitions": attributes(pk="S", sk="S", a="S"),
            "LocalSecondaryIndexes": [index(f"by-{number}", "pk", "a") for number in range(6)],
        },
        "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    ),
    "no throughput where provisioned": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [index("by-a", "a")],
            **PROVISIONED,
        },
        "ProvisionedThroughput is not specified for index: by-a",
    ),
    "sort key first": (
        {"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]},
        "The first KeySchemaElement is not a HASH key type",
    ),
    "local index without the table's key": (
        {
            "KeySchema": keys("pk", "sk"),
            "AttributeDefinitions": attributes(pk="S", sk="S", a="S", b="S"),
            "LocalSecondaryIndexes": [index("by-a", "a", "b")],
        },
        "Index KeySchema does not have the same leading hash key as table KeySchema for index: by-a",
    ),
    "local index of two sort attributes": (
        {
            "KeySchema": keys("pk", "sk"),
            "AttributeDefinitions": attributes(pk="S", sk="S", a="S", b="S"),
            "LocalSecondaryIndexes": [index("by-a", "pk", ["a", "b"])],
        },
        "Index KeySchema does not have a range key for index: by-a",
    ),
    "throughput on demand": (
        {
            "AttributeDefinitions": attributes(pk="S", a="S"),
            "GlobalSecondaryIndexes": [index("by-a", "a", ProvisionedThroughput=UNITS)],
        },
        "ProvisionedThroughput should not be specified for index: by-a",
    ),
}


@pytest.mark.parametrize("case", CREATE)
def test_create_table_refuses(dynamodb: Any, case: str) -> None:
    request, text = CREATE[case]
    with pytest.raises(ClientError) as caught:
        create_table(dynamodb, **request)
    code, message = refused(caught.value)
    assert code == "ValidationException"
    assert text in message
    assert dynamodb.list_tables()["TableNames"] == []


def test_an_existing_name_is_in_use(dynamodb: Any) -> None:
    create_table(dynamodb)
    with pytest.raises(ClientError) as caught:
        create_table(dynamodb)
    assert refused(caught.value) == ("ResourceInUseException", "Table already exists: orders")


def test_four_partition_and_four_sort_attributes_are_taken(dynamodb: Any) -> None:
    types = dict.fromkeys("abcdefgh", "S")
    create_table(
        dynamodb,
        AttributeDefinitions=attributes(pk="S", **types),
        GlobalSecondaryIndexes=[index("wide", ["a", "b", "c", "d"], ["e", "f", "g", "h"])],
    )
    assert len(describe(dynamodb)["GlobalSecondaryIndexes"][0]["KeySchema"]) == 8


UPDATE: dict[str, tuple[dict[str, Any], str, str]] = {
    "two creates": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER, {"Create": index("by-b", "owner")}]},
        "LimitExceededException",
        "Only 1 online index can be created or deleted simultaneously per table",
    ),
    "a create and a delete": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER, {"Delete": {"IndexName": "old"}}]},
        "LimitExceededException",
        "Only 1 online index",
    ),
    "one index twice": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER, {"Delete": {"IndexName": "by-owner"}}]},
        "ValidationException",
        "Only one global secondary index update per index is allowed simultaneously. Index: by-owner",
    ),
    "with throughput": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER], "ProvisionedThroughput": MORE},
        "ValidationException",
        "You cannot create or delete index while updating table IOPS",
    ),
    "with a stream": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER], "StreamSpecification": STREAM},
        "ValidationException",
        "You cannot create or delete index while changing stream status",
    ),
    "with deletion protection": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER], "DeletionProtectionEnabled": True},
        "ValidationException",
        "DeletionProtection modification must be the only operation in the request",
    ),
    "with encryption": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER], "SSESpecification": {"Enabled": True}},
        "ValidationException",
        "Server-Side Encryption modification must be the only operation in the request",
    ),
    "with a table class": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER], "TableClass": "STANDARD"},
        "ValidationException",
        "TableClass modification must be the only operation in the request",
    ),
    "with warm throughput": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER], "WarmThroughput": {"ReadUnitsPerSecond": 13000}},
        "ValidationException",
        "Create global secondary index cannot be specified when updating WarmThroughput",
    ),
    "an empty list beside a change": (
        {"GlobalSecondaryIndexUpdates": [], "DeletionProtectionEnabled": True},
        "ValidationException",
        "List of GlobalSecondaryIndexUpdates is empty",
    ),
    "an empty list": ({"GlobalSecondaryIndexUpdates": []}, "ValidationException", "At least one of "),
    "no definitions": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER], "AttributeDefinitions": None},
        "ValidationException",
        "AttributeDefinitions is not specified for index: by-owner",
    ),
    "definitions that are only the table's": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER], "AttributeDefinitions": attributes(pk="S")},
        "ValidationException",
        "Some index key attributes are not defined in AttributeDefinitions. Keys: [owner], AttributeDefinitions: [pk]",
    ),
    "a key of the table left undefined": (
        {"GlobalSecondaryIndexUpdates": [{"Create": index("by-owner", "owner", "pk")}]},
        "ValidationException",
        "Some index key attributes are not defined in AttributeDefinitions. "
        "Keys: [owner, pk], AttributeDefinitions: [owner]",
    ),
    "a key of another type": (
        {
            "GlobalSecondaryIndexUpdates": [{"Create": index("by-owner", "owner", "pk")}],
            "AttributeDefinitions": attributes(owner="S", pk="N"),
        },
        "ValidationException",
        "Attributes cannot be redefined.",
    ),
    "an existing index": (
        {"GlobalSecondaryIndexUpdates": [{"Create": index("old", "owner")}]},
        "ValidationException",
        "Attempting to create an index which already exists",
    ),
    "throughput of the new index, missing": (
        {"GlobalSecondaryIndexUpdates": [BY_OWNER]},
        "ValidationException",
        "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: by-owner",
    ),
    "an unknown index": (
        {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "nope"}}]},
        "ResourceNotFoundException",
        "Requested resource not found: Index nope for table orders",
    ),
    "a local index": (
        {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "local"}}]},
        "ValidationException",
        "Cannot delete an index that is not a GlobalSecondaryIndex: local",
    ),
    "the same throughput": (
        {"ProvisionedThroughput": UNITS},
        "ValidationException",
        "The provisioned throughput for the table will not change.",
    ),
    "the same throughput of an index": (
        {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "old", "ProvisionedThroughput": UNITS}}]},
        "ValidationException",
        "The provisioned throughput for the index old will not change.",
    ),
    "two actions in one update": (
        {"GlobalSecondaryIndexUpdates": [{**BY_OWNER, "Delete": {"IndexName": "old"}}]},
        "ValidationException",
        "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
    ),
    "throughput of an unknown index": (
        {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "nope", "ProvisionedThroughput": MORE}}]},
        "ResourceNotFoundException",
        "Index nope for table orders",
    ),
    "a stream without its view": (
        {"StreamSpecification": {"StreamEnabled": True}},
        "ValidationException",
        "If stream is being enabled then UpdateViewType is required",
    ),
    "on-demand limits that are empty": (
        {"OnDemandThroughput": {}},
        "InternalServerError",
        "Internal server error",
    ),
    "on-demand limits with throughput": (
        {"OnDemandThroughput": {"MaxReadRequestUnits": 5}, "ProvisionedThroughput": MORE},
        "ValidationException",
        "OnDemandThroughput can only be combined with BillingMode",
    ),
    "throughput on demand": (
        {"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": MORE},
        "ValidationException",
        "can be specified when BillingMode is PAY_PER_REQUEST",
    ),
    "no stream to disable": (
        {"StreamSpecification": {"StreamEnabled": False}},
        "ValidationException",
        "Table has no stream to disable: TableName: orders",
    ),
    "a stream with throughput": (
        {"StreamSpecification": STREAM, "ProvisionedThroughput": MORE},
        "ValidationException",
        "You cannot modify stream status while updating table IOPS",
    ),
}


def provisioned_table(client: Any) -> None:
    create_table(
        client,
        KeySchema=keys("pk", "sk"),
        AttributeDefinitions=attributes(pk="S", sk="S", a="S"),
        GlobalSecondaryIndexes=[index("old", "a", ProvisionedThroughput=UNITS)],
        LocalSecondaryIndexes=[index("local", "pk", "a")],
        **PROVISIONED,
    )


@pytest.mark.parametrize("case", UPDATE)
def test_update_table_refuses(dynamodb: Any, case: str) -> None:
    request, code, text = UPDATE[case]
    provisioned_table(dynamodb)
    before = describe(dynamodb)
    request = {"AttributeDefinitions": OWNER, **request}
    with pytest.raises(ClientError) as caught:
        dynamodb.update_table(TableName="orders", **{k: v for k, v in request.items() if v is not None})
    assert refused(caught.value)[0] == code
    assert text in refused(caught.value)[1]
    assert describe(dynamodb) == before


def test_the_21st_index_exceeds_a_limit(dynamodb: Any) -> None:
    create_table(dynamodb, AttributeDefinitions=attributes(pk="S", owner="S"), GlobalSecondaryIndexes=many(20))
    with pytest.raises(ClientError) as caught:
        create_index(dynamodb, "one-more", "owner", owner="S")
    code, message = refused(caught.value)
    assert code == "LimitExceededException"
    assert message.endswith("Number of global secondary indexes exceeds per-table limit of 20")


def test_on_demand_indexes_have_no_throughput(dynamodb: Any) -> None:
    create_table(
        dynamodb,
        AttributeDefinitions=attributes(pk="S", owner="S"),
        GlobalSecondaryIndexes=[index("old", "owner")],
    )
    with pytest.raises(ClientError, match="The only Updates for index: old when TableThroughputMode is PAY_PER_REQ"):
        dynamodb.update_table(
            TableName="orders",
            GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "old", "ProvisionedThroughput": UNITS}}],
        )
    with pytest.raises(ClientError, match="ProvisionedThroughput must be specified for index: old"):
        dynamodb.update_table(TableName="orders", **PROVISIONED)
    with pytest.raises(ClientError, match="ProvisionedThroughput must be specified when BillingMode is PROVISIONED"):
        dynamodb.update_table(TableName="orders", BillingMode="PROVISIONED")
    with pytest.raises(ClientError, match="can be specified for index: by-owner when BillingMode is PAY_PER_REQUEST"):
        dynamodb.update_table(
            TableName="orders",
            AttributeDefinitions=OWNER,
            GlobalSecondaryIndexUpdates=[{"Create": index("by-owner", "owner", ProvisionedThroughput=UNITS)}],
        )
    old = [{"Update": {"IndexName": "old", "ProvisionedThroughput": UNITS}}]
    switched = dynamodb.update_table(TableName="orders", **PROVISIONED, GlobalSecondaryIndexUpdates=old)
    assert states(switched["TableDescription"]) == ("UPDATING", {"old": ("UPDATING", None)})


def test_a_name_that_is_being_built_is_in_use(still: Sandbox) -> None:
    client = still.client()
    create_table(client)
    create_index(client, "by-owner", "owner", owner="S")
    with pytest.raises(ClientError) as caught:
        create_index(client, "by-owner", "owner", owner="S")
    code, message = refused(caught.value)
    assert code == "ResourceInUseException"
    assert message.endswith("Index is being created.  Table: orders Index: by-owner")


def test_a_second_delete_finds_the_index_being_deleted_and_then_gone(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(
        client,
        AttributeDefinitions=attributes(pk="S", owner="S"),
        GlobalSecondaryIndexes=[index("old", "owner")],
    )
    delete_index(client, "old")
    with pytest.raises(ClientError, match="Index is being deleted"):
        delete_index(client, "old")
    with pytest.raises(ClientError, match="Only 1 online index"):
        create_index(client, "by-owner", "owner", owner="S")
    clock.advance(3)
    with pytest.raises(ClientError) as caught:
        delete_index(client, "old")
    assert refused(caught.value)[0] == "ResourceNotFoundException"


def test_a_table_is_not_deleted_while_an_index_is_in_flight(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(client)
    create_index(client, "by-owner", "owner", owner="S")
    for _ in range(2):
        with pytest.raises(ClientError) as caught:
            client.delete_table(TableName="orders")
        code, message = refused(caught.value)
        assert code == "ResourceInUseException"
        assert message.endswith("Cannot delete table while indexes are being created, updated, or deleted.")
        clock.advance(4)
    clock.advance(4)
    client.delete_table(TableName="orders")


def test_a_protected_table_is_not_deleted(dynamodb: Any) -> None:
    create_table(dynamodb, DeletionProtectionEnabled=True)
    with pytest.raises(ClientError, match="Disable deletion protection first"):
        dynamodb.delete_table(TableName="orders")
    dynamodb.update_table(TableName="orders", DeletionProtectionEnabled=False)
    dynamodb.delete_table(TableName="orders")


def test_what_an_index_build_forbids_and_allows(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(client)
    create_index(client, "by-owner", "owner", owner="S")
    with pytest.raises(ClientError, match="Can't change stream status when an index is being created"):
        client.update_table(TableName="orders", StreamSpecification=STREAM)
    with pytest.raises(ClientError, match="OnDemandThroughput cannot be updated while index creation"):
        client.update_table(TableName="orders", OnDemandThroughput={"MaxReadRequestUnits": 10})
    with pytest.raises(ClientError, match="Table is under system maintenance"):
        client.update_table(TableName="orders", WarmThroughput={"ReadUnitsPerSecond": 13000})
    client.update_table(TableName="orders", DeletionProtectionEnabled=True)
    client.put_item(TableName="orders", Item={"pk": {"S": "1"}})


def test_an_index_waits_for_the_change_before_it(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    provisioned_table(client)
    units = {"ProvisionedThroughput": UNITS}
    create = {
        "TableName": "orders",
        "AttributeDefinitions": OWNER,
        "GlobalSecondaryIndexUpdates": [{"Create": index("by-owner", "owner", **units)}],
    }
    for change, text in (
        (
            {"ProvisionedThroughput": MORE},
            "Can't create or delete indexes while table IOPS are being updated",
        ),
        (
            {"StreamSpecification": STREAM},
            "Can't create or delete an index when stream status is being updated",
        ),
        ({"TableClass": "STANDARD_INFREQUENT_ACCESS"}, "when a table class update is in progress"),
    ):
        assert states(client.update_table(TableName="orders", **change)["TableDescription"])[0] == "UPDATING"
        with pytest.raises(ClientError) as caught:
            client.update_table(**create)
        assert refused(caught.value)[0] == "ResourceInUseException"
        assert text in refused(caught.value)[1]
        clock.advance(3)
    client.update_table(**create)
    clock.advance(11)
    delete_index(client, "by-owner")
    with pytest.raises(ClientError, match="Can't change table IOPS when an index is being deleted"):
        client.update_table(TableName="orders", ProvisionedThroughput=UNITS)


def test_an_enabled_stream_is_not_enabled_again(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    create_table(client, StreamSpecification=STREAM)
    with pytest.raises(ClientError, match="Table already has an enabled stream: TableName: orders"):
        client.update_table(TableName="orders", StreamSpecification=STREAM)


def test_a_change_in_flight_holds_up_the_next_of_its_kind(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    provisioned_table(client)
    old = [{"Update": {"IndexName": "old", "ProvisionedThroughput": MORE}}]
    client.update_table(TableName="orders", GlobalSecondaryIndexUpdates=old)
    with pytest.raises(ClientError, match=r"Index is being updated\.  Table: orders Index: old"):
        client.update_table(TableName="orders", GlobalSecondaryIndexUpdates=old)
    with pytest.raises(ClientError, match="Cannot delete table while indexes are being"):
        client.delete_table(TableName="orders")
    client.update_table(TableName="orders", ProvisionedThroughput=MORE)
    clock.advance(1)
    with pytest.raises(ClientError, match="Table is being updated: orders"):
        client.update_table(TableName="orders", ProvisionedThroughput=UNITS)
    clock.advance(1.5)
    client.update_table(TableName="orders", StreamSpecification=STREAM)
    with pytest.raises(ClientError, match="Table is being updated: orders"):
        client.update_table(TableName="orders", StreamSpecification={"StreamEnabled": False})
    with pytest.raises(ClientError, match="Table is being updated: orders"):
        client.delete_table(TableName="orders")
    clock.advance(3)
    client.delete_table(TableName="orders")


def test_an_index_that_is_allocating_keeps_its_throughput(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    provisioned_table(client)
    client.update_table(
        TableName="orders",
        AttributeDefinitions=OWNER,
        GlobalSecondaryIndexUpdates=[{"Create": index("by-owner", "owner", ProvisionedThroughput=UNITS)}],
    )
    more = [{"Update": {"IndexName": "by-owner", "ProvisionedThroughput": MORE}}]
    with pytest.raises(ClientError, match="Index is being created"):
        client.update_table(TableName="orders", GlobalSecondaryIndexUpdates=more)
    with pytest.raises(ClientError, match="Table is being updated"):
        client.update_table(TableName="orders", ProvisionedThroughput=MORE)
    with pytest.raises(ClientError, match="Only 1 online index"):
        delete_index(client, "old")
    clock.advance(4)
    client.update_table(TableName="orders", GlobalSecondaryIndexUpdates=more)
    client.update_table(TableName="orders", ProvisionedThroughput=MORE)


def test_a_table_that_is_being_created_is_not_changed(clock: ManualClock) -> None:
    with Sandbox(clock=clock, table_build=5) as sandbox:
        client = sandbox.client()
        create_table(client)
        for call in (
            lambda: create_index(client, "by-owner", "owner", owner="S"),
            lambda: client.delete_table(TableName="orders"),
        ):
            with pytest.raises(ClientError, match="Table is being created: orders"):
                call()
