"""A test sees every request, and may answer, refuse, delay, lose or accompany any of them."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from migrator.sandbox import Drop, Interception, Proceed, Reply, Request, Response, Sandbox
from tests.sandbox.shapes import create_table, refused


def put(client: Any, key: str) -> None:
    client.put_item(TableName="orders", Item={"pk": {"S": key}})


def keys_in(client: Any) -> list[str]:
    return sorted(item["pk"]["S"] for item in client.scan(TableName="orders")["Items"])


@pytest.fixture
def client(sandbox: Sandbox) -> Any:
    client = sandbox.client()
    create_table(client)
    sandbox.requests.clear()
    return client


def test_requests_are_logged_with_their_bodies_and_those_of_an_unseen_client_not(sandbox: Sandbox, client: Any) -> None:
    put(client, "1")
    put(sandbox.client(unseen=True), "2")
    client.scan(TableName="orders")
    assert [request.operation for request in sandbox.requests] == ["PutItem", "Scan"]
    assert sandbox.requests[0].body == {"TableName": "orders", "Item": {"pk": {"S": "1"}}}
    sandbox.requests.clear()
    assert sandbox.requests == []


def test_code_runs_just_before_the_nth_request(sandbox: Sandbox, client: Any) -> None:
    application = sandbox.client(unseen=True)
    with sandbox.on("Scan", lambda: put(application, "between"), nth=2):
        assert keys_in(client) == []
        assert keys_in(client) == ["between"]
        application.delete_item(TableName="orders", Key={"pk": {"S": "between"}})
        assert keys_in(client) == []


def test_code_runs_just_after_a_request_and_before_its_answer(sandbox: Sandbox, client: Any) -> None:
    application = sandbox.client(unseen=True)

    def after(request: Request, response: Response) -> None:
        assert (request.operation, request.table, response.body) == ("Scan", "orders", EMPTY)
        put(application, "late")

    with sandbox.intercept(after=after, operation="Scan"):
        assert keys_in(client) == []
    assert keys_in(client) == ["late"]


EMPTY = {"Items": [], "Count": 0, "ScannedCount": 0}


def test_an_error_is_answered_in_the_engines_place(sandbox: Sandbox, client: Any) -> None:
    def throttle(request: Request) -> Response:
        return Response.error("ThrottlingException", "Rate exceeded", throttlingReasons=[{"reason": "TableWrite"}])

    with sandbox.intercept(throttle, operation="PutItem"):
        with pytest.raises(ClientError) as caught:
            put(client, "1")
        assert refused(caught.value) == ("ThrottlingException", "Rate exceeded")
        assert caught.value.response["throttlingReasons"] == [{"reason": "TableWrite"}]
    put(client, "2")
    assert keys_in(client) == ["2"]


def test_a_server_error_has_its_status(sandbox: Sandbox, client: Any) -> None:
    fault = Response.error("InternalServerError", "Internal server error", status=500)
    with sandbox.intercept(lambda _: fault, operation="Scan", nth=1):
        with pytest.raises(ClientError) as caught:
            client.scan(TableName="orders")
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
        assert keys_in(client) == []


def test_a_request_may_be_lost_before_it_is_applied(sandbox: Sandbox, client: Any) -> None:
    with sandbox.intercept(lambda _: Drop(), operation="PutItem"), pytest.raises(ConnectionClosedError):
        put(client, "1")
    assert keys_in(client) == []


def test_an_answer_may_be_lost_after_its_request_was_applied(sandbox: Sandbox, client: Any) -> None:
    with (
        sandbox.intercept(after=lambda *_: Drop(), operation="PutItem"),
        pytest.raises(ConnectionClosedError),
    ):
        put(client, "1")
    assert keys_in(client) == ["1"]


def test_a_lost_answer_makes_botocore_send_the_request_again(sandbox: Sandbox, client: Any) -> None:
    patient = sandbox.client(retries={"total_max_attempts": 3, "mode": "standard"})
    with sandbox.intercept(after=lambda *_: Drop(), operation="PutItem", nth=1):
        put(patient, "1")
    assert [request.operation for request in sandbox.requests] == ["PutItem", "PutItem"]


def test_an_answer_may_be_changed(sandbox: Sandbox, client: Any) -> None:
    def unprocessed(request: Request, response: Response) -> Response:
        return response.with_body({"UnprocessedItems": request.body["RequestItems"]})

    writes = {"orders": [{"PutRequest": {"Item": {"pk": {"S": "1"}}}}]}
    with sandbox.intercept(after=unprocessed, operation="BatchWriteItem"):
        assert client.batch_write_item(RequestItems=writes)["UnprocessedItems"] == writes


def test_interceptions_nest_and_count_what_they_saw(sandbox: Sandbox, client: Any) -> None:
    with sandbox.intercept() as everything, sandbox.intercept(operation="Scan") as scans:
        put(client, "1")
        keys_in(client)
        keys_in(client)
    put(client, "2")
    assert isinstance(everything, Interception)
    assert (everything.seen, scans.seen) == (3, 2)


def test_streams_and_metrics_are_seen_by_their_operation(sandbox: Sandbox) -> None:
    sandbox.client("sts").get_caller_identity()
    sandbox.client("cloudwatch").list_metrics()
    sandbox.client("dynamodbstreams").list_streams()
    assert [request.operation for request in sandbox.requests] == [
        "GetCallerIdentity",
        "ListMetrics",
        "ListStreams",
    ]


async def every_write_is_throttled(request: Request, proceed: Proceed) -> Reply:
    if request.operation == "PutItem":
        return Response.error("ProvisionedThroughputExceededException", "slow down")
    return await proceed(request)


def test_a_fault_is_a_rule_of_its_own_and_what_it_refuses_is_not_applied() -> None:
    with Sandbox(faults=[every_write_is_throttled]) as sandbox:
        client = sandbox.client()
        create_table(client)
        with pytest.raises(ClientError) as caught:
            put(client, "1")
        assert refused(caught.value)[0] == "ProvisionedThroughputExceededException"
        assert keys_in(client) == []
        assert [request.operation for request in sandbox.requests] == ["CreateTable", "PutItem", "Scan"]


def test_a_callback_that_fails_is_a_server_error_there_and_the_tests_error_here(sandbox: Sandbox, client: Any) -> None:
    def check(request: Request) -> None:
        raise AssertionError("not what the test expected")

    unexpected = pytest.raises(AssertionError, match="not what the test expected")
    with unexpected, sandbox.intercept(check, operation="PutItem"):
        put(client, "1")
    failed = pytest.raises(ClientError, match="a callback failed")
    with unexpected, sandbox.intercept(check, operation="PutItem"), failed:
        put(client, "1")
    assert keys_in(client) == []


def test_a_failure_of_the_sandbox_itself_is_a_server_error_that_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(request: Request, proceed: Proceed) -> Reply:
        raise RuntimeError("a bug")

    with Sandbox(faults=[broken]) as sandbox, pytest.raises(ClientError) as caught:
        sandbox.client().list_tables()
    assert refused(caught.value) == ("InternalServerError", "the sandbox failed: RuntimeError('a bug')")
    assert [record.message for record in caplog.records] == ["ListTables failed"]
