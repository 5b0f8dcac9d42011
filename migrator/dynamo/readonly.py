"""Clients that cannot change anything: what is not known to read is refused before it is sent."""

from __future__ import annotations

from typing import Any

from migrator.errors import MigratorError

READS = {
    "dynamodb": frozenset(
        {
            "BatchGetItem",
            "DescribeBackup",
            "DescribeContinuousBackups",
            "DescribeContributorInsights",
            "DescribeEndpoints",
            "DescribeExport",
            "DescribeGlobalTable",
            "DescribeGlobalTableSettings",
            "DescribeImport",
            "DescribeKinesisStreamingDestination",
            "DescribeLimits",
            "DescribeTable",
            "DescribeTableReplicaAutoScaling",
            "DescribeTimeToLive",
            "GetItem",
            "GetResourcePolicy",
            "ListBackups",
            "ListContributorInsights",
            "ListExports",
            "ListGlobalTables",
            "ListImports",
            "ListTables",
            "ListTagsOfResource",
            "Query",
            "Scan",
            "TransactGetItems",
        }
    ),
    "cloudwatch": frozenset({"GetMetricData", "GetMetricStatistics", "ListMetrics"}),
    "sts": frozenset({"GetCallerIdentity"}),
}
"""By service. PartiQL's operations are not among them: whether one writes stands in its text."""


def refuse_changes(client: Any) -> None:
    """Make `client` raise `read-only-client` for every operation that is not known to read."""
    service = client.meta.service_model.service_name
    allowed = READS.get(service, frozenset())

    def refuse(model: Any, **_: Any) -> None:
        if model.name not in allowed:
            raise MigratorError(
                "read-only-client",
                f"{service}:{model.name} was asked of a client that only reads; it was not sent",
                hint="plan and --dry-run change nothing: run `migrator upgrade` to apply",
            )

    # The first event of every call, presigned ones included: before its parameters are even looked at.
    client.meta.events.register_first("provide-client-params", refuse)
