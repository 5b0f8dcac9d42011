from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from migrator.sandbox import ManualClock, Sandbox
from tests.e2e.project import Project
from tests.e2e.wire import Wire

_accounts = count(700_000_000_001)


@dataclass(frozen=True, slots=True)
class Engine:
    """A sandbox and the log of its wire."""

    sandbox: Sandbox
    wire: Wire


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """One sandbox for all tests; each works on an account of its own."""
    wire = Wire()
    with Sandbox(faults=[wire]) as sandbox:
        yield Engine(sandbox, wire)


@pytest.fixture(scope="session")
def turned() -> Iterator[Engine]:
    """A sandbox whose index builds last until a test turns its clock."""
    wire = Wire()
    with Sandbox(index_build=60.0, clock=ManualClock(), faults=[wire]) as sandbox:
        yield Engine(sandbox, wire)


NewProject = Callable[..., Project]


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> str:
    """That of the projects: a module that tries both overrides it, `--transport fast` tries all on the fast one."""
    return str(request.config.getoption("--transport"))


@pytest.fixture
def new_project(tmp_path: Path, engine: Engine, transport: str) -> Iterator[NewProject]:
    made: list[Project] = []

    def make(on: Engine | None = None) -> Project:
        number = len(made)
        folder, logs = tmp_path / f"project-{number}", tmp_path / f"logs-{number}"
        folder.mkdir()
        logs.mkdir()
        chosen = on or engine
        made.append(Project(folder, logs, chosen.sandbox, chosen.wire, str(next(_accounts)), transport=transport))
        return made[-1]

    yield make
    for project in made:
        project.end_all()


@pytest.fixture
def empty(new_project: NewProject) -> Project:
    """An empty folder and an empty account."""
    return new_project()


@pytest.fixture
def project(empty: Project) -> Project:
    """A configured project on a table with a partition and a sort key, which has no items yet."""
    empty.configure()
    empty.make_table()
    return empty


@pytest.fixture
def slow(new_project: NewProject, turned: Engine) -> Project:
    """As `project`, where index builds last until the test turns the clock."""
    made = new_project(turned)
    made.configure()
    made.make_table()
    return made
