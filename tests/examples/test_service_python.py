"""The service in Python through a whole rewrite, under load, by the real tool: its ledger matches the table exactly."""

from __future__ import annotations

import io
import json
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from migrator import wiring
from migrator.control.phases import PhaseRecord
from migrator.runtime import PhaseReader
from migrator.sandbox import Sandbox

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "service-python"
LEASE = 0.5
WAIT = 2.0
"""Seconds: an instance's lease, and what the tool waits for after a change of phase; 60 and 70 in earnest."""
REVISION = "20260201090000"


@pytest.fixture(scope="module")
def service() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLE))
        import service as module

        yield module
    for name in ("service", "devices"):
        sys.modules.pop(name, None)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as one:
        yield one


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[Any]:
    found = boto3.client(
        "dynamodb",
        endpoint_url=sandbox.endpoint_url,
        region_name="eu-west-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(connect_timeout=2, read_timeout=5, max_pool_connections=20),
    )
    yield found
    found.close()


class Tool:
    """`migrator`, command by command."""

    def __init__(self, config: Path):
        self._config = config

    def run(self, command: str, *arguments: Any, **options: Any) -> None:
        project = wiring.open_project(self._config, None, {})
        with wiring.open_runner(project, lambda _event: None) as runner:
            result = getattr(runner, command)(*arguments, **options)
        assert result.exit_code in (0, 9), result


@pytest.fixture
def tool(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setattr(PhaseRecord, "wait_seconds", property(lambda _: WAIT))
    text = (EXAMPLE / "rewrite.toml").read_text()
    text = text.replace("http://127.0.0.1:4566", sandbox.endpoint_url).replace(
        '"migrations"', f'"{EXAMPLE}/migrations"'
    )
    config = tmp_path / "rewrite.toml"
    config.write_text(text)
    return Tool(config)


class Writer(threading.Thread):
    """Writes reports of its own devices, and keeps a ledger of every write that was acknowledged."""

    def __init__(self, log: Any, number: int, stop: threading.Event):
        super().__init__()
        self.log = log
        self.ledger: dict[tuple[str, str], tuple[str, int]] = {}
        self.acknowledged = 0
        self.failures: list[str] = []
        self.number = number
        self.stop_asked = stop
        self._random = random.Random(number)

    def run(self) -> None:
        while not self.stop_asked.is_set():
            try:
                self._step()
                self.acknowledged += 1
                self.stop_asked.wait(0.005)
            except Exception as exc:  # noqa: BLE001 - whatever fails is told by the test
                self.failures.append(f"{type(exc).__name__}: {exc}")
                self.stop_asked.set()

    def _step(self) -> None:
        device, date = f"d{self.number}", f"2026-01-{self._random.randrange(8):02}"
        known = self.ledger.get((device, date))
        if known is None:
            state = self._random.choice(["OK", "WARN"])
            self.log.report(device, date, state)
            self.ledger[device, date] = (state, 0)
            return
        state, count = known
        match self._random.randrange(6):
            case 0:
                self.log.withdraw(device, date, state)
                del self.ledger[device, date]
            case 1 | 2:
                after = "WARN" if state == "OK" else "OK"
                self.log.change(device, date, state, after)
                self.ledger[device, date] = (after, count)
            case 3 | 4:
                self.log.count(device, date, state)
                self.ledger[device, date] = (state, count + 1)
            case _:
                found = self.log.read(device, date, state)
                if found is None or found["count"] != count:
                    raise AssertionError(f"{device} {date} {state} {count}: read {found}")


class Load:
    """Instances of old and of new code, four writers each at the most, and what they were told."""

    def __init__(self, service: Any, client: Any):
        self._service, self._client = service, client
        self._readers: list[PhaseReader] = []
        self._running: list[Writer] = []
        self.ledger: dict[tuple[str, str], tuple[str, int]] = {}
        self.acknowledged = 0
        self.failures: list[str] = []

    def start(self, form: str, *numbers: int) -> None:
        reader = PhaseReader(self._client, table="device-control", revision=REVISION, name=form, lease_seconds=LEASE)
        self._readers.append(reader)
        log = self._service.open_log(self._client, reader, form)
        for number in numbers:
            writer = Writer(log, number, threading.Event())
            writer.ledger = {key: value for key, value in self.ledger.items() if key[0] == f"d{number}"}
            self._running.append(writer)
            writer.start()

    def stop(self, *numbers: int) -> None:
        for writer in [one for one in self._running if not numbers or one.number in numbers]:
            writer.stop_asked.set()
            writer.join(60)
            self._running.remove(writer)
            self.ledger = {key: value for key, value in self.ledger.items() if key[0] != f"d{writer.number}"}
            self.ledger |= writer.ledger
            self.acknowledged += writer.acknowledged
            self.failures += writer.failures

    def close(self) -> None:
        self.stop()
        for reader in self._readers:
            reader.close()

    def stands(self, table: str) -> dict[tuple[str, str], tuple[str, int]]:
        return {
            (item["DeviceID"]["S"], item["Date"]["S"]): (item["State"]["S"], int(item.get("Count", {"N": "0"})["N"]))
            for item in self._client.scan(TableName=table, ConsistentRead=True)["Items"]
        }


@pytest.mark.deep
def test_a_rewrite_under_load_and_back_and_again_loses_nothing_and_fails_no_request(
    service: Any, client: Any, tool: Tool
) -> None:
    tool.run("upgrade", "20260101090000", from_base=True)
    load = Load(service, client)
    try:
        load.start("old", 0, 1)
        tool.run("upgrade")
        # The new code is deployed beside the old one: each is at work in every phase.
        load.start("new", 2, 3)
        tool.run("upgrade", app_ready=True)
        tool.run("cutover", REVISION)
        # On the way back new code leaves first: when it ends nothing says any more what the old form is.
        load.stop(2, 3)
        load.start("old", 2, 3)
        tool.run("rollback", REVISION)
        load.stop()
        assert load.failures == []
        assert load.stands("device-log") == load.ledger
        assert load.stands("device-log-by-state") == {}
        load.start("old", 0, 1)
        tool.run("upgrade")
        load.start("new", 2, 3)
        tool.run("upgrade", app_ready=True)
        tool.run("cutover", REVISION)
        # Old code leaves before contract: it could not find an item whose state it does not know.
        load.stop(0, 1)
        load.start("new", 0, 1)
        tool.run("contract", REVISION, yes=True)
    finally:
        load.close()
    assert load.failures == []
    assert load.stands("device-log-by-state") == load.ledger
    assert load.stands("device-log") == {}
    assert load.acknowledged > 200


def test_the_service_answers_over_http_in_both_forms(service: Any, client: Any, tool: Tool) -> None:
    tool.run("upgrade", "20260101090000", from_base=True)
    tool.run("upgrade")
    with PhaseReader(client, table="device-control", revision=REVISION, lease_seconds=LEASE) as reader:
        for form, device in (("old", "d1"), ("new", "d2")):
            web = service.application(service.open_log(client, reader, form))

            def post(path: str, web: Any = web, **body: Any) -> tuple[str, Any]:
                told: list[str] = []
                data = json.dumps(body).encode()
                environ = {"PATH_INFO": path, "CONTENT_LENGTH": str(len(data)), "wsgi.input": io.BytesIO(data)}
                answer = b"".join(web(environ, lambda status, _headers: told.append(status)))
                return told[0].split()[0], json.loads(answer or b"null")

            report = {"device": device, "date": "2026-01-01"}
            assert post("/report", **report, state="OK") == ("200", None)
            assert post("/report", **report, state="OK")[0] == "409"
            assert post("/count", **report, state="OK")[0] == "200"
            assert post("/change", **report, before="OK", state="WARN")[0] == "200"
            assert post("/change", **report, before="OK", state="WARN")[0] == "409"
            read = {**report, "state": "WARN", "count": 1}
            assert post("/read", **report, state="WARN") == ("200", read)
            assert post("/in-state", device=device, state="WARN") == ("200", [read])
            assert post("/withdraw", **report, state="WARN")[0] == "200"
            assert post("/read", **report, state="WARN") == ("200", None)
            assert post("/nothing")[0] == "404"
