"""init, revision, merge and the commands that read files, on real files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from migrator.errors import MigratorError
from tests.cli import samples
from tests.cli.conftest import Call
from tests.cli.house import FakeHouse, FileHouse


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def house() -> FileHouse:
    return FileHouse(status=samples.STATUS)


def test_init_begins_a_project_on_the_sandbox_that_the_other_commands_take(
    call: Call, folder: Path, house: FileHouse
) -> None:
    said = call("init -o json", house)
    assert said.code == 0
    assert said.document["created"] == ["migrator.toml", "migrations/README.md"]
    config = tomllib.loads((folder / "migrator.toml").read_text())
    assert config["env"]["local"]["endpoint_url"] == "http://127.0.0.1:4566"
    assert call("heads -o json", house).document["state"] == "empty"


def test_init_a_second_time_changes_nothing_and_prints_what_to_paste(
    call: Call, folder: Path, house: FileHouse
) -> None:
    call("init", house)
    mine = "# mine\n" + (folder / "migrator.toml").read_text()
    (folder / "migrator.toml").write_text(mine)
    (folder / "migrations" / "README.md").write_text("mine")
    said = call("init --table other", house)
    assert said.code == 0
    assert "kept migrator.toml as it is" in said.out
    assert 'name = "other"' in said.out
    assert (folder / "migrator.toml").read_text() == mine
    assert (folder / "migrations" / "README.md").read_text() == "mine"


def test_init_writes_what_it_is_told(call: Call, folder: Path, house: FileHouse) -> None:
    assert call("init -e dev --region eu-central-1 --table {stage}-saas --script-location db", house).code == 0
    config = tomllib.loads((folder / "migrator.toml").read_text())
    assert config["default_env"] == "dev"
    assert config["env"]["dev"] == {"region": "eu-central-1", "vars": {"stage": "dev"}}
    assert config["tables"]["app"]["name"] == "{stage}-saas"
    assert (folder / "db" / "README.md").is_file()


def test_init_keeps_a_section_in_pyproject(call: Call, folder: Path, house: FileHouse) -> None:
    call("init", house)
    section = tomllib.loads((folder / "migrator.toml").read_text())
    del section["env"]["local"]["vars"]
    (folder / "migrator.toml").unlink()
    import tomli_w

    (folder / "pyproject.toml").write_text(tomli_w.dumps({"tool": {"migrator": section}}))
    said = call("init -o json", house)
    assert said.document["kept"] == ["pyproject.toml", "migrations/README.md"]
    assert not (folder / "migrator.toml").exists()


def test_init_for_a_pyproject_without_a_section_says_what_to_paste(call: Call, folder: Path, house: FileHouse) -> None:
    (folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    said = call("init -c pyproject.toml", house)
    assert said.code == 1
    assert "[tool.migrator]" in said.out
    assert said.out.splitlines()[-1] == "next: paste it, then run `migrator init` again"
    assert not (folder / "migrations").exists()


def test_a_broken_configuration_is_not_something_to_paste_into(call: Call, folder: Path, house: FileHouse) -> None:
    (folder / "migrator.toml").write_text("nonsense = [")
    said = call("init", house)
    assert said.code == 2
    assert said.err.startswith("error[bad-config]")


def test_init_drafts_the_first_migration_from_a_live_table(call: Call, folder: Path) -> None:
    house = FileHouse(draft="")
    said = call("init --from-table prod-saas --region eu-west-1 -o json", house)
    assert said.code == 0, said.err
    document = said.document
    (draft,) = (folder / "migrations").glob("*.py")
    assert str(draft.relative_to(folder)) in document["created"]
    assert document["revision"] in draft.read_text()
    assert f"migrator stamp {document['revision']}" in document["next"]
    again = call("init --from-table prod-saas", house)
    assert again.code == 2
    assert again.err.startswith("error[not-empty]")
    assert len(list((folder / "migrations").glob("*.py"))) == 1


def test_a_draft_that_fails_leaves_nothing_so_that_it_may_be_tried_with_other_options(call: Call, folder: Path) -> None:
    class NoSuchTable(FileHouse):
        def draft_from_table(self, project: Any, name: str) -> str:
            raise MigratorError("table-missing", "there is no such table")

    assert call("init --from-table sass --region us-east-1", NoSuchTable()).code == 1
    assert list(folder.iterdir()) == []
    assert call("init --from-table prod-saas --region eu-west-1", FileHouse()).code == 0
    assert 'region = "eu-west-1"' in (folder / "migrator.toml").read_text()


def test_a_draft_that_fails_leaves_what_stood_there(call: Call, folder: Path) -> None:
    class NoCredentials(FileHouse):
        def draft_from_table(self, project: Any, name: str) -> str:
            raise MigratorError("no-credentials", "no credentials were found")

    assert call("init", FileHouse()).code == 0
    before = {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert call("init --from-table prod-saas", NoCredentials()).code == 1
    assert {path: path.read_text() for path in folder.rglob("*") if path.is_file()} == before
    assert call("init --from-table prod-saas", FileHouse()).code == 0


def test_a_revision_builds_on_the_head_and_is_the_new_one(call: Call, folder: Path, house: FileHouse) -> None:
    call("init", house)
    first = call(["revision", "-m", "Tenants, projects", "-o", "json"], house).document["revision"]
    said = call(["revision", "-m", "Assignee keys", "-o", "json"], house)
    second = said.document["revision"]
    assert second > first
    assert said.document["created"] == [f"migrations/{second}_assignee_keys.py"]
    assert call("heads -o json", house).document["revisions"][0]["down_revisions"] == [first]
    listing = call("history -o json", house).document["revisions"]
    assert [line["revision"] for line in listing] == [second, first]
    assert [line["is_head"] for line in listing] == [True, False]


def test_a_revision_without_a_message_is_a_usage_error(call: Call, folder: Path, house: FileHouse) -> None:
    call("init", house)
    said = call("revision", house)
    assert said.code == 2
    assert "--message" in said.err


def two_heads(call: Call, folder: Path, house: FileHouse) -> tuple[str, str, str]:
    """base <- left, base <- right."""
    call("init", house)
    base = call("revision -m base -o json", house).document["revision"]
    left = call("revision -m left -o json", house).document["revision"]
    right = str(int(left) + 1)
    (folder / "migrations" / f"{right}_right.py").write_text(
        f'"""Right."""\n\nrevision = "{right}"\ndown_revision = "{base}"\n\noperations = []\n'
    )
    return base, left, right


def test_with_two_heads_a_revision_asks_which_one(call: Call, folder: Path, house: FileHouse) -> None:
    _, left, right = two_heads(call, folder, house)
    said = call("revision -m more", house)
    assert said.code == 2
    assert "error[multiple-heads]" in said.err
    assert f"migrator merge {left} {right}" in said.err
    document = call(["revision", "-m", "more", "--head", right, "-o", "json"], house).document
    assert document["state"] == "created"
    assert call(f"show {document['revision']} -o json", house).document["revision"]["down_revisions"] == [right]


def test_a_revision_on_something_that_is_no_head_is_refused(call: Call, folder: Path, house: FileHouse) -> None:
    base, _, _ = two_heads(call, folder, house)
    said = call(f"revision -m more --head {base}", house)
    assert said.code == 2
    assert "error[not-a-head]" in said.err


@pytest.mark.parametrize("words", ["", "heads", "LEFT RIGHT"])
def test_merge_joins_the_heads(call: Call, folder: Path, house: FileHouse, words: str) -> None:
    _, left, right = two_heads(call, folder, house)
    said = call(f"heads -o json {''}", house)
    assert said.document["state"] == "several-heads"
    assert said.document["next"] == f"migrator merge {left} {right} -m MESSAGE"
    line = f"merge {words.replace('LEFT', left).replace('RIGHT', right)} -o json"
    merged = call(line, house).document["revision"]
    (head,) = call("heads -o json", house).document["revisions"]
    assert (head["revision"], head["down_revisions"]) == (merged, [left, right])


def test_merge_of_one_head_is_refused(call: Call, folder: Path, house: FileHouse) -> None:
    call("init", house)
    call("revision -m base", house)
    assert call("merge", house).code == 2


def test_show_takes_a_prefix_and_head(call: Call, folder: Path, house: FileHouse) -> None:
    call("init", house)
    revision = call("revision -m base -o json", house).document["revision"]
    for word in (revision, revision[:-2], "head"):
        document = call(f"show {word} -o json", house).document
        assert document["revision"]["revision"] == revision
        assert document["checksum"]
    assert call("show nosuch", house).code == 2


def test_history_and_current_ask_the_environment_only_where_told(call: Call) -> None:
    house = FakeHouse(status=samples.STATUS)
    assert call("history", house).code == 0
    assert house.read_only == []
    listing = call("history --indicate-current -o json", house).document["revisions"]
    assert house.read_only == [True]
    assert [(line["status"], line["is_current"]) for line in listing] == [("started", False), ("applied", True)]
    document = call("current -o json", house).document
    assert [line["revision"] for line in document["revisions"]] == [samples.BASE]
    assert (document["state"], document["next"]) == ("behind", "migrator upgrade")


def test_current_names_a_revision_whose_file_is_missing(call: Call) -> None:
    import dataclasses

    status = dataclasses.replace(samples.STATUS, current=("20250101000000",))
    (line,) = call("current -o json", FakeHouse(status=status)).document["revisions"]
    assert line["revision"] == "20250101000000"
    assert line["path"] == "(no file here)"
