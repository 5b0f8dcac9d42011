"""Every migration up, down and up again: what comes back wrong is named, what has no way back too."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrator.testing import MigratedTable, SandboxProject, assert_reversible
from tests.testing.kit.conftest import Written, write_project

TABLE = 'CreateTable(partition_key="PK", sort_key="SK")'
ITEM = {"PK": "a", "SK": "1", "name": "Ada", "age": 36}


def test_a_chain_goes_up_down_and_up_again_and_ends_at_the_head(written: Written) -> None:
    project = written(
        r1=TABLE,
        r2='Backfill(set={"GSI1PK": "NAME#{name}"})',
        r3='AddIndex("ByName", partition_key="GSI1PK")',
    )
    found = assert_reversible(project, seeds={"r1": [ITEM]})
    assert [one.revision for one in found.revisions] == ["r1", "r2", "r3"]
    assert found.irreversible == {}
    assert project.status().state == "up-to-date"
    assert MigratedTable(project).items("ByName") == [{**ITEM, "GSI1PK": "NAME#Ada"}]


def test_a_revision_without_a_way_back_is_named_with_its_reason_and_the_walk_goes_on(written: Written) -> None:
    project = written(
        r1=TABLE,
        r2='Backfill(set={"name": "nobody"}, undo="none")',
        r3='AddIndex("ByName", partition_key="name")',
    )
    found = assert_reversible(project, seeds={"r1": [ITEM]})
    assert list(found.irreversible) == ["r2"]
    assert "2 of 3 revisions went up, down and up again" in str(found)
    assert 'not taken back: r2: undo="none"' in str(found)


WRONG_UNDO = """
def forward(table):
    for item in list(table.scan()):
        if "name" in item:
            table.update({"PK": item["PK"], "SK": item["SK"]}, expected={"name": item["name"]},
                         set={"title": item["name"]}, remove=("name",))

def back(table):
    for item in list(table.scan()):
        if "title" in item:
            table.update({"PK": item["PK"], "SK": item["SK"]}, expected={"title": item["title"]},
                         set={"name": item["title"].lower()}, remove=("title",))

operations = [RunPython(forward, undo=back)]
"""


def test_an_item_that_does_not_come_back_as_it_was_is_named_with_both_values(written: Written) -> None:
    project = written(r1=TABLE, r2=WRONG_UNDO)
    with pytest.raises(AssertionError) as failed:
        assert_reversible(project, seeds={"r1": [ITEM]})
    said = str(failed.value)
    assert "after revision r2 was taken back" in said
    assert 'item PK="a" SK="1": name is "ada", and was "Ada"' in said


def test_without_a_seed_a_wrong_undo_goes_unnoticed_so_seeds_matter(written: Written) -> None:
    assert assert_reversible(written(r1=TABLE, r2=WRONG_UNDO)).irreversible == {}


def test_a_way_back_that_depends_on_the_items_fails_with_what_the_runner_says(written: Written) -> None:
    project = written(r1=TABLE, r2='Backfill(set={"GSI1PK": "NAME#{name}"})')
    with pytest.raises(AssertionError) as failed:
        assert_reversible(project, seeds={"r1": [ITEM, {**ITEM, "SK": "2", "GSI1PK": "other"}]})
    assert "downgrade of r2" in str(failed.value)
    assert "not-undoable" in str(failed.value)
    assert "undo='journal'" in str(failed.value)


def test_a_gated_revision_is_taken_back_from_its_gate_and_completed_before_the_next(written: Written) -> None:
    project = written(r1=TABLE, r2='RenameAttribute("name", "title")', r3='Backfill(set={"K": "{title}"})')
    found = assert_reversible(project, seeds={"r1": [ITEM]})
    assert found.irreversible == {}
    assert MigratedTable(project).items() == [{"PK": "a", "SK": "1", "title": "Ada", "age": 36, "K": "Ada"}]


def test_branches_and_their_merge_are_each_walked_with_their_ancestors_alone(written: Written, tmp_path: Path) -> None:
    def revision(name: str, down: object, operation: str) -> None:
        (tmp_path / "migrations" / f"{name}.py").write_text(
            f'"""{name}."""\nfrom migrator import *\nrevision, down_revision = {name!r}, {down!r}\n'
            f"operations = [{operation}]\n"
        )

    write_project(tmp_path, r1=TABLE)
    revision("r2a", "r1", 'AddIndex("ByName", partition_key="name")')
    revision("r2b", "r1", 'Backfill(set={"b": "{name}"})')
    revision("r3", ("r2a", "r2b"), 'Backfill(set={"c": "{b}"})')
    found = assert_reversible(written(), seeds={"r1": [ITEM]})
    assert [one.revision for one in found.revisions] == ["r1", "r2a", "r2b", "r3"]


def test_a_table_that_somebody_else_creates_is_made_by_the_base(written: Written) -> None:
    def base(project: SandboxProject) -> None:
        keys = {"PK": "HASH", "SK": "RANGE"}
        project.client.create_table(
            TableName=project.table_name(),
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
            BillingMode="PAY_PER_REQUEST",
        )

    project = written(base, r1='AddIndex("ByName", partition_key="name")')
    found = assert_reversible(project, seeds={"base": [ITEM]})
    assert [one.revision for one in found.revisions] == ["r1"]
    assert MigratedTable(project).items("ByName") == [ITEM]
