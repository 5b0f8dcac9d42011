"""What a newcomer types, in order, in an empty folder."""

from __future__ import annotations

import re

from tests.e2e.project import Project

CREATE = 'CreateTable(partition_key="PK", sort_key="SK"),'
INDEX = 'AddIndex("ByOwner", partition_key="ownerId", sort_key="SK", projection=["title"]),'


def test_from_an_empty_folder_to_a_table_an_index_and_back(empty: Project) -> None:
    done = empty.ok("init", "--endpoint-url", empty.sandbox.endpoint_url, "--region", "eu-west-1")
    assert (empty.folder / "migrator.toml").exists()
    assert done.last_line.startswith("next: migrator revision")

    first = _edited(empty, "make the table", CREATE)
    done = empty.ok("plan")
    assert "make the table" in done.out
    assert empty.client.list_tables()["TableNames"] == []
    empty.ok("upgrade")
    assert empty.client.list_tables()["TableNames"] == ["local-app"]

    second = _edited(empty, "who owns what", INDEX)
    assert first < second
    assert empty.ok("status", "-o", "json").document["state"] == "pending"
    empty.put(
        [
            {"PK": {"S": "A"}, "SK": {"S": "1"}, "ownerId": {"S": "o-1"}, "title": {"S": "first"}},
            {"PK": {"S": "A"}, "SK": {"S": "2"}, "title": {"S": "nobody's"}},
        ]
    )
    empty.ok("upgrade")
    assert [item["SK"]["S"] for item in empty.items(index="ByOwner")] == ["1"]
    status = empty.ok("status", "-o", "json").document
    assert (status["state"], status["current"]) == ("up-to-date", [second])

    empty.ok("downgrade", "-1")
    assert empty.index("ByOwner") is None
    assert empty.ok("status", "-o", "json").document["current"] == [first]
    assert len(empty.items()) == 2

    empty.ok("upgrade")
    assert empty.ok("check").code == 0
    assert [item["SK"]["S"] for item in empty.items(index="ByOwner")] == ["1"]


def test_init_keeps_the_files_that_stand_there(empty: Project) -> None:
    empty.ok("init")
    path = empty.folder / "migrator.toml"
    path.write_text(path.read_text() + "\n# mine\n")
    readme = empty.folder / "migrations" / "README.md"
    readme.write_text("mine")
    before = path.read_text()
    empty.ok("init")
    assert path.read_text() == before
    assert readme.read_text() == "mine"


def test_every_command_says_what_it_is_for(empty: Project) -> None:
    overview = empty.ok("--help").out
    for name in ("init", "revision", "plan", "upgrade", "status", "check", "downgrade", "failed", "lock"):
        assert name in overview


def _edited(project: Project, message: str, operations: str) -> str:
    """Begin a revision and write its operations into the file, as a person would; its id."""
    before = set((project.folder / "migrations").glob("*.py"))
    project.ok("revision", "-m", message)
    (path,) = set((project.folder / "migrations").glob("*.py")) - before
    text = path.read_text()
    path.write_text(text.replace("operations = []", f"from migrator import *\n\noperations = [{operations}]"))
    found = re.search(r'^revision = "(\d+)"', text, re.MULTILINE)
    assert found is not None
    return found[1]
