"""What is known to read, and clients that refuse everything else before it is sent."""

from __future__ import annotations

from collections.abc import Callable
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
    "iam": frozenset({"SimulatePrincipalPolicy"}),
    "lambda": frozenset({"ListEventSourceMappings"}),
    "application-autoscaling": frozenset({"DescribeScalableTargets"}),
    "service-quotas": frozenset({"GetServiceQuota"}),
}
"""By service. PartiQL's operations are not among them: whether one writes stands in its text."""


def refuse_changes(client: Any) -> None:
    """Make `client` raise `read-only-client` for every operation that is not known to read."""

    def refuse(operation: str) -> None:
        raise read_only(operation)

    before_changes(client, refuse)


def read_only(operation: str) -> MigratorError:
    """What a request that may change something is refused with."""
    return MigratorError(
        "read-only-client",
        f"{operation} was asked of a client that only reads; it was not sent",
        hint="plan and --dry-run change nothing: run `migrator upgrade` to apply",
    )


def before_changes(client: Any, ask: Callable[[str], None]) -> None:
    """Call `ask` with the name of each operation (`dynamodb:PutItem`) that is not known to read, before it is sent."""
    service = client.meta.service_model.service_name
    allowed = READS.get(service, frozenset())

    def look(model: Any, **_: Any) -> None:
        if model.name not in allowed:
            ask(f"{service}:{model.name}")

    # The first event of every call, presigned ones included: before its parameters are even looked at.
    client.meta.events.register_first("provide-client-params", look)
