"""mirror run and mirror status: for applications that cannot write both sides of a key rewrite themselves."""

from __future__ import annotations

from migrator.cli.options import LockTimeoutOption, RevisionArgument
from migrator.cli.shell import Shell
from migrator.runner.results import MirrorResult


def run(shell: Shell, revision: RevisionArgument = None, *, lock_timeout: LockTimeoutOption = None) -> MirrorResult:
    """Follow the tables' streams and keep the twins of a key rewrite, until it is over or a signal comes."""
    with shell.runner() as runner:
        return runner.mirror_run(revision, lock_timeout=lock_timeout)


def status(shell: Shell, revision: RevisionArgument = None) -> MirrorResult:
    """What the mirror of a key rewrite says of itself: which phase it follows, and since when."""
    with shell.runner(read_only=True) as runner:
        return runner.mirror_status(revision)
