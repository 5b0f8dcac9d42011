"""A result as text. The last line says what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never

from rich.console import Console, RenderableType
from rich.text import Text

from migrator.cli.answers import (
    ExportResult,
    FaultsResult,
    FilesResult,
    LintResult,
    RevisionResult,
    RevisionsResult,
    SandboxResult,
)
from migrator.cli.render import (
    diff,
    doctor,
    files,
    iam,
    lint,
    patterns,
    plan,
    records,
    run,
    status,
    targets,
    violations,
)
from migrator.runner.results import (
    CheckResult,
    ControlResult,
    DiffResult,
    DoctorResult,
    FailedResult,
    IamResult,
    LockResult,
    MirrorResult,
    NoteResult,
    PatternsResult,
    PlanResult,
    RunResult,
    StatusResult,
    TargetsResult,
    ViolationsResult,
)

Answer: TypeAlias = (
    PlanResult
    | RunResult
    | StatusResult
    | CheckResult
    | FailedResult
    | LockResult
    | MirrorResult
    | ControlResult
    | ViolationsResult
    | PatternsResult
    | IamResult
    | DiffResult
    | DoctorResult
    | TargetsResult
    | NoteResult
    | RevisionsResult
    | RevisionResult
    | FilesResult
    | SandboxResult
    | FaultsResult
    | LintResult
    | ExportResult
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
    # To be pasted: a line that the window broke would be another document.
    if isinstance(result, IamResult):
        console.print(iam.pasted(result), soft_wrap=True)
    if isinstance(result, ExportResult) and result.document:
        console.print(Text(result.document.rstrip()), soft_wrap=True)
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
        case TargetsResult():
            return targets.drawn(result)
        case DoctorResult():
            return doctor.drawn(result)
        case DiffResult():
            return diff.drawn(result)
        case FailedResult():
            return records.failed(result)
        case MirrorResult():
            return records.mirrored(result)
        case LockResult():
            return records.locked(result)
        case ControlResult():
            return records.controlled(result)
        case ViolationsResult():
            return violations.drawn(result)
        case PatternsResult():
            return patterns.drawn(result)
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
        case ExportResult():
            return files.exported(result)
        case _:
            assert_never(result)
