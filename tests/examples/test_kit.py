"""The tests of the examples pass, each run as its user runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent.parent for path in (ROOT / "examples").glob("*/tests/test_migrations.py"))


def test_every_example_has_tests() -> None:
    assert [one.name for one in EXAMPLES] == sorted(
        one.parent.name for one in (ROOT / "examples").glob("*/migrator.toml")
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_tests_of_an_example_pass(example: Path, tmp_path: Path) -> None:
    folder = tmp_path / example.name
    shutil.copytree(example, folder, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    environ.pop("MIGRATOR_SANDBOX_URL", None)
    run = [sys.executable, "-m", "pytest", "-q", "-p", "migrator.testing.plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(run, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = sum(path.read_text().count("\ndef test_") for path in folder.glob("tests/test_*.py"))
    checked = "migrator_check = true" in (folder / "pytest.ini").read_text()
    assert re.search(rf"\b{wanted + checked} passed", done.stdout), done.stdout
