"""The wheel in an environment of its own, with the newest boto3 and without the sandbox's engine."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.e2e.project import ROOT, Done, Project, Running

pytestmark = pytest.mark.timeout(600)


def _pip(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), "-m", "pip", "--disable-pip-version-check", *words], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("wheel")
    python = folder / "venv" / "bin" / "python"
    venv.create(folder / "venv", with_pip=True)
    if _pip(python, "download", "--no-deps", "-d", str(folder), "boto3").returncode:
        pytest.skip("the package index cannot be reached: boto3 and the build back end come from there")
    built = _pip(Path(sys.executable), "wheel", "--no-deps", "-w", str(folder), str(ROOT))
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("dynamodb_migrations-*.whl")
    done = _pip(python, "install", "--upgrade", "--upgrade-strategy", "eager", str(wheel))
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture
def command(installed: Path, project: Project) -> Path:
    # What is installed, not what lies here.
    project.environ = {"PYTHONPATH": "", "COLUMNS": "200"}
    return installed.parent / "migrator"


def _run(command: Path, project: Project, *words: str) -> Done:
    environ = project.environment()
    done = Running([str(command), *words], project.folder, environ, project.logs / words[-1].strip("-")).wait()
    assert done.code == 0, done
    return done


def test_the_wheel_brings_the_command_its_licence_and_its_types(
    installed: Path, command: Path, project: Project
) -> None:
    assert "Everyday" in _run(command, project, "--help").out
    assert _run(command, project, "--version").out.split()[1][0].isdigit()
    shown = _pip(installed, "show", "--files", "dynamodb-migrations").stdout
    assert "py.typed" in shown
    assert "LICENSE" in shown
    assert not [line for line in shown.splitlines() if line.strip().startswith("tests")]


def test_the_installed_command_begins_a_project_and_plans_without_the_sandbox_extra(
    installed: Path, command: Path, project: Project
) -> None:
    assert "ministack" not in _pip(installed, "list").stdout
    os.unlink(project.folder / "migrator.toml")
    _run(command, project, "init", "--endpoint-url", project.sandbox.endpoint_url, "--region", "eu-west-1")
    project.migration("0001", 'AddIndex("ByOwner", partition_key="owner"),')
    assert "ByOwner" in _run(command, project, "plan", "--from-base").out
    assert "applied" in _run(command, project, "upgrade", "--from-base").out
    assert project.index("ByOwner")


def test_without_the_extra_the_sandbox_says_how_to_install_it(command: Path, project: Project) -> None:
    running = Running([str(command), "sandbox", "start"], project.folder, project.environment(), project.logs / "start")
    done = running.wait()
    assert done.code != 0
    assert "dynamodb-migrations[sandbox]" in done.err
    assert "Traceback" not in done.err
