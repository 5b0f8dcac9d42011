"""doctor: is everything there that an upgrade needs?"""

from __future__ import annotations

from migrator.cli.options import TargetArgument
from migrator.cli.shell import Shell
from migrator.errors import MigratorError, UsageError
from migrator.runner.results import DoctorResult, Examined


def doctor(
    shell: Shell,
    target: TargetArgument = "head",
) -> DoctorResult:
    """Look whether all is there that an upgrade up to TARGET needs, before anything is changed. Exit 3 for problems.

    Asks, and never tries: what nobody answers is unknown. The client that it holds cannot write.
    """
    try:
        with shell.runner(read_only=True) as runner:
            return runner.doctor(target)
    except UsageError:
        raise
    except MigratorError as exc:
        # Without credentials, in another account, before an endpoint that is not there: that is what is wrong.
        problem = Examined("credentials", "", "problem", f"[{exc.code}] {exc.message}", exc.hint or "")
        return DoctorResult(
            state="problems",
            exit_code=3,
            next=exc.hint or "",
            blocked_by=f"credentials: {exc.message}",
            where=None,
            target=target,
            pending=(),
            checks=(problem,),
        )
