"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "migrator").rglob("*.py"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_no_file_outgrows_four_hundred_lines() -> None:
    long = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    assert {path: lines for path, lines in long.items() if lines > 400} == {}


def test_every_module_says_what_it_is() -> None:
    silent = [str(path.relative_to(ROOT)) for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_no_room_is_called_utils() -> None:
    banned = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [path for path in SOURCES if banned & {part.removesuffix(".py") for part in path.parts}] == []


def test_boto3_lives_in_one_room_and_the_sandbox() -> None:
    rooms = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] in ("boto3", "botocore") for name in names):
                rooms.add(path.relative_to(ROOT / "migrator").parts[0])
    assert rooms <= {"dynamo", "sandbox", "demo"}


@pytest.mark.parametrize("heavy", ["boto3", "typer", "rich", "structlog", "ministack"])
def test_a_migration_file_does_not_load_what_only_the_command_needs(heavy: str) -> None:
    code = f"import sys, migrator; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_every_dependency_has_a_floor_and_the_engine_a_pin() -> None:
    project = PYPROJECT["project"]
    assert [one for one in project["dependencies"] if ">=" not in one] == []
    assert project["optional-dependencies"]["sandbox"] == ["ministack==1.5.33"]


def test_the_readme_gives_the_two_commands_and_the_gate_calls_the_second() -> None:
    readme = (ROOT / "README.md").read_text()
    run = "python3 -m venv .venv && .venv/bin/pip install '.[sandbox]' && .venv/bin/migrator demo"
    test = "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/pytest"
    assert run in readme
    assert test in readme
    gate = (ROOT / ".ci" / "run").read_text()
    assert "pip install" in gate
    assert "-e '.[dev]'" in gate
    assert ".venv/bin/pytest" in gate


def test_the_type_marker_is_shipped() -> None:
    assert (ROOT / "migrator" / "py.typed").exists()


def test_the_checks_of_contributing_are_tests_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Nine checks")[2]
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) >= 9
    for path, function in named:
        source = (ROOT / path).read_text()
        assert function == "" or f"def {function}(" in source, f"{path}::{function}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "examples/README.md"])
def test_the_links_of_a_page_at_the_top_lead_somewhere(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text())
    gone = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert links
    assert gone == []
