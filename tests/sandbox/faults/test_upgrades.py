"""An upgrade comes out of every fault as it does without one: no item lost, none changed twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from migrator import wiring
from migrator.runner.results import RunResult
from migrator.sandbox import Sandbox

TABLE = "rehearsed"
ITEMS = 150
SPEED = 40.0
"""The tool's clock runs so much faster than the sandbox's, so that its waits are short."""
FILE = '''"""A name for an index, a mark that must not be set twice, and the index."""
from migrator import AddIndex, Backfill
revision, down_revision = "20260101000000", None
operations = [
    Backfill(where={"kind": "task"}, set={"GSI1PK": "OWNER#{owner}"}),
    Backfill(where={"kind": "note"}, set={"text": "{text}!"}, once=True),
    AddIndex("ByOwner", partition_key="GSI1PK"),
]
'''
WRITES = ["UpdateItem", "PutItem", "TransactWriteItems"]
_accounts = count(810_000_000_001)


class HastyClock(wiring.SystemClock):
    def monotonic(self) -> float:
        return super().monotonic() * SPEED

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / SPEED)


class Rehearsal:
    """A project on an account of its own, whose table has ITEMS items, one in ten of them a note."""

    def __init__(self, sandbox: Sandbox, folder: Path, account: str) -> None:
        self.sandbox = sandbox
        self.config = folder / "migrator.toml"
        self.client = sandbox.client(account=account, unseen=True)
        (folder / "migrations").mkdir()
        (folder / "migrations" / "1.py").write_text(FILE)
        settings = {"poll_interval": "1s", "lease": "1h", "max_failures": 5}
        limits = ", ".join(f"{name} = {json.dumps(value)}" for name, value in settings.items())
        self.config.write_text(
            f'default_env = "local"\ndefault_table = "app"\ntables.app.name = "{TABLE}"\n[env.local]\n'
            f'endpoint_url = "{sandbox.endpoint_url}"\nregion = "eu-west-1"\nlimits = {{ {limits} }}\n'
        )
        keys = [("PK", "HASH"), ("SK", "RANGE")]
        self.client.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
            BillingMode="PAY_PER_REQUEST",
        )
        for n in range(0, ITEMS, 25):
            puts = [{"PutRequest": {"Item": item(number)}} for number in range(n, n + 25)]
            self.client.batch_write_item(RequestItems={TABLE: puts})

    def upgrade(self) -> RunResult:
        with wiring.open_runner(wiring.open_project(self.config, None, {}), lambda _event: None) as runner:
            return runner.upgrade(from_base=True)

    def items(self) -> dict[tuple[str, str], Any]:
        """The application's items by key."""
        found: dict[tuple[str, str], Any] = {}
        for page in self.client.get_paginator("scan").paginate(TableName=TABLE):
            for one in page["Items"]:
                if one["PK"]["S"].startswith("TENANT#"):
                    found[one["PK"]["S"], one["SK"]["S"]] = {name: value["S"] for name, value in one.items()}
        return found


def item(number: int) -> dict[str, Any]:
    kind = "task" if number % 10 else "note"
    names = {
        "PK": f"TENANT#{number % 17}",
        "SK": f"{kind}#{number:04}",
        "kind": kind,
        "owner": f"u{number % 5}",
        "text": f"t{number}",
    }
    return {name: {"S": value} for name, value in names.items()}


def migrated() -> dict[tuple[str, str], Any]:
    found = {}
    for number in range(ITEMS):
        one = {name: value["S"] for name, value in item(number).items()}
        more = {"GSI1PK": f"OWNER#{one['owner']}"} if one["kind"] == "task" else {"text": f"{one['text']}!"}
        found[one["PK"], one["SK"]] = {**one, **more}
    return found


@pytest.fixture
def rehearsal(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rehearsal]:
    account = str(next(_accounts))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sandbox")
    monkeypatch.setattr(wiring, "SystemClock", HastyClock)
    yield Rehearsal(sandbox, tmp_path, account)
    sandbox.faults.clear()


def assert_migrated(rehearsal: Rehearsal, result: RunResult) -> None:
    assert (result.state, result.exit_code) == ("applied", 0)
    assert rehearsal.items() == migrated()
    (outcome,) = result.outcomes
    # A run that goes on finds items of its interrupted page written already.
    assert (outcome.counts.written + outcome.counts.unchanged, outcome.counts.failed) == (ITEMS, 0)


PASSING: dict[str, dict[str, Any]] = {
    "nothing": {},
    "throttled-writes": {"kind": "throttle", "operation": WRITES, "probability": 0.4},
    "throttled-reads": {"kind": "throttle", "operation": ["Scan", "GetItem", "Query"], "probability": 0.4},
    "a-slow-table": {"kind": "capacity", "table_write": 200, "burst": "10ms"},
    "lost-answers": {"kind": "lost", "operation": WRITES, "probability": 0.1},
    "conflicts": {"kind": "conflict", "probability": 0.2},
    "server-errors": {"kind": "error", "operation": [*WRITES, "Scan", "GetItem"], "probability": 0.1},
    "server-errors-of-done-writes": {"kind": "error", "operation": WRITES, "probability": 0.1, "applied": True},
    "unavailable": {"kind": "error", "code": "ServiceUnavailable", "probability": 0.1},
    "resets": {"kind": "reset", "probability": 0.1},
    "latency": {"kind": "latency", "delay": 0, "up_to": "20ms"},
    "old-descriptions": {"kind": "stale-describe", "behind": "300ms"},
    "old-counts": {"kind": "stale-item-count"},
    "an-outage-of-a-partition": {"kind": "error", "operation": "UpdateItem", "key": {"PK": "TENANT#3"}, "times": 120},
}


LONG = {"throttled-reads", "unavailable", "latency", "old-counts", "old-descriptions", "server-errors-of-done-writes"}
"""Left to the long proofs: what they meet, a quicker one meets too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] if name in LONG else []) for name in PASSING]
)
def test_what_passes_is_outlived(rehearsal: Rehearsal, name: str) -> None:
    if PASSING[name]:
        rehearsal.sandbox.faults.add(**PASSING[name])
    result = rehearsal.upgrade()
    struck = [fault.struck for fault in rehearsal.sandbox.faults.list()]
    assert all(struck)
    assert_migrated(rehearsal, result)


FATAL = {
    "credentials-expired": {"kind": "expired-token", "operation": "UpdateItem", "nth": 60},
    "access-denied": {"kind": "access-denied", "operation": "UpdateItem"},
}
NEXT = {
    "credentials-expired": "log in again and run the same command",
    "access-denied": "allow dynamodb:UpdateItem on arn:aws:dynamodb:",
}


@pytest.mark.parametrize("code", FATAL)
def test_what_does_not_pass_stops_the_run_which_goes_on_when_it_is_mended(rehearsal: Rehearsal, code: str) -> None:
    rehearsal.sandbox.faults.add(**FATAL[code])
    stopped = rehearsal.upgrade()
    assert (stopped.state, stopped.exit_code) == ("failed", 1)
    assert f"[{code}]" in stopped.outcomes[0].error
    assert NEXT[code] in stopped.next
    rehearsal.sandbox.faults.clear()
    assert_migrated(rehearsal, rehearsal.upgrade())
