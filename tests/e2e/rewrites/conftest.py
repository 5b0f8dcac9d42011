from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from migrator.testing import SandboxEndpoint, sandbox_in_process
from tests.e2e.rewrites.moving import Moving, opened, write_files


@pytest.fixture(scope="session")
def endpoint() -> Iterator[SandboxEndpoint]:
    with sandbox_in_process() as endpoint:
        yield endpoint


@pytest.fixture
def moving(tmp_path: Path, endpoint: SandboxEndpoint) -> Iterator[Callable[..., Moving]]:
    """Write a project and open it on an account of its own."""
    made: list[Moving] = []

    def write(tables: dict[str, str], *, control: str = "", **revisions: str) -> Moving:
        write_files(tmp_path, tables, revisions, control)
        made.append(opened(tmp_path, endpoint.new_account()))
        return made[-1]

    yield write
    for project in made:
        project.close()
