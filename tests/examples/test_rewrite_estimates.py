"""A plan of a key rewrite, held against what the sandbox then says that its four commands consumed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from migrator.sandbox import Sandbox
from tests.docs.console import desk
from tests.examples.meter import Meter

ITEMS = 300
WITHIN = 0.05
CONFIG = """
script_location = "migrations"
default_env = "local"
default_table = "app"

[tables.app]
name = "app"

[tables.moved]
name = "moved"

[control]
name = "control"

[env.local]
endpoint_url = "ENDPOINT"
region = "eu-west-1"
limits = { poll_interval = "50ms", settle_time = "100ms", reader_lease = "100ms", attempt_time = "50ms", segments = 1 }
"""
TABLES = """
from migrator import AddIndex, CreateTable

revision, down_revision = "20261101090000", None

operations = [
    CreateTable(partition_key="PK", sort_key="SK"),
    CreateTable("moved", partition_key="PK", sort_key="SK"),
    AddIndex("ByState", partition_key="state", sort_key="SK", projection=["title"]),
    AddIndex("ByState", table="moved", partition_key="state", sort_key="SK", projection=["title"]),
]
"""
REWRITE = """
from migrator import RewriteKeys

revision, down_revision = "20261102090000", "20261101090000"

operations = [
    RewriteKeys(
        where={"entity": "Task"},
        key={"SK": "TASK#{taskId}"},
        old={"SK": "TASK#{createdAt}#{taskId}"},
        application="stopped",
        OPTIONS
    )
]
"""
ENTRY = {"PK": "PK", "SK": "SK"}


def item(number: int) -> dict[str, Any]:
    """Every third is no task; some are of several kilobytes."""
    day = f"2026-11-{1 + number % 28:02}"
    found = {
        "PK": {"S": f"TENANT#{number % 40}"},
        "SK": {"S": f"TASK#{day}#{number}"},
        "entity": {"S": "Task" if number % 3 else "Note"},
        "taskId": {"S": str(number)},
        "createdAt": {"S": day},
        "title": {"S": f"title of {number}"},
        "text": {"S": "x" * (number * 37 % 5000)},
    }
    return found | ({"state": {"S": "open" if number % 2 else "done"}} if number % 5 else {})


@pytest.mark.parametrize("options", ['readers="runtime",', 'to="moved",'], ids=["within-one-table", "into-another"])
def test_a_plan_of_a_rewrite_says_what_its_commands_then_consume_within_five_per_cent(options: str) -> None:
    meter = Meter()
    with Sandbox(index_build=0.0, faults=[meter]) as sandbox, desk(sandbox) as here:
        here.write("migrator.toml", CONFIG.replace("ENDPOINT", sandbox.endpoint_url))
        here.write("migrations/20261101090000_tables.py", TABLES)
        here.run("migrator upgrade")
        here.write("migrations/20261102090000_rewrite.py", REWRITE.replace("OPTIONS", options))
        client = sandbox.client(unseen=True)
        for first in range(0, ITEMS, 25):
            some = range(first, min(first + 25, ITEMS))
            client.batch_write_item(RequestItems={"app": [{"PutRequest": {"Item": item(number)}} for number in some]})
        plan = json.loads(here.run("migrator plan --full -o json"))
        meter.clear()
        for command in ("upgrade", "upgrade --app-ready", "cutover", "contract --yes"):
            here.run(f"migrator {command}")
        assert set(here.codes) == {0, 9}, here.log
        assert not meter.others
    for way, consumed in (("reads", meter.reads), ("writes", meter.writes)):
        told = {part["resource"]: part["units"]["value"] for part in plan["estimate"][way]}
        real = {name: units for name, units in consumed.items() if name != "control" and units}
        assert told.keys() == real.keys()
        for name, units in real.items():
            assert told[name] == pytest.approx(units, rel=WITHIN, abs=3), (way, name)
    own = plan["estimate"]["bookkeeping"]
    # What this tool keeps for itself does not grow with the table, and is told within a tenth.
    assert own["writes"]["value"] == pytest.approx(meter.writes["control"], rel=0.1)
    assert own["reads"]["value"] == pytest.approx(meter.reads["control"], rel=0.1)
