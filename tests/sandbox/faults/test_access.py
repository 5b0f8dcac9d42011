"""Actions that are denied and tokens that expire."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.sandbox import Sandbox
from tests.sandbox.faults.conftest import code_of, error_of, put, stored, struck

KEY = {"pk": {"S": "1"}}


def test_a_denied_action_names_user_action_and_resource(sandbox: Sandbox, client: Any) -> None:
    with sandbox.fault("access-denied", operation="PutItem", user="ada"):
        error = error_of(lambda: put(client, "1"))
        client.scan(TableName="orders")
    assert error["Error"] == {
        "Code": "AccessDeniedException",
        "Message": "User: arn:aws:iam::000000000000:user/ada is not authorized to perform: dynamodb:PutItem on "
        "resource: arn:aws:dynamodb:eu-west-1:000000000000:table/orders because no identity-based policy allows the "
        "dynamodb:PutItem action",
    }
    assert stored(sandbox) == []


def test_an_index_is_a_resource_of_its_own(sandbox: Sandbox, client: Any) -> None:
    with sandbox.fault("access-denied", operation="Scan", index="by-status"):
        error = error_of(lambda: client.scan(TableName="orders", IndexName="by-status"))
        client.scan(TableName="orders")
    assert (
        "on resource: arn:aws:dynamodb:eu-west-1:000000000000:table/orders/index/by-status "
        in error["Error"]["Message"]
    )


def test_a_transaction_needs_the_actions_inside_it_and_a_batch_its_own(sandbox: Sandbox, client: Any) -> None:
    check = {"TableName": "orders", "Key": KEY, "ConditionExpression": "attribute_exists(pk)"}
    calls = [
        lambda: client.transact_write_items(TransactItems=[{"Put": {"TableName": "orders", "Item": KEY}}]),
        lambda: client.transact_write_items(TransactItems=[{"ConditionCheck": check}]),
        lambda: client.batch_write_item(RequestItems={"orders": [{"PutRequest": {"Item": KEY}}]}),
        lambda: client.execute_statement(Statement="DELETE FROM orders WHERE pk = '1'"),
    ]
    for action, hits in (
        ("PutItem", [True, False, False, False]),
        ("ConditionCheckItem", [False, True, False, False]),
        ("BatchWriteItem", [False, False, True, False]),
        ("PartiQLDelete", [False, False, False, True]),
    ):
        put(client, "1")
        with sandbox.fault("access-denied", operation=action):
            assert struck(calls) == hits, action


def test_metrics_may_be_denied_too(sandbox: Sandbox) -> None:
    cloudwatch = sandbox.client("cloudwatch")
    with sandbox.fault("access-denied", operation="ListMetrics"):
        error = error_of(cloudwatch.list_metrics)
    assert "cloudwatch:ListMetrics on resource: * because" in error["Error"]["Message"]


def test_an_expired_token_is_refused_until_the_access_key_changes(sandbox: Sandbox, client: Any) -> None:
    renewed = sandbox.client(account="ASIARENEWED000000000")
    with sandbox.fault("expired-token"):
        error = error_of(lambda: put(client, "1"))
        assert error["Error"] == {
            "Code": "ExpiredTokenException",
            "Message": "The security token included in the request is expired",
        }
        put(renewed, "1")
        assert code_of(lambda: put(client, "2")) == "ExpiredTokenException"
    assert stored(sandbox) == ["1"]


def test_an_expired_token_may_be_renewed_behind_the_same_key(sandbox: Sandbox, client: Any) -> None:
    with sandbox.fault("expired-token", times=2):
        assert struck([lambda: put(client, "1")] * 3) == [True, True, False]


def test_sts_refuses_an_expired_token_in_its_own_form(sandbox: Sandbox) -> None:
    with sandbox.fault("expired-token"), pytest.raises(ClientError) as caught:
        sandbox.client("sts").get_caller_identity()
    assert caught.value.response["Error"]["Code"] == "ExpiredToken"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
