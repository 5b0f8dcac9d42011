"""A proxy that the environment names for the way out is not the way to an engine on this machine."""

from __future__ import annotations

import os

import pytest

from migrator.dynamo.client import connect
from migrator.dynamo.credentials import Connection
from migrator.sandbox import Sandbox, open_client

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, NOWHERE)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_runs_reach_the_sandbox_past_the_proxy() -> None:
    with Sandbox() as sandbox, connect(Connection("eu-west-1", sandbox.endpoint_url), os.environ) as clients:
        assert clients.whoami().account == "000000000000"
        assert clients.tables.list_tables()["TableNames"] == []


def test_tests_and_loading_reach_the_sandbox_past_the_proxy() -> None:
    with Sandbox() as sandbox:
        assert sandbox.client().list_tables()["TableNames"] == []
        client = open_client(sandbox.endpoint_url, "eu-west-1")
        assert client.list_tables()["TableNames"] == []
        client.close()


def test_aws_itself_is_reached_through_the_proxy() -> None:
    made_up = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "x"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in made_up.items():
            patch.setenv(name, value)
        with connect(Connection("eu-west-1"), os.environ) as clients:
            assert clients.tables.meta.config.proxies is None


def test_a_profile_that_is_not_there_keeps_nobody_from_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "gone")
    with Sandbox() as sandbox:
        client = open_client(sandbox.endpoint_url, "eu-west-1")
        assert client.list_tables()["TableNames"] == sandbox.client().list_tables()["TableNames"] == []
        client.close()
