"""Failed items and the lock; stamp and repair, which change records only."""

from __future__ import annotations

from typing import Annotated

import typer

from migrator.cli.options import RevisionArgument, TargetArgument, seconds
from migrator.cli.shell import Shell
from migrator.errors import UsageError
from migrator.runner.results import FailedResult, LockResult, NoteResult, RunResult


def failed_list(shell: Shell, revision: RevisionArgument = None) -> FailedResult:
    """The items that a data step could not bring to their new form, with reasons."""
    with shell.runner(read_only=True) as runner:
        return runner.failed_list(revision)


def failed_retry(shell: Shell, revision: RevisionArgument = None) -> RunResult:
    """Try the failed items again, and nothing else."""
    with shell.runner() as runner:
        return runner.failed_retry(revision)


def failed_skip(
    shell: Shell,
    revision: Annotated[str, typer.Argument(metavar="REV", help="A revision or a unique prefix.")],
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY]...", help='Keys as DynamoDB JSON: {"PK": {"S": "TENANT#t1"}}. Default: all.'),
    ] = None,
    *,
    because: Annotated[str, typer.Option("--because", metavar="REASON", help="Recorded with each of them.")],
) -> FailedResult:
    """Leave failed items as they are, with a reason, so that the revision can become applied."""
    if not because.strip():
        raise UsageError("usage", "--because is empty", hint="say why these items may stay as they are")
    with shell.runner() as runner:
        return runner.failed_skip(revision, list(keys or ()), because)


def lock_show(
    shell: Shell,
    *,
    observe: Annotated[
        float,
        typer.Option(
            "--observe", parser=seconds, metavar="DURATION", help="Watch the holder's beat for so long, such as 30s."
        ),
    ] = 0.0,
) -> LockResult:
    """Who holds the lock, since when, and whether it still beats."""
    with shell.runner(read_only=True) as runner:
        return runner.lock_show(observe)


def lock_release(
    shell: Shell,
    *,
    owner: Annotated[str, typer.Option("--owner", metavar="NONCE", help="The owner that `lock show` names.")],
) -> LockResult:
    """Break the lock of a run that is dead. A run that is alive stops at its next write."""
    with shell.runner() as runner:
        return runner.lock_release(owner)


def stamp(
    shell: Shell,
    target: TargetArgument,
    *,
    purge: Annotated[bool, typer.Option("--purge", help="Also forget the records of later revisions.")] = False,
) -> NoteResult:
    """Record that the table is at TARGET without running anything."""
    with shell.runner() as runner:
        return runner.stamp(target, purge=purge)


def repair(
    shell: Shell,
    *,
    checksum: Annotated[
        str | None,
        typer.Option("--checksum", metavar="REV", help="Accept an applied file as it was edited; recorded."),
    ] = None,
    restored: Annotated[
        bool, typer.Option("--restored", help="The table was restored or re-created: accept its new identity.")
    ] = False,
    drift: Annotated[
        bool, typer.Option("--drift", help="Build again indexes that applied revisions built and that are gone.")
    ] = False,
) -> NoteResult:
    """Bring the history back in line with what stands, one kind of difference at a time."""
    if (checksum is not None) + restored + drift != 1:
        raise UsageError(
            "usage",
            "repair takes exactly one of --checksum REV, --restored and --drift",
            hint="`migrator check` says which difference there is",
        )
    with shell.runner() as runner:
        return runner.repair(checksum=checksum, restored=restored, drift=drift)
