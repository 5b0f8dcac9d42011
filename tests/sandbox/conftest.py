"""One sandbox for the whole folder, empty for each test; a second one turns its clock by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from migrator.sandbox import ManualClock, Sandbox


@pytest.fixture(scope="session")
def _sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(_sandbox: Sandbox) -> Iterator[Sandbox]:
    yield _sandbox
    _sandbox.reset()


@pytest.fixture
def dynamodb(sandbox: Sandbox) -> Any:
    return sandbox.client()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def still(clock: ManualClock) -> Iterator[Sandbox]:
    """A sandbox whose index builds last 10 s of a clock that the test turns: 3 s allocation, 7 s backfill."""
    with Sandbox(index_build=10, clock=clock) as sandbox:
        yield sandbox
