"""The sandbox starts and stops cleanly, on loopback only, and keeps regions and accounts apart."""

from __future__ import annotations

import contextlib
import http.client
import logging
import socket
import subprocess
import sys
import threading
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from migrator.errors import MigratorError
from migrator.sandbox import ManualClock, Sandbox
from tests.sandbox.shapes import create_index, create_table, states


def test_it_starts_and_stops_again_and_again_and_leaves_no_thread(sandbox: Sandbox) -> None:
    before = {thread.name for thread in threading.enumerate()}
    for _ in range(3):
        with Sandbox() as another:
            client = another.client(region="us-west-2")
            create_table(client)
            assert client.list_tables()["TableNames"] == ["orders"]
        with pytest.raises((EndpointConnectionError, OSError)):
            socket.create_connection(("127.0.0.1", another.port), timeout=1).close()
    assert {thread.name for thread in threading.enumerate()} <= before


def test_a_stopped_sandbox_may_start_again_and_is_empty() -> None:
    sandbox = Sandbox()
    for _ in range(2):
        sandbox.start()
        client = sandbox.client()
        assert client.list_tables()["TableNames"] == []
        create_table(client)
        sandbox.stop()
    sandbox.stop()


def test_it_does_not_start_twice(sandbox: Sandbox) -> None:
    with pytest.raises(MigratorError) as caught:
        sandbox.start()
    assert caught.value.code == "sandbox-running"


def test_a_port_in_use_is_named(sandbox: Sandbox) -> None:
    with pytest.raises(MigratorError) as caught:
        Sandbox(port=sandbox.port).start()
    assert caught.value.code == "sandbox-port-in-use"
    assert f"127.0.0.1:{sandbox.port}" in caught.value.message


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com", ""])
def test_it_listens_on_loopback_only(host: str) -> None:
    with pytest.raises(MigratorError) as caught:
        Sandbox(host=host).start()
    assert caught.value.code == "sandbox-not-loopback"


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypercorn.asyncio", None)
    with pytest.raises(MigratorError) as caught:
        Sandbox().start()
    assert caught.value.code == "sandbox-missing"
    assert caught.value.hint == "pip install 'dynamodb-migrations[sandbox]'"


def test_a_reset_empties_tables_builds_and_the_log(sandbox: Sandbox, dynamodb: Any) -> None:
    create_table(dynamodb)
    sandbox.reset()
    assert sandbox.requests == []
    assert dynamodb.list_tables()["TableNames"] == []


def test_accounts_and_regions_are_apart_and_survive_the_end_of_another_sandbox(sandbox: Sandbox) -> None:
    clients = [sandbox.client(), sandbox.client(region="us-east-1"), sandbox.client(account="111111111111")]
    create_table(clients[0])
    assert [client.list_tables()["TableNames"] for client in clients] == [["orders"], [], []]
    with Sandbox() as another:
        create_table(another.client(region="us-east-2"))
    assert clients[0].list_tables()["TableNames"] == ["orders"]
    assert (
        clients[0]
        .describe_table(TableName="orders")["Table"]["TableArn"]
        .startswith("arn:aws:dynamodb:eu-west-1:000000000000:")
    )


def test_the_engine_leaves_the_programs_logging_alone(sandbox: Sandbox, dynamodb: Any, caplog: Any) -> None:
    assert not any(type(handler) is logging.StreamHandler for handler in logging.getLogger().handlers)
    with caplog.at_level(logging.INFO):
        create_table(dynamodb)
    assert [record for record in caplog.records if record.name in ("dynamodb", "ministack")] == []


def test_a_manual_clock_does_not_run_by_itself_or_backwards() -> None:
    clock = ManualClock(5.0)
    assert clock.now() == clock.now() == 5.0
    clock.advance(1.5)
    assert clock.now() == 6.5
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


def test_a_table_may_be_named_by_its_arn(sandbox: Sandbox, dynamodb: Any) -> None:
    arn = create_table(dynamodb)["TableArn"]
    assert dynamodb.describe_table(TableName=arn)["Table"]["TableName"] == "orders"
    create_index(dynamodb, "by-owner", "owner", table=arn, owner="S")
    assert states(dynamodb.describe_table(TableName="orders")["Table"])[1] == {"by-owner": ("CREATING", False)}


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b""])
def test_a_body_that_is_no_request_is_refused_and_harms_nothing(sandbox: Sandbox, dynamodb: Any, body: bytes) -> None:
    headers = {"X-Amz-Target": "DynamoDB_20120810.PutItem", "Content-Type": "application/x-amz-json-1.0"}
    connection = http.client.HTTPConnection("127.0.0.1", sandbox.port)
    with contextlib.closing(connection):
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        assert answer.status >= 400
        answer.read()
    assert dynamodb.list_tables()["TableNames"] == []


def test_importing_the_sandbox_loads_neither_the_engine_nor_the_server() -> None:
    check = "import migrator.sandbox, sys; print(sorted({'ministack', 'hypercorn'} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
