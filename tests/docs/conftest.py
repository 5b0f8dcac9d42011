"""A desk at a sandbox, for what the pages say about runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from migrator.sandbox import Sandbox
from tests.docs.console import Desk, desk


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(index_build=0.2) as sandbox:
        yield sandbox


@pytest.fixture
def here(sandbox: Sandbox) -> Iterator[Desk]:
    with desk(sandbox) as here:
        here.run("migrator init")
        yield here
