from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from migrator.cli.main import main
from tests.cli.house import FakeHouse


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """stdout as the one JSON document that it must be."""
        content = json.loads(self.out)
        assert isinstance(content, dict)
        return content

    @property
    def log(self) -> list[dict[str, Any]]:
        """stderr as JSON lines."""
        return [json.loads(line) for line in self.err.splitlines()]


Call = Callable[..., Said]


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a terminal or a pipeline sets must not change what a test sees."""
    for name in ("MIGRATOR_ENV", "MIGRATOR_CONFIG", "COLUMNS", "FORCE_COLOR", "NO_COLOR", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run one command of the whole program, with a house of the test's."""

    def run(line: str | list[str], house: FakeHouse | None = None, **answers: Any) -> Said:
        words = line.split() if isinstance(line, str) else line
        code = main(words, house or FakeHouse(**answers))
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return run
