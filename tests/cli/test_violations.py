"""violations: where the list goes, where the result goes, and what is drafted."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migrator.errors import MigratorError
from tests.cli import samples
from tests.cli.conftest import Call
from tests.cli.house import FakeHouse, FakeRunner, FileHouse

FOUND = replace(samples.VIOLATIONS, is_pending=False, revision="")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listing(runner: FakeRunner) -> Any:
    """Gives each violator of the sample to whoever listens, and prints as a migration's module may."""
    _, (_, _, take), _ = runner.asked[-1]
    print("a module of a migration prints")
    for violator in FOUND.violators:
        take(violator)
    return FOUND


def interrupted(runner: FakeRunner) -> Any:
    listing(runner)
    raise MigratorError("throttled", "enough")


def test_csv_goes_to_stdout_as_it_is_found_and_the_summary_to_stderr(call: Call) -> None:
    said = call("violations ByAssignee --format csv", violations=listing)
    assert said.code == 3
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert [(json.loads(row["key"])["SK"]["S"], row["attribute"], row["code"]) for row in rows] == [
        ("TASK#2026-11-02#9f31", "GSI2SK", "index-key-type"),
        ("TASK#2026-11-02#a07c", "GSI2PK", "index-key-null"),
        ("TASK#2026-11-02#a07c", "GSI2SK", "index-key-type"),
        ("TASK#2026-11-03#11d2", "GSI2SK", "index-key-size"),
    ]
    assert rows[0]["reason"] == "type N where the index wants S"
    assert "violators: ByAssignee of prod-saas" in said.err
    assert said.err.splitlines()[-1].startswith("next: ")


def test_json_lines_are_one_item_each(call: Call) -> None:
    said = call("violations ByAssignee --format jsonl", violations=listing)
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [len(line["problems"]) for line in lines] == [1, 2, 1]
    assert lines[0]["key"] == samples.KEY


@pytest.mark.parametrize("line", ["--out all.csv", "--out all.CSV", "--format csv --out all"])
def test_a_file_holds_the_list_and_stdout_the_result(call: Call, folder: Path, line: str) -> None:
    said = call(f"violations ByAssignee {line} -o json", violations=listing)
    assert said.document["listed_in"] == line.split()[-1]
    assert len((folder / line.split()[-1]).read_text().splitlines()) == 1 + 4
    assert [path.name for path in folder.iterdir()] == [line.split()[-1]]


def test_a_list_that_is_not_whole_is_not_left_behind(call: Call, folder: Path) -> None:
    (folder / "all.csv").write_text("of an earlier run")
    said = call("violations ByAssignee --out all.csv", violations=interrupted)
    assert said.code == 1
    assert (folder / "all.csv").read_text() == "of an earlier run"
    assert [path.name for path in folder.iterdir()] == ["all.csv"]


def test_a_document_and_a_list_do_not_share_stdout(call: Call) -> None:
    said = call("violations ByAssignee --format csv -o json", violations=listing)
    assert said.code == 2
    assert "--out violators.csv" in said.document["error"]["hint"]


def test_the_text_says_how_many_are_not_shown(call: Call) -> None:
    said = call("violations ByAssignee", violations=samples.MANY_VIOLATIONS)
    assert "and 1,203 more: --out violators.csv lists them" in said.out


# --- the draft --------------------------------------------------------------------------------------------------------


@pytest.fixture
def builder(call: Call, folder: Path) -> str:
    """A migration that builds the index, on top of another one."""
    call("init", FileHouse())
    call(["revision", "-m", "First"], FileHouse())
    return str(call(["revision", "-m", "Build it", "-o", "json"], FileHouse()).document["revision"])


def drafted(call: Call, **answers: Any) -> dict[str, Any]:
    words = ["violations", "ByAssignee", "--generate", "Mend keys", "-o", "json"]
    return call(words, FileHouse(**answers)).document


def test_the_repair_goes_before_the_revision_that_builds_the_index(call: Call, folder: Path, builder: str) -> None:
    found = drafted(call, violations=replace(FOUND, revision=builder, is_pending=True))
    parent = next(line for line in (folder / found["generated"]).read_text().splitlines() if "down_revision" in line)
    (path,) = (folder / "migrations").glob("*build_it.py")
    assert parent in path.read_text()
    assert found["exit_code"] == 3
    assert f"in migrations/{path.name}" in found["next"]


def test_the_repair_of_a_live_index_goes_on_the_head(call: Call, folder: Path, builder: str) -> None:
    found = drafted(call, violations=FOUND)
    assert f'down_revision = "{builder}"' in (folder / found["generated"]).read_text()
    assert "Backfill(transform=repair_byassignee)" in (folder / found["generated"]).read_text()


def test_a_table_that_is_not_the_default_one_is_named(call: Call, folder: Path, builder: str) -> None:
    found = drafted(call, violations=replace(FOUND, alias="log"))
    assert 'table="log"' in (folder / found["generated"]).read_text()


@pytest.mark.parametrize(
    "found", [replace(FOUND, violating=0, exit_code=0), replace(FOUND, table_key=("GSI2PK", "GSI2SK"))]
)
def test_nothing_is_drafted_where_nothing_can_be_repaired(call: Call, folder: Path, builder: str, found: Any) -> None:
    before = sorted(folder.rglob("*.py"))
    assert drafted(call, violations=found)["generated"] == ""
    assert sorted(folder.rglob("*.py")) == before


def test_two_heads_are_refused_before_the_table_is_read(call: Call, folder: Path, builder: str) -> None:
    (folder / "migrations" / "other.py").write_text("revision = 'x'\ndown_revision = None\noperations = []\n")
    house = FileHouse(violations=FOUND)
    said = call(["violations", "ByAssignee", "--generate", "Mend keys"], house)
    assert said.code == 2
    assert "multiple-heads" in said.err
    assert house.runner is None


def test_an_empty_message_is_refused_before_the_table_is_read(call: Call) -> None:
    house = FakeHouse(violations=FOUND)
    assert call(["violations", "ByAssignee", "--generate", " "], house).code == 2
    assert house.runner is None
