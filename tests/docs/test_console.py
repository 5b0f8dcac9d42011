"""The pages that are told as a session at a terminal happen as they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.console import PAGES, loose, run_page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_command_of_a_page_prints_what_the_page_shows(path: Path) -> None:
    ran = 0
    for command, printed in run_page(path):
        assert loose(printed) == loose(command.printed), command.line
        ran += 1
    assert ran > 0
