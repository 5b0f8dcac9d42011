"""A house whose runner answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from migrator import AddIndex, Backfill
from migrator.config import TableConfig, load_config
from migrator.core.events import Event, Report
from migrator.core.graph import Graph
from migrator.core.plan import Migration
from migrator.loader import load
from tests.cli import samples

OPERATIONS = (
    Backfill(
        where={"entity": "Task"},
        set={"GSI2PK": "TENANT#{tenantId}#USER#{assignee}", "GSI2SK": "{createdAt}#{taskId}"},
        missing="skip",
    ),
    AddIndex("ByAssignee", partition_key=["GSI2PK"], sort_key=["GSI2SK"], projection=["title", "status"]),
)
GRAPH = Graph(
    [
        Migration(
            line.revision,
            line.down_revisions,
            OPERATIONS if line.is_head else (),
            line.message,
            line.path,
            samples.SHOWN.checksum,
            samples.SHOWN.content_hash,
            samples.SHOWN.modules,
        )
        for line in samples.LINES
    ]
)

ANSWERS: dict[str, Any] = {
    "plan": samples.PLAN,
    "downgrade": samples.DOWNGRADED,
    "rollback": samples.ROLLED_BACK,
    "contract": samples.RUN,
    "cutover": samples.CUT_OVER,
    "verify": samples.VERIFIED,
    "mirror_run": samples.MIRRORED,
    "mirror_status": samples.MIRROR,
    "stamp": samples.NOTE,
    "repair": samples.REPAIRED,
    "failed_list": samples.FAILED,
    "failed_retry": samples.RETRIED,
    "failed_skip": samples.SKIPPED,
    "lock_show": samples.LOCK,
    "lock_release": samples.RELEASED,
    "pause": samples.PAUSED,
    "resume": samples.RESUMED,
    "throttle": samples.THROTTLED,
    "cancel": samples.CANCELLED,
    "violations": samples.VIOLATIONS,
    "patterns": samples.PATTERNS,
    "diff": samples.DIFF,
    "doctor": samples.DOCTOR,
    "diff_with": samples.DIFF,
    "declared": samples.DECLARED,
    "iam": samples.POLICY,
    "status": samples.STATUS,
    "check": samples.CHECK,
    "upgrade": samples.RUN,
}
"""Runner's method -> a sample of what it answers."""

Answer = Any
"""A result, an exception to raise, or a function of the runner that gives a result."""


class FakeRunner:
    """Answers each command with `answers[command]`."""

    def __init__(self, answers: Mapping[str, Answer], report: Report):
        self.answers = answers
        self.report = report
        self.asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.stopped: list[int] = []
        self.stopping = threading.Event()

    def __getattr__(self, command: str) -> Callable[..., Any]:
        if command not in self.answers:
            raise AttributeError(command)

        def run(*words: Any, **options: Any) -> Any:
            self.asked.append((command, words, options))
            answer = self.answers[command]
            if isinstance(answer, BaseException):
                raise answer
            return answer(self) if callable(answer) else answer

        return run

    def stop(self, signal_number: int) -> None:
        self.stopped.append(signal_number)
        self.stopping.set()


class FakeHouse:
    """Opens one graph and one runner, and remembers how."""

    def __init__(
        self,
        *,
        graph: Graph = GRAPH,
        events: tuple[Event, ...] = (),
        project_error: Exception | None = None,
        draft: str = "",
        script_location: Path = Path("migrations"),
        **answers: Answer,
    ):
        self.graph = graph
        self.events = events
        self.answers = answers
        self.project_error = project_error
        self.draft = draft
        self.script_location = script_location
        self.opened: list[tuple[Path | None, str | None, dict[str, str]]] = []
        self.read_only: list[bool] = []
        self.runner: FakeRunner | None = None
        self.closed = False
        self.from_files: tuple[str, str, str] | None = None

    def open_project(self, config: Path | None, env: str | None, variables: Mapping[str, str]) -> Any:
        self.opened.append((config, env, dict(variables)))
        if self.project_error is not None:
            raise self.project_error
        settings = SimpleNamespace(
            script_location=self.script_location,
            file_template="{rev}_{slug}",
            region=None,
            default_table="app",
            tables={"app": TableConfig("local-app")},
        )
        return SimpleNamespace(graph=self.graph, settings=settings)

    @contextmanager
    def open_runner(self, project: Any, report: Report, *, read_only: bool = False) -> Iterator[FakeRunner]:
        self.read_only.append(read_only)
        self.runner = FakeRunner(self.answers, report)
        for event in self.events:
            report(event)
        try:
            yield self.runner
        finally:
            self.closed = True

    def draft_from_table(self, project: Any, name: str) -> str:
        return self.draft

    def iam_from_files(self, project: Any, command: str, target: str, why: str) -> Any:
        self.from_files = (command, target, why)
        return samples.PLACEHOLDERS

    @property
    def asked(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """The one question that the runner was asked."""
        assert self.runner is not None
        (only,) = self.runner.asked
        return only


class FileHouse(FakeHouse):
    """Reads real files; its runner and its live table are fakes."""

    def open_project(self, config: Path | None, env: str | None, variables: Mapping[str, str]) -> Any:
        settings = load_config(config, Path.cwd()).settings(env, variables)
        graph = load(settings.script_location, project_root=settings.project_root)
        return SimpleNamespace(settings=settings, graph=graph)
