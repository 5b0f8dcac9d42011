"""The Surroundings port over boto3: IAM, Lambda, Application Auto Scaling and Service Quotas, which it only asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from migrator.core.surroundings import Limits, Scaled, Verdict
from migrator.dynamo.client import Clients
from migrator.dynamo.errors import translated

T = TypeVar("T")
INDEX_QUOTA = "L-F7858A77"
"""Service Quotas' name for the global secondary indexes of a table."""
MOST_ACTIONS = 50
"""Actions in one simulation; the service's limit is on the whole request."""


class AwsSurroundings:
    """Each question once: what is refused is unknown, and is not worth waiting for."""

    def __init__(self, clients: Clients):
        self._clients = clients

    def limits(self) -> Limits:
        found = self._ask("dynamodb:DescribeLimits", "*", lambda: self._clients.tables.describe_limits())
        return Limits(
            found["AccountMaxReadCapacityUnits"],
            found["AccountMaxWriteCapacityUnits"],
            found["TableMaxReadCapacityUnits"],
            found["TableMaxWriteCapacityUnits"],
        )

    def most_indexes(self) -> int:
        client = self._clients.service("service-quotas")
        answer = self._ask(
            "servicequotas:GetServiceQuota",
            "dynamodb",
            lambda: client.get_service_quota(ServiceCode="dynamodb", QuotaCode=INDEX_QUOTA),
        )
        return int(answer["Quota"]["Value"])

    def scaled(self, table: str) -> Sequence[Scaled]:
        client = self._clients.service("application-autoscaling")
        resources = [f"table/{table}", *(f"table/{table}/index/{name}" for name in self._indexes(table))]
        found: list[Scaled] = []
        more: dict[str, str] = {}
        while True:
            asked = {"ServiceNamespace": "dynamodb", "ResourceIds": resources, **more}
            answer = self._ask(
                "application-autoscaling:DescribeScalableTargets",
                table,
                lambda asked=asked: client.describe_scalable_targets(**asked),  # type: ignore[misc]
            )
            found += [
                Scaled(one["ResourceId"], one["ScalableDimension"], one["MinCapacity"], one["MaxCapacity"])
                for one in answer.get("ScalableTargets", ())
            ]
            if not answer.get("NextToken"):
                return found
            more = {"NextToken": answer["NextToken"]}

    def stream_consumers(self, table: str) -> Sequence[str]:
        found: list[str] = []
        stream = self._described(table).get("LatestStreamArn")
        if stream:
            client = self._clients.service("lambda")
            answer = self._ask(
                "lambda:ListEventSourceMappings",
                table,
                lambda: client.list_event_source_mappings(EventSourceArn=stream),
            )
            found += [
                f"function {one['FunctionArn'].rpartition(':function:')[2]} ({one.get('State', 'state not told')})"
                for one in answer.get("EventSourceMappings", ())
            ]
        copies = self._ask(
            "dynamodb:DescribeKinesisStreamingDestination",
            table,
            lambda: self._clients.tables.describe_kinesis_streaming_destination(TableName=table),
        )
        return found + [
            f"Kinesis stream {one['StreamArn'].rpartition('/')[2]}"
            for one in copies.get("KinesisDataStreamDestinations", ())
            if one.get("DestinationStatus") in ("ACTIVE", "ENABLING", "UPDATING")
        ]

    def simulate(
        self, principal: str, actions: Sequence[str], resources: Sequence[str], context: Mapping[str, Sequence[str]]
    ) -> Sequence[Verdict]:
        client = self._clients.service("iam")
        entries = [
            {"ContextKeyName": name, "ContextKeyValues": list(values), "ContextKeyType": "stringList"}
            for name, values in context.items()
        ]
        found: list[Verdict] = []
        for start in range(0, len(actions), MOST_ACTIONS):
            asked: dict[str, Any] = {
                "PolicySourceArn": principal,
                "ActionNames": list(actions[start : start + MOST_ACTIONS]),
                "ResourceArns": list(resources),
                "ContextEntries": entries,
            }
            while True:
                answer = self._ask(
                    "iam:SimulatePrincipalPolicy",
                    principal,
                    lambda asked=asked: client.simulate_principal_policy(**asked),  # type: ignore[misc]
                )
                found += [_verdict(one) for one in answer["EvaluationResults"]]
                if not answer.get("IsTruncated"):
                    break
                asked = {**asked, "Marker": answer["Marker"]}
        return found

    def _indexes(self, table: str) -> list[str]:
        return [one["IndexName"] for one in self._described(table).get("GlobalSecondaryIndexes") or ()]

    def _described(self, table: str) -> Mapping[str, Any]:
        answer = self._ask(
            "dynamodb:DescribeTable", table, lambda: self._clients.tables.describe_table(TableName=table)
        )
        return answer["Table"]

    def _ask(self, action: str, resource: str, function: Callable[[], T]) -> T:
        with translated(action, resource, self._clients.access.hint):
            return function()


def _verdict(one: Mapping[str, Any]) -> Verdict:
    decision = one["EvalDecision"]
    # Denied by nothing but a condition on what the simulator was not told: that is no answer.
    is_open = decision == "implicitDeny" and bool(one.get("MissingContextValues"))
    return Verdict(one["EvalActionName"], one.get("EvalResourceName", "*"), None if is_open else decision == "allowed")
