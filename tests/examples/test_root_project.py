"""The repository's own migrator.toml and migrations/: a contributor plans and upgrades them on the sandbox."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from migrator.demo.project import ITEMS
from migrator.sandbox import Sandbox
from migrator.sandbox.load import load_file
from tests.docs.console import blocks, desk

ROOT = Path(__file__).parents[2]


def states(document: str) -> list[str]:
    """Of each pattern's only example."""
    return [example["state"] for line in json.loads(document)["patterns"] for example in line["asked"]]


def test_the_commands_of_its_readme_work_on_an_empty_sandbox_and_on_one_with_the_items() -> None:
    page = (ROOT / "migrations" / "README.md").read_text()
    lines = [block.line for block in blocks(page)]  # type: ignore[union-attr]
    assert lines[0] == "migrator sandbox start --detach"
    with Sandbox(index_build=0.2) as sandbox, desk(sandbox) as here:
        shutil.copytree(ROOT / "migrations", here.folder / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("migrator.toml", "access_patterns.toml"):
            here.write(name, (ROOT / name).read_text())
        for line in lines[1:]:
            here.run(line)
        assert here.codes == [0] * (len(lines) - 1)
        assert json.loads(here.run("migrator status -o json"))["state"] == "up-to-date"
        client = sandbox.client(unseen=True)
        load_file(client, ITEMS, table="local-saas")
        assert states(here.run("migrator patterns check --examples -o json")) == ["right"] * 10
        # Down to the table alone, and up again over the items.
        here.run("migrator downgrade 20261005090000")
        here.run("migrator upgrade")
        assert here.codes[-2:] == [0, 0]
        assert states(here.run("migrator patterns check --examples -o json")) == ["right"] * 10


def test_each_migration_says_what_it_is_for_in_its_first_line() -> None:
    for path in sorted((ROOT / "migrations").glob("*.py")):
        assert re.match(r'"""[A-Z][^\n]+\(AP[^\n]+\)\."""\n', path.read_text()), path.name
