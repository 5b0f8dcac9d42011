"""What commands answer, where the pages say so: end to end on the sandbox."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from migrator.cli.main import COMMANDS
from migrator.sandbox import Sandbox
from tests.docs.console import Desk

ROOT = Path(__file__).parents[2]
TABLE = """
from migrator import Backfill, CreateTable

revision = "1"
down_revision = None
operations = [CreateTable(partition_key="PK", sort_key="SK")]
"""
BACKFILL = """
from migrator import Backfill

revision = "2"
down_revision = "1"
operations = [Backfill(where={"entity": "Task"}, set={"label": "{title}!"})]
"""


@pytest.fixture
def tasks(here: Desk, sandbox: Sandbox) -> Desk:
    """A table with a task, one without a title, and a backfill that has not run."""
    here.write("migrations/1.py", TABLE)
    here.run("migrator upgrade")
    client = sandbox.client(unseen=True)
    for sort, attributes in {"1": {"title": {"S": "Bolts"}}, "2": {}}.items():
        client.put_item(TableName="local-app", Item={**key(sort), "entity": {"S": "Task"}, **attributes})
    here.write("migrations/2.py", BACKFILL)
    return here


def key(sort: str) -> dict[str, Any]:
    return {"PK": {"S": "TENANT"}, "SK": {"S": sort}}


def answer(desk: Desk, line: str) -> dict[str, Any]:
    return json.loads(desk.run(f"{line} -o json"))  # type: ignore[no-any-return]


@pytest.mark.parametrize("given", ['{"SK": {"S": "2"}, "PK": {"S": "TENANT"}}', 'PK="TENANT" SK="2"', None])
def test_a_failed_item_is_skipped_by_its_key_in_either_form_or_with_all_others(tasks: Desk, given: str | None) -> None:
    assert answer(tasks, "migrator upgrade")["exit_code"] == 6
    shown = "" if given is None else f"'{given}'"
    skipped = answer(tasks, f"migrator failed skip 2 {shown} --because 'has no title'")
    assert (skipped["exit_code"], skipped["changed"]) == (0, 1)
    assert answer(tasks, "migrator upgrade")["state"] == "applied"


@pytest.mark.parametrize(
    ("given", "code"), [('{"PK": {"S": "TENANT"}, "SK": {"S": "9"}}', "no-such-item"), ('{"PK": 1}', "bad-key")]
)
def test_skipping_a_key_that_did_not_fail_skips_nothing(tasks: Desk, given: str, code: str) -> None:
    tasks.run("migrator upgrade")
    refused = answer(tasks, f"migrator failed skip 2 '{given}' --because 'has no title'")
    assert refused["error"]["code"] == code
    assert answer(tasks, "migrator failed list")["exit_code"] == 6


def test_after_a_downgrade_the_revision_is_pending_again(tasks: Desk, sandbox: Sandbox) -> None:
    sandbox.client(unseen=True).delete_item(TableName="local-app", Key=key("2"))
    tasks.run("migrator upgrade")
    assert answer(tasks, "migrator status")["state"] == "up-to-date"
    back = answer(tasks, "migrator downgrade -1")
    assert answer(tasks, "migrator status")["state"] == "pending"
    assert answer(tasks, "migrator check")["pending"] == ["2"]
    # Its own items, not those of the upgrade added to them.
    assert back["outcomes"][0]["counts"]["scanned"] == 1


def test_every_command_that_the_program_tells_people_to_type_exists() -> None:
    known = {name.split()[0] for _, name, _ in COMMANDS}
    told = [
        (path.name, command)
        for path in (ROOT / "migrator").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for command in re.findall(r"`migrator ([a-z]+)", node.value)
    ]
    assert len(told) > 50
    assert [one for one in told if one[1] not in known] == []


@pytest.mark.parametrize(
    "path", sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]), ids=lambda path: path.name
)
def test_every_command_that_a_page_names_exists(path: Path) -> None:
    known = {name.split()[0] for _, name, _ in COMMANDS}
    named = re.findall(r"`migrator ([a-z]+)", path.read_text(encoding="utf-8"))
    assert [name for name in named if name not in known] == []
