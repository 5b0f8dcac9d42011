"""iam: the least-privilege policy of a command."""

from __future__ import annotations

from typing import Annotated

import typer

from migrator.cli.options import target as parsed_target
from migrator.cli.shell import Shell
from migrator.errors import MigratorError, UsageError
from migrator.runner.results import IamResult


def iam(
    shell: Shell,
    command: Annotated[
        str, typer.Argument(metavar="[COMMAND]", help="What the role is to run. Default: upgrade.")
    ] = "upgrade",
    *,
    target: Annotated[
        str,
        typer.Option("--target", parser=parsed_target, metavar="TARGET", help="Of an upgrade: up to which revision."),
    ] = "head",
    files_only: Annotated[
        bool, typer.Option("--files-only", help="Ask nothing of AWS: as if no revision were applied.")
    ] = False,
) -> IamResult:
    """Print the IAM policy that a command needs, and nothing more: for an upgrade, of exactly what is pending.

    Without credentials it goes by the files alone, with placeholders for what they do not say.
    """
    why = "--files-only"
    if not files_only:
        try:
            with shell.runner(read_only=True) as runner:
                return runner.iam(command, target)
        except UsageError:
            raise
        except MigratorError as exc:
            # Whoever asks which rights are missing may have none yet.
            why = f"[{exc.code}] {exc.message}"
    return shell.house.iam_from_files(shell.project(), command, target, why)
