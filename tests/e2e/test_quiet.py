"""What only looks changes nothing, and what is done already is not done again: counted at the wire."""

from __future__ import annotations

import json

from tests.e2e.project import Project, tasks

OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'
INDEX = 'AddIndex("ByOwner", partition_key="GSI1PK"),'

LOOKING = (
    "plan --from-base --samples 2",
    "upgrade --from-base --dry-run",
    "check",
    "status",
    "history",
    "current",
    "heads",
    "show head",
    "failed list",
    "lock show",
    "lint",
    "iam",
    "diff",
    "diff --with local",
    "doctor",
    "violations ByOwner",
)


def test_what_only_looks_changes_nothing_before_and_after_there_are_control_records(project: Project) -> None:
    project.put(tasks(5, amount={"S": "five"}))
    project.migration("0001", OWNERS + INDEX)
    with project.changing_nothing():
        _look(project)
    assert project.control_records() == []
    project.ok("upgrade", "--from-base")
    project.migration("0002", 'Backfill(where={"entity": "Task"}, set={"total": "{gone}"}),', down="0001")
    project.ok("upgrade", code=6)
    with project.changing_nothing():
        _look(project)


def test_a_dry_run_on_a_table_that_is_still_to_be_made_makes_nothing(empty: Project) -> None:
    empty.configure()
    empty.migration("0001", 'CreateTable(partition_key="PK", sort_key="SK"),')
    with empty.changing_nothing():
        _look(empty, "plan", "upgrade --dry-run", "status", "check", "lock show")
    assert empty.client.list_tables()["TableNames"] == []


def _look(project: Project, *lines: str) -> None:
    for done in project.run_all(*(lines or LOOKING), json=True):
        assert done.document["state"] != "error", done


def test_a_second_upgrade_writes_nothing_and_takes_no_lock(project: Project) -> None:
    project.put(tasks(20))
    project.migration("0001", OWNERS + INDEX)
    project.ok("upgrade", "--from-base")
    with project.changing_nothing():
        done = project.ok("upgrade", "-o", "json")
    assert done.document["state"] == "up-to-date"


def test_the_same_backfill_in_a_second_revision_writes_no_item(project: Project) -> None:
    project.put(tasks(200))
    project.migration("0001", OWNERS)
    project.ok("upgrade", "--from-base")
    project.migration("0002", OWNERS, down="0001")
    with project.recording() as sent:
        done = project.ok("upgrade", "-o", "json")
    assert [one for one in sent if one.keys] == []
    counts = done.document["outcomes"][0]["counts"]
    assert (counts["written"], counts["unchanged"]) == (0, 200)


def test_a_table_is_not_deleted_by_the_way_back_of_the_revision_that_describes_it(empty: Project) -> None:
    empty.configure()
    empty.migration("0001", 'CreateTable(partition_key="PK", sort_key="SK"),' + OWNERS + INDEX)
    empty.ok("upgrade")
    empty.put(tasks(5))
    empty.run("downgrade", "base", "--drop-adopted")
    assert not empty.sent(lambda one: one.operation == "DeleteTable")
    assert len(empty.items()) == 5


def test_a_plan_that_was_reviewed_is_applied_as_it_is_or_refused(project: Project) -> None:
    project.put(tasks(5))
    project.migration("0001", OWNERS)
    project.ok("plan", "--from-base", "--out", "plan.json")
    assert json.loads((project.folder / "plan.json").read_text())["fingerprint"]
    project.migration("0002", INDEX, down="0001")
    project.refused("plan-moved", "upgrade", "--from-base", "--plan", "plan.json", exit_code=3)
    (project.folder / "migrations" / "0002.py").unlink()
    project.ok("upgrade", "--from-base", "--plan", "plan.json")
    assert all("GSI1PK" in item for item in project.items())
