"""A project in a temporary folder, with its migrations."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from migrator.core.graph import Graph
from migrator.core.plan import Migration
from migrator.loader import load

HEAD = """\
from tests.loader.operations import Picky, Sign

revision = "001"
down_revision = None
"""


class Project:
    def __init__(self, root: Path):
        self.root = root
        self.migrations = root / "migrations"
        self.migrations.mkdir()

    def write(self, name: str, text: str | bytes) -> Path:
        """A file, by its path from the root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
        return path

    def migration(self, body: str, name: str = "migrations/001_first.py") -> Path:
        """A migration with revision 001 and this after its head; `operations` is added where it is missing."""
        text = HEAD + dedent(body)
        return self.write(name, text if "operations" in body else text + "\noperations = []\n")

    def load(self) -> Graph:
        return load(self.migrations, project_root=self.root)

    def only(self) -> Migration:
        (migration,) = self.load()
        return migration


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """What the project's modules leave in `sys.modules` goes with it."""
    before = set(sys.modules)
    yield Project(tmp_path)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
