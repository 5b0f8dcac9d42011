"""The tests that `docs/testing.md` shows pass, in the project that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from migrator.testing import SandboxEndpoint
from tests.docs.console import DOCS, File, blocks
from tests.testing.kit.test_plugin import PLUGIN

pytest_plugins = ["pytester"]
PAGE = (DOCS / "testing.md").read_text(encoding="utf-8")


def test_every_test_of_the_page_passes(pytester: pytest.Pytester, endpoint: SandboxEndpoint) -> None:
    files = [block for block in blocks(PAGE) if isinstance(block, File)]
    assert len(files) == len(re.findall(r"^```[a-z]+$", PAGE, re.MULTILINE)), "a block has no path before it"
    for file in files:
        path = Path(pytester.path, file.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    result = pytester.runpytest_inprocess(*PLUGIN, "-W", "error", "-W", "ignore::pytest.PytestAssertRewriteWarning")
    # Each test that the page defines, and the ready-made one.
    result.assert_outcomes(passed=PAGE.count("\ndef test_") + 1)
