"""DescribeTable's answers, as the service words them, read into a LiveTable."""

from __future__ import annotations

from typing import Any

from migrator.core.ports import Replica
from migrator.core.schema import B, KeyAttribute, N, Projection, Throughput
from migrator.dynamo.describe import live_table, other_replicas

ON_DEMAND: dict[str, Any] = {
    "TableName": "app",
    "TableArn": "arn:aws:dynamodb:eu-west-1:1:table/app",
    "TableId": "id",
    "TableStatus": "UPDATING",
    "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    # Sorted by name, not in the order of the keys (facts §1.5).
    "AttributeDefinitions": [
        {"AttributeName": "PK", "AttributeType": "S"},
        {"AttributeName": "createdAt", "AttributeType": "N"},
        {"AttributeName": "hash", "AttributeType": "B"},
        {"AttributeName": "tenant", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "Wide",
            "KeySchema": [
                {"AttributeName": "tenant", "KeyType": "HASH"},
                {"AttributeName": "hash", "KeyType": "HASH"},
                {"AttributeName": "createdAt", "KeyType": "RANGE"},
                {"AttributeName": "PK", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["b", "a"]},
            "IndexStatus": "CREATING",
            "Backfilling": True,
            "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
            "OnDemandThroughput": {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": -1},
            "WarmThroughput": {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"},
            "ItemCount": 3,
            "IndexSizeBytes": 300,
        }
    ],
    "LocalSecondaryIndexes": [{"IndexName": "Local", "KeySchema": [], "Projection": {"ProjectionType": "ALL"}}],
    "VectorIndexes": [{"IndexName": "Vectors"}],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    "DeletionProtectionEnabled": True,
    "ItemCount": 7,
    "TableSizeBytes": 700,
}


def test_keys_of_several_attributes_have_their_order_and_their_types() -> None:
    index = live_table(ON_DEMAND).indexes["Wide"]
    assert index.definition.partition_key == (KeyAttribute("tenant"), B("hash"))
    assert index.definition.sort_key == (N("createdAt"), KeyAttribute("PK"))
    assert index.definition.projection == Projection("INCLUDE", frozenset({"a", "b"}))
    assert (index.status, index.backfilling, index.is_ready) == ("CREATING", True, False)
    assert (index.item_count, index.size_bytes) == (3, 300)


def test_an_on_demand_table_has_no_provisioned_units_and_maxima_where_set() -> None:
    live = live_table(ON_DEMAND)
    assert live.shape.provisioned is None
    definition = live.indexes["Wide"].definition
    assert definition.provisioned is None
    assert definition.on_demand_maximum == Throughput(10, -1)
    assert definition.warm == Throughput(12000, 4000)


def test_vector_indexes_are_left_out_and_local_ones_named() -> None:
    live = live_table(ON_DEMAND)
    assert set(live.indexes) == set(live.shape.indexes) == {"Wide"}
    assert live.local_indexes == ("Local",)


def test_settings_and_counts_are_shown() -> None:
    live = live_table(ON_DEMAND, [Replica("eu-central-1", "ACTIVE")])
    assert (live.stream, live.deletion_protection) == ("NEW_IMAGE", True)
    assert (live.item_count, live.size_bytes) == (7, 700)
    assert live.replicas == (Replica("eu-central-1", "ACTIVE"),)


def test_a_table_without_a_billing_summary_is_provisioned() -> None:
    old = {name: value for name, value in ON_DEMAND.items() if name != "BillingModeSummary"} | {
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        "GlobalSecondaryIndexes": None,
        "StreamSpecification": {"StreamEnabled": False},
    }
    live = live_table(old)
    assert live.shape.billing_mode == "PROVISIONED"
    assert live.shape.provisioned == Throughput(5, 6)
    assert live.stream is None
    assert live.indexes == {}


def test_backfilling_that_is_not_said_is_none() -> None:
    (index,) = ON_DEMAND["GlobalSecondaryIndexes"]
    quiet = {name: value for name, value in index.items() if name != "Backfilling"} | {"IndexStatus": "ACTIVE"}
    live = live_table(ON_DEMAND | {"GlobalSecondaryIndexes": [quiet]})
    assert live.indexes["Wide"].backfilling is None
    assert live.indexes["Wide"].is_ready


def test_the_table_s_own_region_is_no_replica() -> None:
    replicas = [{"RegionName": "eu-west-1", "ReplicaStatus": "ACTIVE"}, {"RegionName": "us-east-1"}]
    assert other_replicas({"Replicas": replicas}, "eu-west-1") == [("us-east-1", "")]
