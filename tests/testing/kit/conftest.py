"""A sandbox of the kit for the whole folder, and projects in folders of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from migrator.testing import SandboxEndpoint, SandboxProject, sandbox_in_process
from migrator.testing.kit.project import read_project

FILE = '"""{message}."""\nfrom migrator import *\n\nrevision, down_revision = {revision!r}, {down!r}\n{code}'
Written = Callable[..., SandboxProject]


@pytest.fixture(scope="session")
def endpoint() -> Iterator[SandboxEndpoint]:
    with sandbox_in_process() as endpoint:
        yield endpoint


def write_project(folder: Path, **revisions: str) -> None:
    """A project whose migrations follow one another; `operations` of each, as Python."""
    (folder / "migrations").mkdir(parents=True, exist_ok=True)
    (folder / "migrator.toml").write_text(
        'default_table = "app"\ndefault_env = "prod"\n[tables.app]\nname = "{stage}-app"\n'
        '[env.prod]\nregion = "eu-west-1"\nprotected = true\nexpected_account = "222222222222"\n'
        'role_arn = "arn:aws:iam::222222222222:role/migrator"\nvars = { stage = "prod" }\n'
    )
    down: str | tuple[str, ...] | None = None
    for name, code in revisions.items():
        text = code if "operations" in code else f"operations = [{code}]"
        (folder / "migrations" / f"{name}.py").write_text(
            FILE.format(message=name, revision=name, down=down, code=text + "\n")
        )
        down = name


@pytest.fixture
def written(tmp_path: Path, endpoint: SandboxEndpoint) -> Iterator[Written]:
    """Write a project and open it on an account of its own."""
    opened: list[SandboxProject] = []

    def write(base: Callable[[SandboxProject], None] = lambda _: None, **revisions: str) -> SandboxProject:
        write_project(tmp_path, **revisions)
        files = read_project(tmp_path / "migrator.toml", tmp_path)
        opened.append(SandboxProject(files, endpoint.new_account(), base))
        return opened[-1]

    yield write
    for project in opened:
        project.close()
