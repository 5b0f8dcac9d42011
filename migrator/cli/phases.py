"""contract and rollback: the two ways on from a gate; downgrade, the way back from applied."""

from __future__ import annotations

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
