"""cutover and contract: on from a gate; rollback, back from it; verify; downgrade, the way back from applied."""

from __future__ import annotations

from typing import Annotated

import typer

from migrator.cli.options import (
    DownTargetArgument,
    DropAdoptedOption,
    LockTimeoutOption,
    RevisionArgument,
    YesOption,
)
from migrator.cli.shell import Shell
from migrator.runner.results import RunResult


def contract(
    shell: Shell, revision: RevisionArgument = None, *, yes: YesOption = False, lock_timeout: LockTimeoutOption = None
) -> RunResult:
    """Answer the gate of a revision with yes: complete it. There is no way back; needs --yes."""
    with shell.runner() as runner:
        return runner.contract(revision, yes=yes, lock_timeout=lock_timeout)


def cutover(
    shell: Shell, revision: RevisionArgument = None, *, yes: YesOption = False, lock_timeout: LockTimeoutOption = None
) -> RunResult:
    """Move the readers of a key rewrite to the new side; `rollback` still leads back.

    Compares both sides first, and refuses where they differ.
    """
    with shell.runner() as runner:
        return runner.cutover(revision, yes=yes, lock_timeout=lock_timeout)


def verify(
    shell: Shell,
    revision: RevisionArgument = None,
    *,
    repair: Annotated[
        bool, typer.Option("--repair", help="Bring what differs to what the authority has, guarded.")
    ] = False,
    lock_timeout: LockTimeoutOption = None,
) -> RunResult:
    """Compare both sides of a key rewrite, both ways, by content. Exit 6 where they differ."""
    with shell.runner() as runner:
        return runner.verify(revision, repair=repair, lock_timeout=lock_timeout)


def rollback(
    shell: Shell,
    revision: RevisionArgument = None,
    *,
    drop_adopted: DropAdoptedOption = False,
    lock_timeout: LockTimeoutOption = None,
) -> RunResult:
    """Take back a revision that is unfinished or at its gate. For an applied one see downgrade."""
    with shell.runner() as runner:
        return runner.rollback(revision, drop_adopted=drop_adopted, lock_timeout=lock_timeout)


def downgrade(
    shell: Shell,
    target: DownTargetArgument,
    *,
    drop_adopted: DropAdoptedOption = False,
    lock_timeout: LockTimeoutOption = None,
) -> RunResult:
    """Undo applied revisions down to TARGET, which stays applied. For an unfinished one see rollback."""
    with shell.runner() as runner:
        return runner.downgrade(target, drop_adopted=drop_adopted, lock_timeout=lock_timeout)
