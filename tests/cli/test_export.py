"""export: a document to paste, from the files alone or from what stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from migrator.core.declared import DeclaredTable
from migrator.core.schema import KeyAttribute, Table
from tests.cli.conftest import Call
from tests.cli.house import FileHouse

CONFIG = """\
default_env = "prod"
default_table = "app"

[tables.app]
name = "{stage}-orders"
managed_by = "terraform"

[tables.audit]
name = "{stage}-audit"

[env.prod]
vars = { stage = "prod" }
"""
FILE = """\
from migrator import AddIndex, CreateTable, SetTimeToLive

revision, down_revision = "1", None
operations = [
    CreateTable(partition_key="PK", sort_key="SK"),
    AddIndex("ByOwner", partition_key="owner"),
    SetTimeToLive("expires"),
]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "migrator.toml").write_text(CONFIG)
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "1.py").write_text(FILE)
    return tmp_path


def test_a_template_can_be_copied_from_the_text(call: Call, folder: Path) -> None:
    said = call("export --format cloudformation", FileHouse())
    template = json.loads(said.out.partition("\n\n")[0])
    properties = template["Resources"]["App"]["Properties"]
    assert properties["TableName"] == "prod-orders"
    assert [index["IndexName"] for index in properties["GlobalSecondaryIndexes"]] == ["ByOwner"]
    assert properties["TimeToLiveSpecification"]["AttributeName"] == "expires"


def test_the_tool_that_owns_the_table_is_meant_where_none_is_named(call: Call, folder: Path) -> None:
    said = call("export -o json", FileHouse())
    assert said.document["format"] == "terraform"
    assert 'resource "aws_dynamodb_table" "app"' in said.document["document"]


def test_nobody_guesses_the_tool(call: Call, folder: Path) -> None:
    (folder / "migrator.toml").write_text(CONFIG.replace('managed_by = "terraform"\n', ""))
    assert call("export", FileHouse()).code == 2


def test_a_file_gets_what_would_be_printed(call: Call, folder: Path) -> None:
    printed = call("export -o json", FileHouse()).document["document"]
    said = call("export --out app.tf -o json", FileHouse())
    assert (folder / "app.tf").read_text() == printed
    assert (said.document["written_to"], said.document["document"]) == ("app.tf", "")
    assert call("export --out nowhere/app.tf", FileHouse()).code == 2


def test_a_table_that_no_file_creates_is_exported_from_what_stands(call: Call, folder: Path) -> None:
    assert call("export --table audit -o json", FileHouse()).document["error"]["code"] == "shape-unknown"
    assert call("export --table nobody -o json", FileHouse()).document["error"]["code"] == "unknown-table"
    live = DeclaredTable("audit", "prod-audit", Table("audit", KeyAttribute("id")), local_indexes=("ByDay",))
    house = FileHouse(declared={"audit": live})
    said = call("export --table audit --live --format terraform -o json", house)
    assert house.asked == ("declared", ("live",), {})
    assert house.read_only == [True]
    assert 'hash_key     = "id"' in said.document["document"]
    assert "ByDay" in said.document["notes"][0]
