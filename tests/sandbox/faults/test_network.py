"""Server errors, and answers that are late, broken off or lost."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from migrator.sandbox import Sandbox
from tests.sandbox.faults.conftest import error_of, put, stored


@pytest.mark.parametrize(("code", "status"), [("InternalServerError", 500), ("ServiceUnavailable", 503)])
@pytest.mark.parametrize("applied", [False, True])
def test_a_server_error_may_hide_that_the_write_took_effect(
    sandbox: Sandbox, client: Any, code: str, status: int, applied: bool
) -> None:
    with sandbox.fault("error", code=code, applied=applied):
        error = error_of(lambda: put(client, "1"))
    assert (error["Error"]["Code"], error["ResponseMetadata"]["HTTPStatusCode"]) == (code, status)
    assert stored(sandbox) == (["1"] if applied else [])


@pytest.mark.parametrize(("kind", "effect"), [("reset", []), ("lost", ["1"])])
def test_a_broken_connection_lost_the_request_or_its_answer(
    sandbox: Sandbox, client: Any, kind: str, effect: list[str]
) -> None:
    with sandbox.fault(kind), pytest.raises(ConnectionClosedError):
        put(client, "1")
    assert stored(sandbox) == effect


@pytest.mark.parametrize("applied", [False, True])
def test_no_answer_comes_in_time(sandbox: Sandbox, client: Any, applied: bool) -> None:
    hasty = sandbox.client(read_timeout=0.05)
    with sandbox.fault("timeout", within="300ms", applied=applied), pytest.raises(ReadTimeoutError):
        put(hasty, "1")
    assert stored(sandbox) == (["1"] if applied else [])


def test_an_answer_is_late_by_what_was_asked(sandbox: Sandbox, client: Any) -> None:
    with sandbox.fault("latency", delay="100ms"):
        began = time.monotonic()
        put(client, "1")
        assert time.monotonic() - began >= 0.1
    with sandbox.fault("latency", delay=0.01, up_to=0.05, seed=4):
        began = time.monotonic()
        put(client, "2")
        assert time.monotonic() - began >= 0.01
    assert stored(sandbox) == ["1", "2"]


def test_a_request_that_hangs_is_let_go_when_its_fault_is_taken_away(sandbox: Sandbox, client: Any) -> None:
    fault = sandbox.faults.add("timeout", within="1h")
    hasty = sandbox.client(read_timeout=0.05)
    with pytest.raises(ReadTimeoutError):
        put(hasty, "1")
    with ThreadPoolExecutor() as pool:
        hanging = pool.submit(put, client, "1")
        while sandbox.faults.list()[0].struck < 2:
            time.sleep(0.01)
        sandbox.faults.clear(fault.id)
        assert isinstance(hanging.exception(timeout=10), ConnectionClosedError)
    assert stored(sandbox) == []
