"""A build tells its progress through CloudWatch while it lasts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from migrator.sandbox import ManualClock, Sandbox
from tests.sandbox.shapes import create_index, create_table

PROGRESS, CONSUMED, THROTTLED = (
    f"OnlineIndex{what}" for what in ("PercentageProgress", "ConsumedWriteCapacity", "ThrottleEvents")
)


def asked(client: Any, metric: str, statistic: str = "Maximum", **dimensions: str) -> list[float]:
    """The newest value first, by the query that a tool would send."""
    named = {"TableName": "orders", "GlobalSecondaryIndexName": "by-owner", **dimensions}
    now = datetime.now(UTC)
    answer = client.get_metric_data(
        MetricDataQueries=[
            {
                "Id": "m",
                "MetricStat": {
                    "Metric": {
                        "Namespace": "AWS/DynamoDB",
                        "MetricName": metric,
                        "Dimensions": [{"Name": name, "Value": value} for name, value in named.items() if value],
                    },
                    "Period": 300,
                    "Stat": statistic,
                },
            }
        ],
        StartTime=now - timedelta(minutes=20),
        EndTime=now + timedelta(minutes=1),
    )
    values: list[float] = answer["MetricDataResults"][0]["Values"]
    return values


def test_progress_grows_with_the_build_and_is_absent_without_one(still: Sandbox, clock: ManualClock) -> None:
    dynamodb, cloudwatch = still.client(), still.client("cloudwatch")
    create_table(dynamodb)
    assert asked(cloudwatch, PROGRESS) == []
    for number in range(10):
        dynamodb.put_item(TableName="orders", Item={"pk": {"S": str(number)}, "owner": {"S": "x" * 1500}})
    create_index(dynamodb, "by-owner", "owner", owner="S")
    seen = []
    for _ in range(3):
        clock.advance(3)
        seen += asked(cloudwatch, PROGRESS)[:1]
    assert seen == [30.0, 60.0, 90.0]
    assert sum(asked(cloudwatch, CONSUMED, "Sum")) == pytest.approx(18.0)
    assert sum(asked(cloudwatch, THROTTLED, "Sum")) == 0.0


def test_only_the_exact_dimensions_answer(still: Sandbox, clock: ManualClock) -> None:
    dynamodb, cloudwatch = still.client(), still.client("cloudwatch")
    create_table(dynamodb)
    create_index(dynamodb, "by-owner", "owner", owner="S")
    clock.advance(5)
    assert asked(cloudwatch, PROGRESS) == [50.0]
    assert asked(cloudwatch, PROGRESS, GlobalSecondaryIndexName="") == []
    assert asked(cloudwatch, PROGRESS, TableName="others") == []
    assert asked(still.client("cloudwatch", region="us-east-1"), PROGRESS) == []
