"""plan, upgrade, status and check over many targets of one environment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from migrator.cli.log import configure_log
from migrator.cli.ports import Runner
from migrator.cli.progress import open_progress
from migrator.cli.shell import Shell
from migrator.core.events import Event, Remark, Report, RevisionFinished, RevisionStarted
from migrator.errors import UsageError
from migrator.runner.fleet import Fleet, together
from migrator.runner.results import Result, TargetsResult

TargetsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="PATTERN",
        help="Of [targets]: a name or a pattern such as 'tenant-*'; repeatable.",
        rich_help_panel="Many targets",
    ),
]
ParallelOption = Annotated[
    int,
    typer.Option("--parallel", min=1, max=32, help="Targets at the same time.", rich_help_panel="Many targets"),
]
CanaryOption = Annotated[
    int,
    typer.Option("--canary", min=0, help="Targets that go first, one by one.", rich_help_panel="Many targets"),
]
KeepGoingOption = Annotated[
    bool,
    typer.Option("--keep-going", help="Begin further targets although one failed.", rich_help_panel="Many targets"),
]
PARALLEL = 4
CANARY = 1


def over_targets(
    shell: Shell,
    patterns: Sequence[str],
    act: Callable[[str, Runner], Result],
    *,
    read_only: bool,
    parallel: int = PARALLEL,
    canary: int = 0,
    keep_going: bool = True,
) -> TargetsResult:
    """The command on each target, and what came of all of them. Reading commands go on whatever one says."""
    projects = dict(
        shell.house.open_targets(shell.habits.config, shell.habits.env, dict(shell.habits.variables), tuple(patterns))
    )
    remarks = shell.remarks()
    log = configure_log(remarks, verbose=shell.habits.verbose)
    with redirect_stdout(sys.stderr), open_progress(remarks, log, shell.monotonic) as report:
        said = _one_at_a_time(report)
        fleet = Fleet(
            lambda name: shell.house.open_runner(projects[name], _named(said, name), read_only=read_only),
            cast(Callable[[str, Any], Result], act),
            shell.monotonic,
            canary,
            parallel,
            keep_going,
        )
        with shell.signals.reaching(fleet, log):
            outcomes = fleet.go(list(projects))
    # Not spelled out: without an option such as --plan it would be another command.
    return together(outcomes, again="the same command again: it does only what is left")


def _one_at_a_time(report: Report) -> Report:
    lock = threading.Lock()

    def guarded(event: Event) -> None:
        with lock:
            report(event)

    return guarded


def _named(report: Report, name: str) -> Report:
    """Of many runs at once only what is said in words is shown, with the target's name before it."""

    def named(event: Event) -> None:
        match event:
            case RevisionStarted():
                report(Remark(f"{name}: revision {event.revision} begins ({event.position} of {event.count})"))
            case RevisionFinished():
                report(Remark(f"{name}: revision {event.revision} is {event.status}"))
            case Remark():
                report(Remark(f"{name}: {event.message}", event.level, event.details))
            case _:
                pass

    return named


def plans_in(folder: Path | None, *, made: bool = False) -> Callable[[str], Path | None]:
    """Of each target the file of its plan in a folder; None where there is none. `made`: the folder is made."""
    if folder is None:
        return lambda _: None
    try:
        if made:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise UsageError(
            "plan-not-written", f"{folder} is no folder for the plans of targets: {exc.strerror}", hint="another --out"
        ) from exc

    def file_of(name: str) -> Path:
        file = folder / f"{name}.json"
        if not made and not file.is_file():
            raise UsageError(
                "bad-plan",
                f"{folder} holds no plan for target {name}",
                hint=f"`migrator plan --target {name} --out {folder}`, and review it",
            )
        return file

    return file_of
