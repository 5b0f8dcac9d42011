"""What CloudWatch shows: index builds, five minutes apart and never the truth (facts §2), and throttled requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from migrator.core.ports import BuildMetrics, Clock
from migrator.dynamo.client import Clients
from migrator.dynamo.errors import translated
from migrator.errors import MigratorError

PERIOD = 300
WINDOW = timedelta(minutes=15)
THROTTLE_WINDOW = timedelta(minutes=3)
_THROTTLE_METRICS = ("WriteThrottleEvents", "ReadThrottleEvents")
_QUERIES = (
    ("progress", "OnlineIndexPercentageProgress", "Maximum"),
    ("consumed", "OnlineIndexConsumedWriteCapacity", "Sum"),
    ("throttled", "OnlineIndexThrottleEvents", "Sum"),
)


class CloudWatchMetrics:
    """The Metrics port. Figures are for display: where CloudWatch answers with an error, they are unknown.

    `remark` is told why, once.
    """

    def __init__(self, clients: Clients, clock: Clock, remark: Callable[[str], None]):
        self._clients = clients
        self._clock = clock
        self._remark = remark
        self._remarked: set[str] = set()

    def index_build(self, table: str, index: str, since: datetime) -> BuildMetrics:
        """`since`, when the build began, keeps out the figures of a former index of the same name."""
        now = self._clock.now()
        dimensions = [
            {"Name": "TableName", "Value": table},
            {"Name": "GlobalSecondaryIndexName", "Value": index},
        ]
        queries: list[Any] = [
            {
                "Id": identity,
                "MetricStat": {
                    "Metric": {"Namespace": "AWS/DynamoDB", "MetricName": name, "Dimensions": dimensions},
                    "Period": PERIOD,
                    "Stat": statistic,
                },
            }
            for identity, name, statistic in _QUERIES
        ]
        try:
            with translated("cloudwatch:GetMetricData", "*"):
                answer = self._clients.cloudwatch.get_metric_data(
                    MetricDataQueries=queries,
                    StartTime=max(_period_of(since), now - WINDOW),
                    EndTime=now + timedelta(seconds=1),
                    ScanBy="TimestampDescending",
                )
        except MigratorError as exc:
            self._note(exc)
            return BuildMetrics()
        newest = {
            result["Id"]: max(zip(result["Timestamps"], result["Values"], strict=True))[1]
            for result in answer.get("MetricDataResults", ())
            if result.get("Values")
        }
        consumed = newest.get("consumed")
        return BuildMetrics(
            progress=newest.get("progress"),
            consumed_write=None if consumed is None else consumed / PERIOD,
            throttled=newest.get("throttled"),
        )

    def throttle_events(self, table: str, indexes: Sequence[str]) -> float | None:
        """The worst of the last minutes: figures come a minute or two late, and a calm one may be an unfinished one."""
        now = self._clock.now()
        of_table = [{"Name": "TableName", "Value": table}]
        places = [of_table, *([*of_table, {"Name": "GlobalSecondaryIndexName", "Value": name}] for name in indexes)]
        queries: list[Any] = [
            {
                "Id": f"m{number}",
                "MetricStat": {
                    "Metric": {"Namespace": "AWS/DynamoDB", "MetricName": metric, "Dimensions": dimensions},
                    "Period": 60,
                    "Stat": "Sum",
                },
            }
            for number, (dimensions, metric) in enumerate(product(places, _THROTTLE_METRICS))
        ]
        try:
            with translated("cloudwatch:GetMetricData", "*"):
                answer = self._clients.cloudwatch.get_metric_data(
                    MetricDataQueries=queries, StartTime=now - THROTTLE_WINDOW, EndTime=now + timedelta(seconds=1)
                )
        except MigratorError as exc:
            self._note(exc, "the throttled requests of the table are")
            return None
        minutes: dict[datetime, float] = {}
        for result in answer.get("MetricDataResults", ()):
            for at, events in zip(result.get("Timestamps", ()), result.get("Values", ()), strict=True):
                minutes[at] = minutes.get(at, 0.0) + events
        # Points exist only where there was something to count.
        return max(minutes.values(), default=0.0)

    def _note(self, error: MigratorError, what: str = "the progress of index builds is") -> None:
        if what not in self._remarked:
            self._remarked.add(what)
            self._remark(f"{what} not known: {error.message}")


def _period_of(moment: datetime) -> datetime:
    """When the period that holds this moment begins: that is the timestamp of its figures."""
    return datetime.fromtimestamp(moment.timestamp() // PERIOD * PERIOD, UTC)
