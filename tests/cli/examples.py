"""The examples of docs/commands and docs/pipeline.md: each ```console block is one command line and what it prints.

`python -m tests.cli.examples` runs them all and writes what they print into the pages.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

from migrator.cli.main import main
from migrator.cli.shell import Shell
from tests.cli import samples
from tests.cli.house import ANSWERS, FakeHouse, FileHouse

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (*sorted((DOCS / "commands").glob("*.md")), DOCS / "pipeline.md")
BLOCK = re.compile(r"```console\n\$ migrator (?P<line>[^\n]*)\n(?P<out>.*?)```\n", re.DOTALL)
NOW = datetime(2026, 11, 30, 17, 22, 4, tzinfo=UTC)


TEMPLATE = """\
Parameters: {Stage: {Type: String}}
Resources:
  App:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${Stage}-app"
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
"""


def printed(words: list[str]) -> str:
    """What the command prints on stdout, in an empty folder, on the samples."""
    out, err = io.StringIO(), io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        chdir(folder),
        patch.object(Shell, "now", lambda _: NOW),
        patch.dict(os.environ, {"COLUMNS": "100"}),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        main(words, prepared(words[0]))
    return out.getvalue() or err.getvalue()


def prepared(command: str) -> FakeHouse:
    """The house; for a command that writes files, with the files that it builds on in this folder."""
    if command == "lint":
        of_lint_page()
    if command == "patterns":
        of_patterns_page()
    if command not in {"revision", "merge"}:
        return FakeHouse(**ANSWERS)
    with redirect_stdout(io.StringIO()):
        main(["init"], FileHouse())
    Path("template.yaml").write_text(TEMPLATE, encoding="utf-8")
    for line in samples.LINES if command == "revision" else (*samples.LINES, samples.OTHER_HEAD):
        Path(line.path).write_text(
            f"revision = {line.revision!r}\ndown_revision = {line.down_revisions or None!r}\noperations = []\n",
            encoding="utf-8",
        )
    return FileHouse()


def of_patterns_page() -> None:
    """The project at the root, and a model; `patterns init` finds no file of patterns, `check` does."""
    config = (ROOT / "migrator.toml").read_text(encoding="utf-8")
    shutil.copytree(ROOT / "migrations", "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "access_patterns.toml", "access_patterns.toml")
    shutil.copy(ROOT / "tests" / "data" / "nwb-devicestatelog-v7.json", "model.json")
    Path("migrator.toml").write_text(config, encoding="utf-8")


def of_lint_page() -> None:
    """The configuration and the migration file that the page of `lint` shows."""
    page = (DOCS / "commands" / "lint.md").read_text(encoding="utf-8")
    for kind, name in (("toml", "migrator.toml"), ("python", "migrations/20261115090000_assignee_keys.py")):
        (block,) = re.findall(rf"```{kind}\n(.*?)```\n", page, re.DOTALL)
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(block, encoding="utf-8")


def examples(page: str) -> Iterator[tuple[str, str]]:
    """Command line and output of each example."""
    for match in BLOCK.finditer(page):
        yield match["line"], match["out"]


def words_of(line: str) -> list[str]:
    return shlex.split(line)


def refresh() -> None:
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        path.write_text(
            BLOCK.sub(
                lambda match: f"```console\n$ migrator {match['line']}\n{printed(words_of(match['line']))}```\n", page
            ),
            encoding="utf-8",
        )


if __name__ == "__main__":
    refresh()
