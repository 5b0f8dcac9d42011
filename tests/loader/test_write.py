"""New migration files: ids, names, and a text that loads and that formatters leave alone."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.errors import UsageError
from migrator.loader import load, new_revision_id, slug_of, write_merge, write_revision

NOW = datetime(2026, 11, 30, 17, 22, 4, tzinfo=UTC)


def refused(code: str):
    return pytest.raises(UsageError, check=lambda error: error.code == code)


def assert_clean(*paths: Path) -> None:
    """Formatters and import sorters of any usual line length have nothing to change."""
    ruff = [sys.executable, "-m", "ruff"]
    files = [str(path) for path in paths]
    for width in ("88", "120"):
        options = ["--isolated", f"--line-length={width}", *files]
        shown = subprocess.run([*ruff, "format", "--diff", *options], capture_output=True, text=True, check=False)
        assert shown.returncode == 0, shown.stdout
        checked = [*ruff, "check", "--select=E,F,I,W,UP,RUF100", *options]
        shown = subprocess.run(checked, capture_output=True, text=True, check=False)
        assert shown.returncode == 0, shown.stdout


# --- ids --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("existing", "revision"),
    [
        ([], "20261130172204"),
        (["20261130172203"], "20261130172204"),
        (["20261130172204"], "20261130172205"),
        (["20261130172259", "20250101000000"], "20261130172300"),
        (["20301231235959"], "20310101000000"),
        (["20269999999999"], "20270000000000"),
        (["001", "ae1027a6acf", "99999999999999999"], "20261130172204"),
    ],
)
def test_an_id_is_above_the_existing_ones(existing: list[str], revision: str):
    assert new_revision_id(existing, NOW) == revision


def test_an_id_is_utc_wherever_it_is_made():
    assert new_revision_id([], NOW.astimezone(timezone(timedelta(hours=-9)))) == "20261130172204"
    with pytest.raises(ValueError, match="time zone"):
        new_revision_id([], NOW.replace(tzinfo=None))


def test_the_last_id_of_all_is_not_passed():
    with refused("no-revision-id"):
        new_revision_id(["9" * 14], NOW)


@given(st.lists(st.from_regex(r"[0-9]{14}", fullmatch=True).filter(lambda one: one < "9" * 14)))
def test_any_id_has_its_width_and_is_above_all(existing: list[str]):
    revision = new_revision_id(existing, NOW)
    assert len(revision) == 14
    assert all(revision > one for one in existing)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "slug"),
    [
        ("Add index ByOwner", "add_index_byowner"),
        ("  Tâsk-keys: lose / the date!  ", "task_keys_lose_the_date"),
        ("../../etc/passwd", "etc_passwd"),
        ("Ключи", "revision"),
        ("x" * 60, "x" * 40),
        ("one two three four five six seven eight nine ten", "one_two_three_four_five_six_seven_eight"),
    ],
)
def test_a_slug_is_a_plain_part_of_a_file_name(message: str, slug: str):
    assert slug_of(message) == slug


def test_the_file_is_named_by_the_template(tmp_path: Path):
    assert write_revision(tmp_path, "Add index", (), NOW).name == "20261130172204_add_index.py"
    assert write_revision(tmp_path, "Add index", (), NOW, "{slug}-{rev}").name == "add_index-20261130172205.py"


def test_the_first_revision_shows_a_table_and_a_later_one_an_index(tmp_path: Path):
    first = write_revision(tmp_path, "one", [], NOW)
    second = write_revision(tmp_path, "two", [new_revision_id([], NOW)], NOW)
    for path, operation in ((first, "CreateTable"), (second, "AddIndex")):
        shown = path.read_text().partition("# from")[2].partition("operations = []")[0]
        assert f" migrator import {operation}\n" in shown


def test_an_existing_file_is_never_overwritten(tmp_path: Path):
    first = write_revision(tmp_path, "Add index", (), NOW, "{slug}")
    before = first.read_bytes()
    with refused("file-exists"):
        write_revision(tmp_path, "Add index", (), NOW, "{slug}")
    assert first.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_a_clear_refusal(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with refused("cannot-write"):
        write_revision(tmp_path / "file", "Add index", (), NOW)


@pytest.mark.parametrize("message", ["", "  \n", "\x00"])
def test_a_revision_needs_a_message(tmp_path: Path, message: str):
    with refused("no-message"):
        write_revision(tmp_path, message, (), NOW)


# --- text -------------------------------------------------------------------------------------------------------------


def test_a_written_history_loads(tmp_path: Path):
    folder = tmp_path / "db" / "migrations"
    root = write_revision(folder, "First", (), NOW)
    left = write_revision(folder, "Left", ["20261130172204"], NOW)
    right = write_revision(folder, "Right", ["20261130172204"], NOW)
    heads = load(folder, project_root=tmp_path).heads
    assert heads == ("20261130172205", "20261130172206")
    merge = write_merge(folder, "Join them", heads, NOW)
    graph = load(folder, project_root=tmp_path)
    assert [one.message for one in graph.order()] == ["First", "Left", "Right", "Join them"]
    assert graph[graph.heads[0]].down_revisions == heads
    assert all(one.operations == () for one in graph)
    assert_clean(root, left, right, merge)


def test_an_id_is_above_files_that_the_parents_do_not_name(tmp_path: Path):
    write_revision(tmp_path, "From a clock that is ahead", (), NOW + timedelta(days=400))
    assert write_revision(tmp_path, "Now", (), NOW).name.startswith("20280104172205")


def test_operations_are_written_with_their_imports(tmp_path: Path):
    source = 'AddIndex(\n    "ByScore",\n    partition_key=N("score"),\n),\nSetTimeToLive("expiresAt")'
    path = write_revision(tmp_path, "Scores", ("001",), NOW, operations_source=source)
    assert "from migrator import AddIndex, N, SetTimeToLive\n" in path.read_text()
    assert path.read_text().endswith('    SetTimeToLive("expiresAt"),\n]\n')
    assert_clean(path)


def test_a_merge_of_many_is_laid_out_too(tmp_path: Path):
    revisions = [f"2026010100000{n}" for n in range(8)]
    path = write_merge(tmp_path, "All", revisions, NOW)
    assert path.read_text().count("\n    ") == 8
    assert_clean(path)


@pytest.mark.parametrize("revisions", [[], ["1"], ["1", "1"]])
def test_a_merge_of_one_is_refused(tmp_path: Path, revisions: list[str]):
    with refused("nothing-to-merge"):
        write_merge(tmp_path, "Join", revisions, NOW)


@pytest.mark.parametrize(
    "message",
    [
        'Say "hello"',
        '"""',
        '""""',
        "back\\slash\\",
        '\\"',
        '"',
        "two\nlines",
        "it's",
        "ü 🎉",
        "\x00nul",
        "{braces}",
        "\\N{x}",
    ],
)
def test_any_message_survives_in_the_docstring(tmp_path: Path, message: str):
    write_revision(tmp_path, message, (), NOW)
    (migration,) = load(tmp_path, project_root=tmp_path)
    assert migration.message == message.replace("\n", " ").replace("\x00", "")


@given(st.text(min_size=1))
def test_any_text_at_all_survives_in_the_docstring(tmp_path_factory: pytest.TempPathFactory, message: str):
    folder = tmp_path_factory.mktemp("m")
    plain = "".join(char for char in " ".join(message.split()) if char.isprintable()).strip()
    if not plain:
        return
    write_revision(folder, message, (), NOW)
    (migration,) = load(folder, project_root=folder)
    assert migration.message == plain
