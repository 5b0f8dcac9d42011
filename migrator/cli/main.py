"""The `migrator` command: its groups, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer
from typer import TyperException

from migrator.cli import everyday, failure, history, phases, safety, sandbox
from migrator.cli.commands import habits
from migrator.cli.options import ConfigOption, EnvOption, OutputOption, VariableOption, VerboseOption
from migrator.cli.ports import House
from migrator.cli.shell import Habits, Shell
from migrator.cli.signals import Signalled
from migrator.errors import MigratorError

app = typer.Typer(
    name="migrator",
    help="Schema migrations and index evolution for Amazon DynamoDB.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for room in (everyday, history, phases, safety, sandbox):
    room.register(app)


def _show_version(asked: bool) -> None:
    if asked:
        try:
            number = version("dynamodb-migrations")
        except PackageNotFoundError:
            number = "(not installed)"
        typer.echo(f"migrator {number}")
        raise typer.Exit


@app.callback()
def before(
    ctx: typer.Context,
    env: EnvOption = None,
    config: ConfigOption = None,
    variable: VariableOption = None,
    output: OutputOption = None,
    verbose: VerboseOption = False,
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave."),
    ] = False,
) -> None:
    """Schema migrations and index evolution for Amazon DynamoDB.

    Exit codes: 0 done, 1 error, 2 usage, 3 findings, 4 lock held, 5 an index is still building, 6 incomplete, 7 stopped
    by load, 8 changes pending, 9 at a gate, 130/143 stopped by a signal after a checkpoint.
    """
    del show_version
    shell: Shell = ctx.obj
    given = {"env": env, "config": config, "variable": variable, "output": output, "verbose": verbose}
    shell.habits = habits(given).over(shell.habits)


def main(arguments: Sequence[str] | None = None, house: House | None = None) -> int:
    """Run one command; its exit code. `house` stands in for `migrator.wiring` in tests."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    shell = Shell(house)
    config = os.environ.get("MIGRATOR_CONFIG")
    shell.habits = Habits(
        env=os.environ.get("MIGRATOR_ENV") or None,
        config=Path(config) if config else None,
        # A command line that cannot be parsed must still be answered in the form it asks for.
        output="json" if asks_for_json(words) else None,
        verbose="--verbose" in words,
    )
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with shell.signals.handled():
            return run(words, shell)
    except BrokenPipeError:
        # Whoever read our output left. Python would complain once more while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def run(words: Sequence[str], shell: Shell) -> int:
    """One command, its errors told."""
    try:
        return int(app(list(words), standalone_mode=False, prog_name="migrator", obj=shell) or 0)
    except Signalled as exc:
        return failure.tell(failure.of_signal(exc.number), shell)
    except MigratorError as exc:
        return failure.tell(failure.of_error(exc, shell.signals.received), shell, cause=exc)
    except TyperException as exc:
        context = getattr(exc, "ctx", None)
        _, _, shell.command = (context.command_path if context is not None else "").partition(" ")
        if not exc.format_message():  # no arguments: the help was shown
            return 2
        return failure.tell(failure.of_usage(exc.format_message(), shell.command), shell)
    except BrokenPipeError:
        raise
    except Exception as exc:  # noqa: BLE001 -- the edge: nothing may leave as a bare traceback
        return failure.tell(failure.of_surprise(exc), shell, cause=exc)


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether `-o json` stands there, in any of its spellings; the last one counts."""
    form = ""
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word in {"-o", "--output"}:
            form = after
        elif word.startswith(("-o", "--output=")):
            form = word.removeprefix("--output=").removeprefix("-o")
    return form == "json"
