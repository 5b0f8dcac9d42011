"""What an index's capacity settings look like after they were changed: the engine behind the layer forgets them."""

from __future__ import annotations

from typing import Any

from migrator.sandbox import Sandbox

KEY = [{"AttributeName": "PK", "KeyType": "HASH"}]
NAMES = [{"AttributeName": "PK", "AttributeType": "S"}, {"AttributeName": "owner", "AttributeType": "S"}]


def described(client: Any) -> Any:
    return client.describe_table(TableName="capped")["Table"]["GlobalSecondaryIndexes"][0]


def test_an_on_demand_maximum_and_warm_throughput_of_an_index_are_described_as_set() -> None:
    with Sandbox(index_build=0.0) as sandbox:
        client = sandbox.client(region="eu-south-1")
        client.create_table(
            TableName="capped",
            KeySchema=KEY,
            AttributeDefinitions=NAMES,
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "ByOwner",
                    "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )
        for change in (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 20}},
            {"WarmThroughput": {"ReadUnitsPerSecond": 14000, "WriteUnitsPerSecond": 5000}},
        ):
            updates = [{"Update": {"IndexName": "ByOwner", **change}}]
            client.update_table(TableName="capped", GlobalSecondaryIndexUpdates=updates)
        index = described(client)
        assert index["OnDemandThroughput"] == {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 20}
        assert index["WarmThroughput"]["WriteUnitsPerSecond"] == 5000
