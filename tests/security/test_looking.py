"""Every command that only looks sends no request that changes anything, whatever state the environment is in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from migrator.cli.main import COMMANDS
from migrator.sandbox import Sandbox
from tests.docs.console import Desk, desk
from tests.e2e.wire import READS

LOOKING: dict[str, tuple[str, ...]] = {
    "plan": ("plan --from-base --samples 2", "plan --from-base --samples 0 --out plan.json", "plan --full"),
    "status": ("status",),
    "check": ("check",),
    "history": ("history --indicate-current",),
    "current": ("current",),
    "heads": ("heads",),
    "show": ("show head",),
    "lint": ("lint --strict",),
    "violations": ("violations ByOwner", "violations ByAmount --out all.csv"),
    "patterns check": ("patterns check", "patterns check --examples"),
    "patterns init": ("patterns init model.json --out drafted.toml",),
    "iam": ("iam", "iam contract", "iam 'patterns check --examples'", "iam --files-only"),
    "failed list": ("failed list",),
    "lock show": ("lock show --observe 0", "lock show"),
    "diff": ("diff", "diff --all-files"),
    "export": ("export --format terraform", "export --format cloudformation --live"),
    "doctor": ("doctor",),
    "mirror status": ("mirror status",),
    "init": ("init --from-table local-app --script-location drafted",),
    "revision": ("revision -m another",),
    "merge": ("merge 0001 0002 -m both",),
}
"""Command -> lines of it. Whatever it asks of AWS must be a read; not every line finds something in every state."""
ALSO_LOOKING = ("upgrade --from-base --dry-run",)
CHANGING = frozenset(
    {
        "upgrade", "stamp", "downgrade", "repair", "contract", "rollback", "failed retry", "failed skip",
        "lock release",
        "pause", "resume", "throttle", "cancel",
        # Of key rewrites: `verify` holds the lock and records what it found, which `cutover` then asks for.
        "cutover", "verify", "mirror run",
    }
)  # fmt: skip
NEVER_REFUSED = ("plan --from-base --samples 2", "status", "check", "patterns check --examples", "iam", "lock show")

CONFIG = """
default_env = "local"
default_table = "app"
[tables.app]
name = "local-app"
[env.local]
endpoint_url = "http://127.0.0.1:4566"
region = "eu-west-1"
limits = { settle_time = 0, poll_interval = "50ms" }
"""
PATTERNS = """
[[pattern]]
name = "task"
key = { PK = "T", SK = "1" }
[[pattern.example]]
[[pattern]]
name = "by owner"
index = "ByOwner"
key = { GSI1PK = "OWNER#ada" }
[[pattern.example]]
"""
FILE = "from migrator import *\nrevision = {!r}\ndown_revision = {!r}\noperations = [{}]\n"


def test_every_command_is_known_to_look_or_to_change() -> None:
    names = {name for panel, name, _ in COMMANDS if panel != "Sandbox"}
    assert names <= set(LOOKING) | CHANGING, "say in this file whether the new command changes anything"
    assert not CHANGING & set(LOOKING)


@pytest.fixture
def site() -> Iterator[tuple[Desk, Sandbox]]:
    """A project on a table with an item that no index of numbers takes; nothing is applied."""
    with Sandbox(index_build=0.1) as sandbox, desk(sandbox) as here:
        here.write("migrator.toml", CONFIG)
        here.write("access_patterns.toml", PATTERNS)
        here.write("model.json", '{"DataModel": []}')
        client = sandbox.client(unseen=True)
        client.create_table(
            TableName="local-app",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
            BillingMode="PAY_PER_REQUEST",
        )
        item = {"PK": "T", "SK": "1", "owner": "ada", "amount": "five"}
        client.put_item(TableName="local-app", Item={name: {"S": text} for name, text in item.items()})
        yield here, sandbox


def look(here: Desk, sandbox: Sandbox) -> dict[str, Any]:
    """Every line, and its document."""
    names = {name for _, name, _ in COMMANDS}
    found = {}
    for line in (*(line for name, lines in LOOKING.items() if name in names for line in lines), *ALSO_LOOKING):
        standing = set((here.folder / "migrations").glob("*.py"))
        sandbox.requests.clear()
        found[line] = json.loads(here.run(f"migrator {line} -o json"))
        assert [one.operation for one in sandbox.requests if one.operation not in READS] == [], line
        for drafted in set((here.folder / "migrations").glob("*.py")) - standing:
            drafted.unlink()
    for line in NEVER_REFUSED:
        assert found[line]["state"] != "error", found[line]
    return found


def test_before_anything_is_applied_looking_changes_nothing(site: tuple[Desk, Sandbox]) -> None:
    here, sandbox = site
    here.write("migrations/1.py", FILE.format("0001", None, OWNERS + INDEX))
    found = look(here, sandbox)
    assert found["plan --from-base --samples 2"]["revisions"][0]["serves"] == ["by owner"]


def test_with_failed_items_and_an_index_that_drifted_away_looking_changes_nothing(
    site: tuple[Desk, Sandbox],
) -> None:
    here, sandbox = site
    client = sandbox.client(unseen=True)
    here.write("migrations/1.py", FILE.format("0001", None, OWNERS + INDEX))
    here.run("migrator upgrade --from-base")
    here.write("migrations/2.py", FILE.format("0002", "0001", 'Backfill(set={"total": "{gone}"})'))
    here.run("migrator upgrade")
    here.write("migrations/3.py", FILE.format("0003", "0002", 'AddIndex("ByAmount", partition_key=N("amount"))'))
    assert here.codes[-2:] == [0, 6], here.log
    client.update_table(TableName="local-app", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "ByOwner"}}])
    while client.describe_table(TableName="local-app")["Table"].get("GlobalSecondaryIndexes"):
        pass
    found = look(here, sandbox)
    assert found["failed list"]["items"]
    assert found["violations ByAmount --out all.csv"]["violating"] == 1
    assert found["check"]["state"] == "findings"
    assert [one["state"] for line in found["patterns check --examples"]["patterns"] for one in line["asked"]] == [
        "right",
        "not-served",
    ]


OWNERS = 'Backfill(where={"SK": "1"}, set={"GSI1PK": "OWNER#{owner}"}),'
INDEX = 'AddIndex("ByOwner", partition_key="GSI1PK"),'
