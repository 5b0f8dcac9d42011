"""The figures of an index build: the newest point, None where unknown, never a failed run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from migrator.core.ports import BuildMetrics
from migrator.core.schema import Index, KeyAttribute
from migrator.dynamo.client import connect
from migrator.dynamo.credentials import Connection
from migrator.dynamo.metrics import CloudWatchMetrics
from migrator.dynamo.retry import Retry
from migrator.dynamo.tables import DynamoTables
from migrator.sandbox import Drop, ManualClock, Sandbox
from migrator.testing.clock import SeededEntropy, VirtualClock
from tests.dynamo.conftest import Rig

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Now:
    """The time of the engine, which stamps metrics with it."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        raise AssertionError("figures have wall-clock stamps")

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing waits for figures")


class Answering:
    """A CloudWatch client that gives one answer and keeps what it was asked."""

    def __init__(self, **values: list[tuple[datetime, float]]) -> None:
        self.asked: list[dict[str, Any]] = []
        self._values = values

    def get_metric_data(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        return {
            "MetricDataResults": [
                {"Id": name, "Timestamps": [at for at, _ in points], "Values": [value for _, value in points]}
                for name, points in self._values.items()
            ]
        }


class Only:
    def __init__(self, cloudwatch: Any) -> None:
        self.cloudwatch = cloudwatch


def unexpected(remark: str) -> None:
    raise AssertionError(remark)


def metrics(client: Answering) -> CloudWatchMetrics:
    return CloudWatchMetrics(Only(client), VirtualClock(start=NOW), unexpected)  # type: ignore[arg-type]


def test_the_newest_point_counts_whatever_their_order() -> None:
    old, new = NOW - timedelta(minutes=10), NOW - timedelta(minutes=5)
    client = Answering(
        progress=[(old, 40.0), (new, 55.0)], consumed=[(new, 3000.0), (old, 60.0)], throttled=[(new, 0.0), (old, 9.0)]
    )
    assert metrics(client).index_build("app", "ByOwner", NOW - timedelta(hours=1)) == BuildMetrics(55.0, 10.0, 0.0)


def test_what_is_missing_is_unknown_and_not_zero() -> None:
    assert metrics(Answering(progress=[])).index_build("app", "ByOwner", NOW) == BuildMetrics(None, None, None)


def test_five_minute_points_of_exactly_this_index_are_asked_for() -> None:
    client = Answering()
    metrics(client).index_build("app", "ByOwner", NOW - timedelta(hours=1))
    (request,) = client.asked
    assert request["StartTime"] == NOW - timedelta(minutes=15)
    asked = {
        query["MetricStat"]["Metric"]["MetricName"]: (query["MetricStat"]["Stat"], query["MetricStat"]["Period"])
        for query in request["MetricDataQueries"]
    }
    assert asked == {
        "OnlineIndexPercentageProgress": ("Maximum", 300),
        "OnlineIndexConsumedWriteCapacity": ("Sum", 300),
        "OnlineIndexThrottleEvents": ("Sum", 300),
    }
    for query in request["MetricDataQueries"]:
        assert query["MetricStat"]["Metric"]["Namespace"] == "AWS/DynamoDB"
        assert query["MetricStat"]["Metric"]["Dimensions"] == [
            {"Name": "TableName", "Value": "app"},
            {"Name": "GlobalSecondaryIndexName", "Value": "ByOwner"},
        ]


def test_a_former_index_of_the_same_name_is_not_looked_at() -> None:
    client = Answering()
    began = datetime(2026, 11, 30, 11, 58, 20, tzinfo=UTC)
    metrics(client).index_build("app", "ByOwner", began)
    # A figure carries the time at which its five minutes begin: this one's hold the beginning of the build.
    assert client.asked[0]["StartTime"] == datetime(2026, 11, 30, 11, 55, tzinfo=UTC)


def test_a_build_in_the_sandbox_shows_its_progress() -> None:
    clock = ManualClock()
    with Sandbox(index_build=100, clock=clock) as sandbox:
        client = sandbox.client(region="eu-north-1")
        key = [{"AttributeName": "PK", "KeyType": "HASH"}]
        names = [{"AttributeName": "PK", "AttributeType": "S"}]
        client.create_table(TableName="built", BillingMode="PAY_PER_REQUEST", KeySchema=key, AttributeDefinitions=names)
        connection = Connection(endpoint_url=sandbox.endpoint_url, region="eu-north-1")
        with connect(connection, {}) as clients:
            DynamoTables(clients, Retry(VirtualClock(), SeededEntropy())).create_index(
                "built", Index("ByOwner", (KeyAttribute("a"),))
            )
            clock.advance(80)
            found = CloudWatchMetrics(clients, Now(), unexpected).index_build(
                "built", "ByOwner", datetime.now(UTC) - timedelta(minutes=1)
            )
    assert found.progress is not None
    assert 0 < found.progress < 100
    assert found.throttled == 0.0


def test_throttled_requests_of_a_table_and_its_indexes_are_added_up_minute_by_minute() -> None:
    first, second = NOW - timedelta(minutes=2), NOW - timedelta(minutes=1)
    client = Answering(m0=[(first, 40.0)], m1=[(second, 7.0)], m2=[(first, 25.0), (second, 1.0)])
    assert metrics(client).throttle_events("app", ["ByOwner"]) == 65.0
    (request,) = client.asked
    assert NOW - request["StartTime"] == timedelta(minutes=3)
    asked = [
        (stat["Metric"]["MetricName"], [one["Value"] for one in stat["Metric"]["Dimensions"]], stat["Period"])
        for stat in (query["MetricStat"] for query in request["MetricDataQueries"])
    ]
    assert asked == [
        ("WriteThrottleEvents", ["app"], 60),
        ("ReadThrottleEvents", ["app"], 60),
        ("WriteThrottleEvents", ["app", "ByOwner"], 60),
        ("ReadThrottleEvents", ["app", "ByOwner"], 60),
    ]


def test_minutes_without_a_figure_had_no_throttled_request() -> None:
    assert metrics(Answering(m0=[])).throttle_events("app", []) == 0.0


def test_throttled_requests_are_unknown_where_cloudwatch_fails_and_that_is_remarked_once(rig: Rig) -> None:
    remarks: list[str] = []
    reader = CloudWatchMetrics(rig.clients, Now(), remarks.append)
    with rig.sandbox.intercept(lambda _: Drop(), operation="GetMetricData"):
        assert [reader.throttle_events("app", []) for _ in range(2)] == [None, None]
    (remark,) = remarks
    assert remark.startswith("the throttled requests of the table are not known")


def test_a_cloudwatch_that_fails_makes_figures_unknown_and_is_remarked_once(rig: Rig) -> None:
    remarks: list[str] = []
    reader = CloudWatchMetrics(rig.clients, Now(), remarks.append)
    with rig.sandbox.intercept(lambda _: Drop(), operation="GetMetricData"):
        for _ in range(2):
            assert reader.index_build("app", "ByOwner", datetime.now(UTC)) == BuildMetrics()
    (remark,) = remarks
    assert "cloudwatch:GetMetricData" in remark
