"""diff: live tables against files, or against another environment."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from migrator.cli.shell import Shell
from migrator.errors import UsageError
from migrator.runner.results import DiffResult


def diff(
    shell: Shell,
    *,
    other: Annotated[
        str | None, typer.Option("--with", metavar="ENV", help="Against the live tables of this environment instead.")
    ] = None,
    all_files: Annotated[
        bool, typer.Option("--all-files", help="Against all files, what is pending too, not the applied ones.")
    ] = False,
) -> DiffResult:
    """Compare live tables with what the applied files say, or with another environment, field by field.

    Exit 3 for differences. Changes nothing.
    """
    if other is None:
        of: Literal["applied", "files"] = "files" if all_files else "applied"
        with shell.runner(read_only=True) as runner:
            return runner.diff(of)
    if all_files:
        raise UsageError("usage", "--with and --all-files exclude each other", hint="two environments, or the files")
    there = shell.house.open_project(shell.habits.config, other, dict(shell.habits.variables))
    with shell.runner_of(there, read_only=True) as runner:
        standing = runner.declared("live")
    with shell.runner(read_only=True) as runner:
        return runner.diff_with(other, standing)
