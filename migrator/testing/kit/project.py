"""The user's project on an account of a sandbox: the commands as functions that return the runner's results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from migrator.config import Settings, load_config
from migrator.core.events import Event
from migrator.core.graph import Graph
from migrator.errors import MigratorError
from migrator.loader import load
from migrator.runner.results import CheckResult, PlanResult, RunResult, StatusResult
from migrator.runner.runner import Runner
from migrator.runner.session import Session
from migrator.testing.kit.sandboxes import Account
from migrator.wiring import Project, open_runner

POLL_INTERVAL = 0.05
WAIT_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """What lies in files: the settings of one environment, and the migrations. Nothing here knows a sandbox."""

    settings: Settings
    graph: Graph


def read_project(
    config: Path | None, start: Path, env: str | None = None, variables: Mapping[str, str] | None = None
) -> ProjectFiles:
    """The project at `config`, or at the nearest configuration from `start` upwards.

    `env` None is the file's default_env, or else its first environment: any will do, as none is reached.
    """
    found = load_config(config, start)
    chosen = env or found.default_env or next(iter(found.environments), None)
    settings = found.settings(chosen, variables or {})
    return ProjectFiles(settings, load(settings.script_location, project_root=settings.project_root))


def on_sandbox(settings: Settings, account: Account) -> Settings:
    """The settings with everything that leads to AWS replaced, unprotected, and quick."""
    limits = replace(
        settings.limits,
        write_units=None,
        read_units=None,
        poll_interval=POLL_INTERVAL,
        wait_timeout=WAIT_TIMEOUT,
        settle_time=0.0,
    )
    return replace(
        settings,
        endpoint_url=account.endpoint_url,
        region=account.region,
        role_arn=None,
        profile=None,
        expected_account=None,
        protected=False,
        limits=limits,
    )


@dataclass
class SandboxProject:
    """A project whose tables are on `account`. `base` makes what exists before the first migration.

    Commands that remove something need no `yes` here, and a table without a history begins at its base.
    """

    files: ProjectFiles = field(repr=False)
    account: Account
    base: Callable[[SandboxProject], None] = field(default=lambda _project: None, repr=False)
    events: list[Event] = field(default_factory=list, repr=False)
    """What the engine told while it worked."""
    _opened: dict[bool, Runner] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.settings = on_sandbox(self.files.settings, self.account)
        self.base(self)

    @property
    def graph(self) -> Graph:
        return self.files.graph

    @cached_property
    def client(self) -> Any:
        """A boto3 client for DynamoDB: the application beside the tool. Closed with the project."""
        return self.account.client()

    def table_name(self, alias: str = "") -> str:
        """The physical name of a table, of the default table when no alias is given."""
        return self.settings.tables[alias or self.settings.default_table].name

    def fresh(self, account: Account) -> SandboxProject:
        """The same project where nothing has happened yet. To be closed by itself."""
        return SandboxProject(self.files, account, self.base)

    def close(self) -> None:
        for opened in self._opened.values():
            opened.session.ports.close()
        self._opened.clear()
        if "client" in self.__dict__:
            self.client.close()
        self.account.empty()

    @contextmanager
    def runner(self, *, read_only: bool = False) -> Iterator[Runner]:
        """The runner of one command, for what has no function here."""
        try:
            with self.account.as_environment():
                yield self._runner(read_only)
        except MigratorError as exc:
            if exc.hint and not getattr(exc, "__notes__", None):
                exc.add_note(f"hint: {exc.hint}")
            raise

    def _runner(self, read_only: bool) -> Runner:
        """A session of its own, as each command has, on clients that are opened once: that takes most of the time."""
        if read_only not in self._opened:
            project = Project(self.settings, self.graph)
            self._opened[read_only] = open_runner(project, self.events.append, read_only=read_only)
        first = self._opened[read_only].session
        return Runner(Session(self.settings, self.graph, first.ports, first.caller, first.report, first.stop))

    # --- commands

    def plan(self, target: str = "head") -> PlanResult:
        with self.runner(read_only=True) as runner:
            return runner.plan(target, from_base=True)

    def upgrade(
        self,
        target: str = "head",
        *,
        allow_out_of_order: bool = False,
        offline: bool = False,
        allow_gate: bool = False,
        no_wait: bool = False,
    ) -> RunResult:
        """Apply what is pending; stops at a gate, as the command does. `reach` goes on."""
        with self.runner() as runner:
            return runner.upgrade(
                target,
                from_base=True,
                yes=True,
                allow_out_of_order=allow_out_of_order,
                offline=offline,
                allow_gate=allow_gate,
                no_wait=no_wait,
            )

    def downgrade(self, target: str = "-1") -> RunResult:
        with self.runner() as runner:
            return runner.downgrade(target)

    def rollback(self, revision: str | None = None) -> RunResult:
        with self.runner() as runner:
            return runner.rollback(revision)

    def contract(self, revision: str | None = None) -> RunResult:
        with self.runner() as runner:
            return runner.contract(revision, yes=True)

    def status(self) -> StatusResult:
        with self.runner(read_only=True) as runner:
            return runner.status()

    def check(self) -> CheckResult:
        with self.runner(read_only=True) as runner:
            return runner.check()

    def reach(self, target: str = "head") -> None:
        """Upgrade to the target, through every gate on the way. Raises AssertionError where that fails."""
        __tracebackhide__ = True
        succeeded(result := self.upgrade(target), f"upgrade to {target}", "at-gate")
        while result.state == "at-gate":
            revision = result.outcomes[-1].revision
            succeeded(self.contract(revision), f"contract of {revision}")
            succeeded(result := self.upgrade(target), f"upgrade to {target}", "at-gate")


def succeeded(result: RunResult, command: str, *allowed: str) -> None:
    """Raises AssertionError, with what the runner says, unless the exit code is 0 or the state is an allowed one."""
    __tracebackhide__ = True
    if result.exit_code and result.state not in allowed:
        lines = [f"{command}: {result.state} (exit {result.exit_code}): {result.blocked_by}"]
        for outcome in result.outcomes:
            if outcome.error:
                lines.append(f"revision {outcome.revision} is {outcome.status}: {outcome.error}")
                lines += [f"  {example}" for example in outcome.examples]
        raise AssertionError("\n".join([*lines, f"next: {result.next}"]))
