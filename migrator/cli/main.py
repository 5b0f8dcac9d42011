"""The `migrator` command: its groups, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import TyperException
from typer.core import TyperGroup

from migrator.cli import (
    control,
    diffing,
    doctoring,
    everyday,
    exporting,
    failure,
    faults,
    files,
    iam,
    linting,
    mirroring,
    patterns,
    phases,
    plans,
    safety,
    sandbox,
    scripts,
    violations,
)
from migrator.cli.commands import habits, with_habits
from migrator.cli.options import ConfigOption, EnvOption, OutputOption, TargetCommand, VariableOption, VerboseOption
from migrator.cli.ports import House
from migrator.cli.render.text import Answer
from migrator.cli.shell import Habits, Shell
from migrator.cli.signals import Signalled
from migrator.errors import MigratorError

CONTEXT = {"help_option_names": ["-h", "--help"]}

COMMANDS: tuple[tuple[str, str, Callable[..., Answer]], ...] = (
    ("Everyday", "init", files.init),
    ("Everyday", "revision", files.revision),
    ("Everyday", "plan", plans.plan),
    ("Everyday", "upgrade", everyday.upgrade),
    ("Everyday", "status", everyday.status),
    ("Everyday", "check", everyday.check),
    ("History", "history", scripts.history),
    ("History", "current", scripts.current),
    ("History", "heads", scripts.heads),
    ("History", "show", scripts.show),
    ("History", "merge", files.merge),
    ("History", "stamp", safety.stamp),
    ("History", "downgrade", phases.downgrade),
    ("History", "repair", safety.repair),
    ("Phases", "cutover", phases.cutover),
    ("Phases", "contract", phases.contract),
    ("Phases", "verify", phases.verify),
    ("Phases", "mirror run", mirroring.run),
    ("Phases", "mirror status", mirroring.status),
    ("Phases", "rollback", phases.rollback),
    ("Safety", "lint", linting.lint),
    ("Safety", "violations", violations.violations),
    ("Safety", "patterns check", patterns.check),
    ("Safety", "patterns init", patterns.init),
    ("Safety", "diff", diffing.diff),
    ("Safety", "doctor", doctoring.doctor),
    ("Safety", "iam", iam.iam),
    ("Safety", "export", exporting.export),
    ("Safety", "failed list", safety.failed_list),
    ("Safety", "failed retry", safety.failed_retry),
    ("Safety", "failed skip", safety.failed_skip),
    ("Safety", "lock show", safety.lock_show),
    ("Safety", "lock release", safety.lock_release),
    ("Live control", "pause", control.pause),
    ("Live control", "resume", control.resume),
    ("Live control", "throttle", control.throttle),
    ("Live control", "cancel", control.cancel),
    ("Sandbox", "sandbox start", sandbox.start),
    ("Sandbox", "sandbox stop", sandbox.stop),
    ("Sandbox", "sandbox status", sandbox.status),
    ("Sandbox", "sandbox load", sandbox.load),
    ("Sandbox", "sandbox reset", sandbox.reset),
    ("Sandbox", "sandbox fault add", faults.add),
    ("Sandbox", "sandbox fault list", faults.listed),
    ("Sandbox", "sandbox fault clear", faults.clear),
    ("Sandbox", "sandbox demo", sandbox.demo),
    ("Sandbox", "demo", sandbox.demo),
)
"""Panel of the help, name, what runs. In the order of the help."""

GROUPS = {
    "mirror": "The worker that keeps the twins of a key rewrite: run, status.",
    "failed": "Items that a data step could not bring to their new form: list, retry, skip.",
    "lock": "The lock of an environment: show, release.",
    "patterns": "What the application asks of its tables: check, init.",
    "sandbox": "DynamoDB on this machine: start, stop, status, load, reset, fault, demo.",
    "sandbox fault": "Faults of production in the sandbox: add, list, clear.",
}


class InOrder(TyperGroup):
    """Lists commands in the order of COMMANDS; typer by itself puts groups last."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(dict.fromkeys(name.split()[0] for _, name, _ in COMMANDS))


def build_app() -> typer.Typer:
    app = typer.Typer(
        name="migrator",
        cls=InOrder,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
    )
    app.callback()(before)
    groups: dict[str, typer.Typer] = {}
    for panel, name, body in COMMANDS:
        group, _, own = name.rpartition(" ")
        if group and group not in groups:
            groups[group] = typer.Typer(no_args_is_help=True, help=GROUPS[group], context_settings=CONTEXT)
            outer, _, inner = group.rpartition(" ")
            (groups[outer] if outer else app).add_typer(
                groups[group], name=inner, rich_help_panel=None if outer else panel
            )
        home = groups[group] if group else app
        home.command(own, cls=TargetCommand, rich_help_panel=None if group else panel)(with_habits(body))
    return app


def _show_version(asked: bool) -> None:
    if asked:
        try:
            number = version("dynamodb-migrations")
        except PackageNotFoundError:
            number = "(not installed)"
        typer.echo(f"migrator {number}")
        raise typer.Exit


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

    Exit codes: 0 done, 1 error, 2 usage, 3 findings, 4 lock held,
    5 an index is still building, 6 incomplete, 7 stopped by load,
    8 changes pending, 9 at a gate, 130/143 stopped by a signal.
    """
    del show_version
    shell: Shell = ctx.obj
    given = {"env": env, "config": config, "variable": variable, "output": output, "verbose": verbose}
    shell.habits = habits(given).over(shell.habits)


app = build_app()


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
    for place, word in enumerate(words):
        if word in {"-o", "--output"}:
            form = "".join(words[place + 1 : place + 2])
        elif word.startswith(("-o", "--output=")):
            form = word.removeprefix("--output=").removeprefix("-o")
    return form == "json"
