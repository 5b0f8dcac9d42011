"""Index builds as CloudWatch shows them: five minutes apart, sometimes missing, never the truth (facts §2)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from migrator.core.ports import BuildMetrics, Clock
from migrator.dynamo.client import Clients
from migrator.dynamo.errors import translated
from migrator.errors import MigratorError

PERIOD = 300
WINDOW = timedelta(minutes=15)
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
        self._has_remarked = False

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

    def _note(self, error: MigratorError) -> None:
        if not self._has_remarked:
            self._has_remarked = True
            self._remark(f"the progress of index builds is not known: {error.message}")


def _period_of(moment: datetime) -> datetime:
    """When the period that holds this moment begins: that is the timestamp of its figures."""
    return datetime.fromtimestamp(moment.timestamp() // PERIOD * PERIOD, UTC)
