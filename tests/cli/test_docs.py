"""docs/commands and docs/pipeline.md say what the program does."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from migrator.cli.answers import ExportResult, FilesResult, LintResult, RevisionResult, RevisionsResult
from migrator.cli.commands import HABITS
from migrator.cli.main import COMMANDS, app
from migrator.runner import results
from tests.cli.examples import DOCS, PAGES, examples, printed, words_of

NAMES = [name for _, name, _ in COMMANDS]


def page_of(name: str) -> str:
    return (DOCS / "commands" / f"{name.split()[0]}.md").read_text(encoding="utf-8")


def parameters(name: str) -> list[Any]:
    found: Any = typer.main.get_command(app)
    for word in name.split():
        found = found.commands[word]
    return list(found.params)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_page_that_mentions_each_option(name: str) -> None:
    page = page_of(name)
    assert name.split()[-1] in page
    for parameter in parameters(name):
        if parameter.name in HABITS:
            continue
        spellings = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]
        for spelling in spellings:
            assert f"`{spelling}" in page, spelling


def test_no_page_is_left_of_a_command_that_is_gone() -> None:
    pages = {path.stem for path in (DOCS / "commands").glob("*.md")}
    assert pages == {name.split()[0] for name in NAMES} | {"README"}


def test_no_page_mentions_an_option_that_no_command_has() -> None:
    known = {opt for name in NAMES for parameter in parameters(name) for opt in parameter.opts} | {
        "--help",
        "--version",
    }
    for path in PAGES:
        for option in re.findall(r"`(--[a-z-]+)", path.read_text(encoding="utf-8")):
            assert option in known, (path.name, option)


def test_the_overview_names_every_command_and_every_habit() -> None:
    overview = (DOCS / "commands" / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"({name.split()[0]}.md)" in overview
    for parameter in parameters("heads"):
        for spelling in parameter.opts:
            assert f"`{spelling}" in overview


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_example_prints_what_the_page_shows(path: Path) -> None:
    for line, out in examples(path.read_text(encoding="utf-8")):
        assert printed(words_of(line)) == out, line


def test_nearly_every_command_has_an_example() -> None:
    shown = {line.split(" ")[0] for path in PAGES for line, _ in examples(path.read_text(encoding="utf-8"))}
    assert {name.split()[0] for name in NAMES} - shown == {"sandbox", "demo"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_leads_to_a_file(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).is_file(), target


PIPELINE = (DOCS / "pipeline.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        ("| `plan`", results.PlanResult),
        ("| `upgrade`", results.RunResult),
        ("| `status`", results.StatusResult),
        ("| `check`", results.CheckResult),
        ("| `lint`", LintResult),
        ("| `violations`", results.ViolationsResult),
        ("| `patterns check`", results.PatternsResult),
        ("| `diff`", results.DiffResult),
        ("| `doctor`", results.DoctorResult),
        ("| any of `plan`", results.TargetsResult),
        ("| `export`", ExportResult),
        ("| `iam`", results.IamResult),
        ("| `failed list`", results.FailedResult),
        ("| `lock show`", results.LockResult),
        ("| `pause`", results.ControlResult),
        ("| `stamp`", results.NoteResult),
        ("| `history`", RevisionsResult),
        ("| `show`", RevisionResult),
        ("| `init`", FilesResult),
    ],
)
def test_the_pipeline_page_lists_every_field_of_a_document(start: str, kind: type) -> None:
    (row,) = [line for line in PIPELINE.splitlines() if line.startswith(start)]
    own = {field.name for field in dataclasses.fields(kind)} - {"state", "exit_code", "next", "blocked_by"}
    assert set(re.findall(r"`([a-z_-]+)`", row.split("|")[3])) == own


@pytest.mark.parametrize("code", ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "130, 143"])
def test_the_pipeline_page_explains_every_exit_code(code: str) -> None:
    assert f"\n| {code} | " in PIPELINE


def test_pipelines_start_the_program_so_that_signals_reach_it() -> None:
    runs = [line for line in PIPELINE.splitlines() if re.match(r"\s+- (run: )?.*\bmigrator (plan|upgrade)", line)]
    assert len(runs) == 4
    assert all("exec migrator" in line for line in runs)
