"""The account's answers over boto3, against the sandbox's engine: IAM's simulator, limits, consumers of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from migrator.core.surroundings import Verdict
from migrator.dynamo.client import Clients, connect
from migrator.dynamo.credentials import Connection
from migrator.dynamo.surroundings import AwsSurroundings
from migrator.errors import MigratorError
from migrator.sandbox import Sandbox

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/app"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(index_build=0.1) as sandbox:
        yield sandbox


@pytest.fixture
def clients(sandbox: Sandbox) -> Iterator[Clients]:
    connection = Connection("eu-west-1", sandbox.endpoint_url, None, None, None, True)
    with connect(connection, {}) as clients:
        yield clients


def test_the_simulator_tells_what_a_role_may_and_what_it_may_not(sandbox: Sandbox, clients: Clients) -> None:
    iam = boto3.client(
        "iam",
        endpoint_url=sandbox.endpoint_url,
        region_name="eu-west-1",
        aws_access_key_id="x",
        aws_secret_access_key="y",
    )
    trust = {"Version": "2012-10-17", "Statement": []}
    role = iam.create_role(RoleName="migrator", AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    allowed = {"Effect": "Allow", "Action": ["dynamodb:DescribeTable", "dynamodb:Query"], "Resource": ARN}
    policy = {"Version": "2012-10-17", "Statement": [allowed]}
    iam.put_role_policy(RoleName="migrator", PolicyName="p", PolicyDocument=json.dumps(policy))
    iam.close()
    found = AwsSurroundings(clients).simulate(
        role, ["dynamodb:DescribeTable", "dynamodb:UpdateTable"], [ARN], {"dynamodb:LeadingKeys": ["__migrator__lock"]}
    )
    assert sorted(found, key=lambda one: one.action) == [
        Verdict("dynamodb:DescribeTable", ARN, True),
        Verdict("dynamodb:UpdateTable", ARN, False),
    ]


@pytest.mark.parametrize(
    ("decision", "missing", "is_allowed"),
    [
        ("allowed", [], True),
        ("explicitDeny", ["aws:SourceIp"], False),
        ("implicitDeny", [], False),
        ("implicitDeny", ["aws:SourceIp"], None),
    ],
)
def test_a_denial_for_want_of_context_is_no_answer(decision: str, missing: list[str], is_allowed: bool | None) -> None:
    pages = [
        {"EvaluationResults": [], "IsTruncated": True, "Marker": "m"},
        {
            "EvaluationResults": [
                {
                    "EvalActionName": "dynamodb:Scan",
                    "EvalResourceName": ARN,
                    "EvalDecision": decision,
                    "MissingContextValues": missing,
                }
            ]
        },
    ]
    iam = SimpleNamespace(simulate_principal_policy=lambda **_: pages.pop(0))
    clients: Any = SimpleNamespace(service=lambda _: iam, access=SimpleNamespace(hint=None))
    found = AwsSurroundings(clients).simulate("arn", ["dynamodb:Scan"], [ARN], {})
    assert list(found) == [Verdict("dynamodb:Scan", ARN, is_allowed)]


def test_limits_are_those_of_the_account(clients: Clients) -> None:
    limits = AwsSurroundings(clients).limits()
    assert limits.account_write >= limits.table_write > 0


def test_a_table_with_a_stream_that_nobody_reads_has_no_consumers(sandbox: Sandbox, clients: Clients) -> None:
    client = sandbox.client(unseen=True)
    client.create_table(
        TableName="streamed",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    assert AwsSurroundings(clients).stream_consumers("streamed") == []


@pytest.mark.parametrize("question", ["most_indexes", "scaled"])
def test_what_the_engine_does_not_know_is_an_error_that_names_the_action(clients: Clients, question: str) -> None:
    around = AwsSurroundings(clients)
    with pytest.raises(MigratorError) as refused:
        around.most_indexes() if question == "most_indexes" else around.scaled("streamed")
    assert "servicequotas" in refused.value.message or "autoscaling" in refused.value.message


@pytest.mark.parametrize(
    ("service", "call"),
    [
        ("iam", lambda client: client.delete_role(RoleName="migrator")),
        ("lambda", lambda client: client.delete_event_source_mapping(UUID="x")),
        ("application-autoscaling", lambda client: client.tag_resource(ResourceARN="x", Tags={})),
    ],
)  # fmt: skip
def test_a_client_that_only_reads_refuses_to_change_the_account(clients: Clients, service: str, call: object) -> None:
    assert callable(call)
    with pytest.raises(MigratorError) as refused:
        call(clients.service(service))
    assert refused.value.code == "read-only-client"
