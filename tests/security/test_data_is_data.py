"""Plans, records, models, templates and configurations are data: nothing in the package evaluates anything."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import migrator
from migrator.core.template import Template
from migrator.errors import MigratorError
from migrator.sandbox import Sandbox
from migrator.sources.read import read_source
from tests.fuzz.edge import typed

PACKAGE = Path(migrator.__file__).parent
SOURCES = tuple(sorted(PACKAGE.rglob("*.py")))
RUNS = {"eval", "exec", "compile", "__import__"}
"""Builtins that turn text into code."""
BANNED = {"pickle", "cPickle", "marshal", "shelve", "dill", "yaml", "jsonpickle", "code", "codeop", "runpy", "ctypes"}
STARTS = {"system", "popen", "spawnl", "spawnv", "execv", "execve", "execvp", "startfile"}
"""Functions of `os` that start programs."""
READS_SAFELY = {"sources/read.py": {"yaml"}}
"""By a subclass of its SafeLoader."""
ALLOWED: Mapping[str, set[str]] = {"loader/load.py": {"exec", "compile"}}
"""A migration file is a program of the project's own: docs/security.md."""
PROGRAMS = {"sandbox/detached.py", "demo/killed.py"}
"""What starts a process: our own interpreter with our own arguments."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in SOURCES:
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """The dotted name of each call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def test_nothing_turns_text_into_code_but_the_loader_of_migrations() -> None:
    found = {where: {name for name, _ in calls(tree) if name in RUNS} for where, tree in trees()}
    assert {where: names for where, names in found.items() if names} == ALLOWED


def test_nothing_is_read_back_by_a_format_that_can_run_code() -> None:
    for where, tree in trees():
        for node in ast.walk(tree):
            modules = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
            found = {module.partition(".")[0] for module in modules} & BANNED
            assert found <= READS_SAFELY.get(where, set()), where


def test_a_template_of_another_tool_holds_plain_values_and_runs_nothing(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for tag in ("!!python/object/apply:os.system", "!!python/object/new:os.system"):
        with pytest.raises(MigratorError):
            read_source("template.yaml", f"Resources: {tag} ['touch {ran}']", {})
    assert not ran.exists()


def test_no_shell_is_ever_started() -> None:
    for where, tree in trees():
        for name, call in calls(tree):
            assert not (name.startswith("os.") and name.removeprefix("os.") in STARTS), f"{where}: {name}"
            for keyword in call.keywords:
                is_off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                assert keyword.arg != "shell" or is_off, f"{where}:{call.lineno} starts a shell"
            if name.startswith("subprocess."):
                assert where in PROGRAMS, f"{where}:{call.lineno} starts a process"


def test_no_text_of_others_is_a_format_string() -> None:
    """`str.format` reaches into what it is given: only constants and the checked file template are formatted."""
    found = {where for where, tree in trees() for name, _ in calls(tree) if name.endswith((".format", ".format_map"))}
    # Of the last three the text is a constant of ours.
    checked = {"loader/repair.py", "loader/write.py", "sandbox/index_keys.py"}
    assert found <= checked | {"loader/facets.py", "runner/gates.py", "sources/to_terraform.py"}


@pytest.mark.parametrize(
    "source", ["{x.__class__}", "{x.__init__.__globals__}", "{0}", "{x!r}", "{x:>10}", "{x.a.b}", "{ x }", "{x()}"]
)
def test_a_template_field_is_the_name_of_an_attribute_and_nothing_else(source: str) -> None:
    template = Template.parse(f"a{source}")
    name = source[1:-1]
    assert template.attributes == {name}
    assert template.missing({"x": {"S": "v"}})
    assert template.render({name: {"S": "v"}}) == {"S": "av"}


@pytest.mark.parametrize("source", ["{}", "{", "}", "{x[}", "{x[0}", "{{x}", "{x}}", "{x[]}"])
def test_a_template_that_is_no_template_is_refused(source: str) -> None:
    with pytest.raises(MigratorError) as caught:
        Template.parse(source)
    assert caught.value.code == "bad-template"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.0.1", "example.com", "127.0.0.1.example.com"])
def test_the_sandbox_listens_on_this_machine_only(host: str) -> None:
    with pytest.raises(MigratorError) as caught:
        Sandbox(host=host).start()
    assert caught.value.code == "sandbox-not-loopback"


def test_the_sandbox_command_has_no_option_for_a_host() -> None:
    assert typed(None, "sandbox", "start", "--host", "0.0.0.0").code == 2


@pytest.mark.skipif(os.name == "nt", reason="modes are of POSIX")
def test_nobody_else_may_write_the_files_that_are_made(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        config = str(tmp_path / "migrator.toml")
        assert typed(None, "init", "-c", config).code == 0
        assert typed(None, "revision", "-m", "a change", "-c", config).code == 0
    finally:
        os.umask(before)
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) >= 2
    for path in made:
        mode = path.stat().st_mode
        assert not mode & (stat.S_IWGRP | stat.S_IWOTH | stat.S_IXUSR), path
