"""A result as text. The last line says what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never

from rich.console import Console, RenderableType
from rich.text import Text

from migrator.cli.answers import FaultsResult, FilesResult, LintResult, RevisionResult, RevisionsResult, SandboxResult
from migrator.cli.render import files, iam, lint, plan, records, run, status, violations
from migrator.runner.results import (
    CheckResult,
    ControlResult,
    FailedResult,
    IamResult,
    LockResult,
    NoteResult,
    PlanResult,
    RunResult,
    StatusResult,
    ViolationsResult,
)

Answer: TypeAlias = (
    PlanResult
    | RunResult
    | StatusResult
    | CheckResult
    | FailedResult
    | LockResult
    | ControlResult
    | ViolationsResult
    | IamResult
    | NoteResult
    | RevisionsResult
    | RevisionResult
    | FilesResult
    | SandboxResult
    | FaultsResult
    | LintResult
)


def show(result: Answer, console: Console) -> None:
    """Print it. What goes through a pipe has no colours and no spaces that only fill the line."""
    if console.is_terminal:
        _print(result, console)
        return
    with console.capture() as captured:
        _print(result, console)
    console.file.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))


def _print(result: Answer, console: Console) -> None:
    if isinstance(result, IamResult):
        # To be pasted: a line that the window broke would be no JSON.
        console.print(iam.pasted(result), soft_wrap=True)
    for part in drawn(result):
        console.print(part)
    console.print()
    # One line each, however long: a script takes the last one.
    if result.blocked_by:
        console.print(Text.assemble(("blocked by: ", "yellow"), result.blocked_by), soft_wrap=True)
    console.print(Text.assemble(("next: ", "bold"), result.next or "nothing to do"), soft_wrap=True)


def drawn(result: Answer) -> Iterator[RenderableType]:
    match result:
        case PlanResult():
            return plan.drawn(result)
        case RunResult():
            return run.drawn(result)
        case StatusResult():
            return status.drawn(result)
        case CheckResult():
            return status.checked(result)
        case FailedResult():
            return records.failed(result)
        case LockResult():
            return records.locked(result)
        case ControlResult():
            return records.controlled(result)
        case ViolationsResult():
            return violations.drawn(result)
        case IamResult():
            return iam.drawn(result)
        case NoteResult():
            return records.noted(result)
        case RevisionsResult():
            return files.listed(result)
        case RevisionResult():
            return files.shown(result)
        case FilesResult():
            return files.made(result)
        case SandboxResult():
            return files.sandbox(result)
        case FaultsResult():
            return files.faults(result)
        case LintResult():
            return lint.drawn(result)
        case _:
            assert_never(result)
