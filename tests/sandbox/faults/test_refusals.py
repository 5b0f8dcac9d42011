"""Throttles, conflicts and what comes back of batches have the service's codes, texts and shapes."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.sandbox import Sandbox
from tests.sandbox.faults.conftest import code_of, error_of, make_table, put, stored

TABLE = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"
INDEX = f"{TABLE}/index/by-status"


def batch(*keys: str) -> dict[str, Any]:
    return {"orders": [{"PutRequest": {"Item": {"pk": {"S": key}}}} for key in keys]}


@pytest.mark.parametrize(
    ("code", "member"),
    [
        ("ProvisionedThroughputExceededException", "ThrottlingReasons"),
        ("RequestLimitExceeded", "ThrottlingReasons"),
        ("ThrottlingException", "throttlingReasons"),
    ],
)
def test_a_throttle_tells_its_reasons_under_the_key_of_its_code(
    sandbox: Sandbox, client: Any, code: str, member: str
) -> None:
    with sandbox.fault("throttle", code=code, reason="AccountLimitExceeded"):
        for call, reason in (
            (lambda: put(client, "1"), "TableWriteAccountLimitExceeded"),
            (lambda: client.scan(TableName="orders"), "TableReadAccountLimitExceeded"),
        ):
            error = error_of(call)
            assert (error["Error"]["Code"], error["ResponseMetadata"]["HTTPStatusCode"]) == (code, 400)
            assert error[member] == [{"reason": reason, "resource": TABLE}]
    assert stored(sandbox) == []


@pytest.mark.parametrize(
    "reason",
    [
        "ProvisionedThroughputExceeded",
        "AccountLimitExceeded",
        "KeyRangeThroughputExceeded",
        "MaxOnDemandThroughputExceeded",
    ],
)
def test_a_throttled_index_is_named_by_reason_and_arn(sandbox: Sandbox, client: Any, reason: str) -> None:
    with sandbox.fault("throttle", index="by-status", reason=reason):
        written = error_of(lambda: put(client, "1", status="new"))
        read = error_of(lambda: client.scan(TableName="orders", IndexName="by-status"))
    assert written["throttlingReasons"] == [{"reason": f"IndexWrite{reason}", "resource": INDEX}]
    assert read["throttlingReasons"] == [{"reason": f"IndexRead{reason}", "resource": INDEX}]


def test_the_usual_throttle_is_that_of_the_billing_mode(sandbox: Sandbox) -> None:
    client = sandbox.client()
    throughput = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    make_table(client, BillingMode="PAY_PER_REQUEST")
    with sandbox.fault("throttle"):
        error = error_of(lambda: put(client, "1"))
        assert error["Error"]["Code"] == "ThrottlingException"
        assert error["throttlingReasons"][0]["reason"] == "TableWriteKeyRangeThroughputExceeded"
        client.update_table(
            TableName="orders",
            BillingMode="PROVISIONED",
            ProvisionedThroughput=throughput,
            GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-status", "ProvisionedThroughput": throughput}}],
        )
        error = error_of(lambda: put(client, "1"))
    assert error["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert error["ThrottlingReasons"][0]["reason"] == "TableWriteProvisionedThroughputExceeded"


def test_a_throttled_call_of_the_control_plane_has_no_reasons(sandbox: Sandbox, client: Any) -> None:
    with sandbox.fault("throttle", operation="DescribeTable"):
        error = error_of(lambda: client.describe_table(TableName="orders"))
    assert error["Error"] == {"Code": "ThrottlingException", "Message": "Rate exceeded"}
    assert "throttlingReasons" not in error


def test_a_batch_is_refused_as_a_whole_only_where_all_of_it_is_throttled(sandbox: Sandbox, client: Any) -> None:
    with sandbox.fault("throttle", key={"pk": "hot"}):
        answer = client.batch_write_item(RequestItems=batch("a", "hot", "b"))
        assert answer["UnprocessedItems"] == batch("hot")
        assert code_of(lambda: client.batch_write_item(RequestItems=batch("hot"))) == "ThrottlingException"
    assert stored(sandbox) == ["a", "b"]


def test_part_of_a_batch_of_writes_comes_back_unprocessed(sandbox: Sandbox, client: Any) -> None:
    with sandbox.fault("unprocessed", share=0.3, seed=3):
        back = client.batch_write_item(RequestItems=batch(*"abcdefghij"))["UnprocessedItems"]["orders"]
    keys = [write["PutRequest"]["Item"]["pk"]["S"] for write in back]
    assert len(keys) == 3
    assert sorted(keys + stored(sandbox)) == list("abcdefghij")


def test_part_of_a_batch_of_reads_comes_back_unprocessed_with_its_options(sandbox: Sandbox, client: Any) -> None:
    for key in "abcd":
        put(client, key)
    asked = {"Keys": [{"pk": {"S": key}} for key in "abcd"], "ConsistentRead": True}
    with sandbox.fault("unprocessed"):
        answer = client.batch_get_item(RequestItems={"orders": asked})
    back = answer["UnprocessedKeys"]["orders"]
    assert (len(back["Keys"]), back["ConsistentRead"]) == (2, True)
    got = [*answer["Responses"]["orders"], *back["Keys"]]
    assert sorted(item["pk"]["S"] for item in got) == list("abcd")


@pytest.mark.parametrize(
    "code", ["ThrottlingError", "ProvisionedThroughputExceeded", "TransactionConflict", "InternalServerError"]
)
def test_statements_fail_one_by_one_inside_a_200(sandbox: Sandbox, client: Any, code: str) -> None:
    statements = [{"Statement": f"INSERT INTO orders VALUE {{'pk': '{key}'}}"} for key in "abcd"]
    with sandbox.fault("statement", code=code):
        responses = client.batch_execute_statement(Statements=statements)["Responses"]
    failed = [key for key, response in zip("abcd", responses, strict=True) if "Error" in response]
    assert len(failed) == 2
    assert {response["Error"]["Code"] for response in responses if "Error" in response} == {code}
    assert sorted(failed + stored(sandbox)) == list("abcd")


def test_a_plain_write_conflicts_with_a_transaction(sandbox: Sandbox, client: Any) -> None:
    with sandbox.fault("conflict"):
        error = error_of(lambda: put(client, "1"))
    assert error["Error"] == {
        "Code": "TransactionConflictException",
        "Message": "Transaction is ongoing for the item",
    }
    assert stored(sandbox) == []


def test_a_conflicting_transaction_is_cancelled_with_reasons_parallel_to_its_actions(
    sandbox: Sandbox, client: Any
) -> None:
    actions = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": key}}}} for key in "abc"]
    with sandbox.fault("conflict", key={"pk": "b"}):
        error = error_of(lambda: client.transact_write_items(TransactItems=actions))
    assert error["Error"]["Code"] == "TransactionCanceledException"
    assert [reason["Code"] for reason in error["CancellationReasons"]] == ["None", "TransactionConflict", "None"]
    with sandbox.fault("conflict"):
        error = error_of(lambda: client.transact_write_items(TransactItems=actions))
    assert sorted(reason["Code"] for reason in error["CancellationReasons"]) == ["None", "None", "TransactionConflict"]
    assert stored(sandbox) == []


def test_a_throttled_transaction_is_cancelled(sandbox: Sandbox, client: Any) -> None:
    actions = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": key}}}} for key in "ab"]
    for code, reason in (
        ("ThrottlingException", "ThrottlingError"),
        ("ProvisionedThroughputExceededException", "ProvisionedThroughputExceeded"),
    ):
        with sandbox.fault("throttle", key={"pk": "a"}, code=code):
            error = error_of(lambda: client.transact_write_items(TransactItems=actions))
        assert [one["Code"] for one in error["CancellationReasons"]] == [reason, "None"]
