"""The pytest plugin: fixtures for migrations on a sandbox, and the ready-made test where it is asked for.

Nothing is imported or started before a fixture is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from migrator.core.graph import Graph
    from migrator.testing.kit.project import ProjectFiles, SandboxProject
    from migrator.testing.kit.sandboxes import SandboxEndpoint
    from migrator.testing.kit.tables import MigratedTable, SeedOfTables

URL_VARIABLE = "MIGRATOR_SANDBOX_URL"
_read = pytest.StashKey[dict[tuple[Any, ...], "ProjectFiles"]]()


# --- options ----------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("migrator").addoption(
        "--migrator-sandbox-url",
        metavar="URL",
        help=f"use the sandbox that runs there, not one in this process (or ini, or {URL_VARIABLE})",
    )
    parser.addini("migrator_sandbox_url", "the sandbox that tests use, where it is not to run in this process")
    parser.addini("migrator_config", "configuration file of the migrations, relative to the root of the tests")
    parser.addini("migrator_env", "environment whose settings the tests start from (default: default_env)")
    parser.addini("migrator_check", "collect the test that takes every migration up, down and up again", type="bool")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "migrator(config=None, env=None, variables=None): the project that migrator_project and migrate use: "
        "a configuration file, an environment of it, and variables as of `-x`",
    )


# --- the sandbox ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def migrator_sandbox(pytestconfig: pytest.Config) -> Iterator[SandboxEndpoint]:
    """Where the tests' DynamoDB is: in this process, or at the URL that was given. Each test has its own account."""
    from migrator.errors import MigratorError
    from migrator.testing.kit.sandboxes import sandbox_at, sandbox_in_process

    url = (
        pytestconfig.getoption("migrator_sandbox_url")
        or os.environ.get(URL_VARIABLE)
        or pytestconfig.getini("migrator_sandbox_url")
    )
    opened = sandbox_at(url) if url else sandbox_in_process()
    try:
        endpoint = opened.__enter__()
    except MigratorError as exc:
        pytest.fail(f"{exc}\nhint: {exc.hint}; or give --migrator-sandbox-url URL", pytrace=False)
    try:
        yield endpoint
    finally:
        opened.__exit__(None, None, None)


# --- the project ------------------------------------------------------------------------------------------------------


@pytest.fixture
def migrator_files(request: pytest.FixtureRequest) -> ProjectFiles:
    """The settings and the migrations of the project, from files alone: no sandbox."""
    from migrator.testing.kit.project import read_project

    config = request.config
    marker = request.node.get_closest_marker("migrator")
    given: Mapping[str, Any] = marker.kwargs if marker is not None else {}
    path = given.get("config") or config.getini("migrator_config") or None
    env = given.get("env") or config.getini("migrator_env") or None
    variables = dict(given.get("variables") or {})
    # From a test that is marked, a path is meant from that test; from the ini file, from there.
    folder = Path(request.path).parent if given.get("config") else config.inipath.parent if config.inipath else None
    start = config.rootpath
    whole = None if path is None else ((folder or start) / path).resolve()
    known = config.stash.setdefault(_read, {})
    key = (whole, env, tuple(sorted(variables.items())))
    if key not in known:
        known[key] = read_project(whole, start, env, variables)
    return known[key]


@pytest.fixture
def migrator_graph(migrator_files: ProjectFiles) -> Graph:
    """The migrations: `migrator_graph["20260101000000"].operations`, for `decide`. No sandbox."""
    return migrator_files.graph


@pytest.fixture
def migrator_base() -> Callable[[SandboxProject], None]:
    """Override it to make what is there before the first migration: tables that others create."""
    return lambda _project: None


@pytest.fixture
def migrator_seeds() -> Mapping[str, SeedOfTables]:
    """Override it with what the ready-made test puts once a revision (or "base") is reached."""
    return {}


@pytest.fixture
def migrator_project(
    migrator_files: ProjectFiles, migrator_sandbox: SandboxEndpoint, migrator_base: Callable[[SandboxProject], None]
) -> Iterator[SandboxProject]:
    """The project on an account of its own, and an environment that leads every new boto3 client there."""
    from migrator.testing.kit.project import SandboxProject

    account = migrator_sandbox.new_account()
    with account.as_environment():
        project = SandboxProject(migrator_files, account, migrator_base)
        try:
            yield project
        finally:
            project.close()


@pytest.fixture
def migrate(migrator_project: SandboxProject) -> Callable[..., MigratedTable]:
    """`migrate(revision="head", seed=(), table="")`: the table, migrated to the revision and then seeded.

    It goes through the gates on the way. Called again, it goes on from where the table is.
    """
    from migrator.testing.kit.tables import MigratedTable, sow

    def migrate(revision: str = "head", seed: SeedOfTables = (), table: str = "") -> MigratedTable:
        migrator_project.reach(revision)
        sow(migrator_project, seed if isinstance(seed, Mapping) or not table else {table: seed})
        return MigratedTable(migrator_project, table)

    return migrate


@pytest.fixture
def migrated_table(migrate: Callable[..., MigratedTable]) -> MigratedTable:
    """The default table, migrated to the head."""
    return migrate()


# --- the ready-made test ----------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the ready-made test to a run of whole folders; first, so that -k and -m choose among it too."""
    here = config.invocation_params.dir
    if not config.getini("migrator_check") or not all(Path(here, arg).is_dir() for arg in config.args):
        return
    from migrator.testing.kit import checks

    # Beside the tests, so that the fixtures of their conftest.py hold for it.
    folder = _common_folder(items) or session
    nodeid = f"{folder.nodeid}/migrator_check.py" if folder.nodeid not in ("", ".") else "migrator_check.py"
    module = pytest.Module.from_parent(folder, path=Path(checks.__file__), nodeid=nodeid)
    items += [item for item in module.collect() if isinstance(item, pytest.Item)]


def _common_folder(items: list[pytest.Item]) -> pytest.Collector | None:
    """The lowest folder that all tests are under."""
    chains = [[node for node in item.listchain() if isinstance(node, pytest.Directory)] for item in items]
    found = None
    for level in zip(*chains, strict=False):
        if any(node is not level[0] for node in level):
            break
        found = level[0]
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which migrations went up and down, and which have no way back."""
    reports = terminalreporter.stats.get("passed", ())
    told = [text for report in reports for name, text in report.user_properties if name == "migrator"]
    for text in told:
        terminalreporter.section("migrations")
        terminalreporter.write_line(text)
