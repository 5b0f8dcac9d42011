"""The sandbox as a process: started, found, emptied and stopped; stale traces do no harm."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from migrator.errors import MigratorError
from migrator.sandbox import Info, Sandbox, reset, start_detached, status, stop
from migrator.sandbox.detached import state_folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state"
    while stop(folder=tmp_path / "state"):
        pass


def tables(info: Info) -> Any:
    client = boto3.client(
        "dynamodb",
        endpoint_url=info.endpoint_url,
        region_name="eu-west-1",
        aws_access_key_id="000000000000",
        aws_secret_access_key="x",
    )
    try:
        if not client.list_tables()["TableNames"]:
            client.create_table(
                TableName="orders",
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
            return []
        return client.list_tables()["TableNames"]
    finally:
        client.close()


def test_it_starts_answers_is_emptied_and_stops(folder: Path) -> None:
    assert status(folder=folder) is None
    assert stop(folder=folder) is False
    info = start_detached(0, 1.5, folder=folder)
    assert info.index_build == 1.5
    assert status(folder=folder) == status(info.port, folder=folder) == info
    assert tables(info) == []
    assert tables(info) == ["orders"]
    reset(info.endpoint_url)
    assert tables(info) == []
    with pytest.raises(MigratorError) as caught:
        start_detached(info.port, folder=folder)
    assert caught.value.code == "sandbox-running"
    assert str(info.pid) in caught.value.message
    assert stop(folder=folder) is True
    assert status(folder=folder) is status(info.port) is None
    assert list(folder.glob("*.json")) == []


def test_a_stale_state_file_is_ignored_and_cleared_and_its_pid_left_alone(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder.mkdir()
    stale = folder / f"sandbox-{port}.json"
    stale.write_text(json.dumps({"pid": os.getpid(), "port": port, "index_build": 3.0, "started": "2020"}))
    (folder / "sandbox-1.json").write_text("{not json")
    assert status(folder=folder) is None
    assert stop(folder=folder) is False
    assert not stale.exists()


def test_a_port_that_another_program_holds_is_a_clear_error(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(MigratorError) as caught:
        start_detached(other.getsockname()[1], folder=folder)
    assert caught.value.code == "sandbox-port-in-use"


def test_an_in_process_sandbox_is_not_taken_for_a_detached_one(sandbox: Sandbox) -> None:
    assert status(sandbox.port) is None


def test_a_reset_of_nothing_says_that_nothing_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(MigratorError) as caught:
        reset(f"http://127.0.0.1:{port}")
    assert caught.value.code == "sandbox-not-running"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_it_ends_cleanly_on_a_signal(number: signal.Signals) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-m", "migrator.sandbox", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("DynamoDB sandbox at http://127.0.0.1:")
        process.send_signal(number)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""


def test_the_state_lies_in_a_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert state_folder() == tmp_path / "dynamodb-migrations"
    for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert state_folder() == Path.home() / ".cache" / "dynamodb-migrations"
