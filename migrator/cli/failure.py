"""Errors at the edge: what happened and what to type next on stderr, a document on stdout with `-o json`."""

from __future__ import annotations

import signal
import sys
import traceback
from dataclasses import dataclass

from rich.text import Text

from migrator.cli.render.document import refusal, text
from migrator.cli.shell import Shell
from migrator.errors import Interrupted, MigratorError

REPORT = "run it again with --verbose and report the traceback, without your data, on the project's issue tracker"


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    message: str
    hint: str | None
    exit_code: int


def of_error(exc: MigratorError, received: int | None) -> Failure:
    exit_code = exc.exit_code
    if isinstance(exc, Interrupted) and received is not None:
        exit_code = 128 + received
    return Failure(exc.code, exc.message, exc.hint, exit_code)


def of_signal(number: int) -> Failure:
    name = signal.Signals(number).name
    return Failure("interrupted", f"{name} before anything was begun", "run the same command again", 128 + number)


def of_usage(message: str, command: str) -> Failure:
    named = f"migrator {command}".strip()
    # The words of whatever library checked the value.
    message = message.replace("Value error, ", "")
    return Failure("usage", message, f"see `{named} --help`", 2)


def of_surprise(exc: BaseException) -> Failure:
    return Failure("internal", f"{type(exc).__name__}: {exc}", REPORT, 1)


def tell(failure: Failure, shell: Shell, *, cause: BaseException | None = None) -> int:
    """Print it; the exit code. The traceback of `cause` is shown only to who asked for it."""
    remarks = shell.remarks()
    if cause is not None and shell.habits.verbose:
        sys.stderr.write("".join(traceback.format_exception(cause)))
    remarks.print(Text.assemble((f"error[{failure.code}]", "bold red"), f": {failure.message}"), soft_wrap=True)
    if failure.hint:
        remarks.print(Text.assemble(("  hint", "bold"), f": {failure.hint}"), soft_wrap=True)
    if shell.is_json:
        content = refusal(
            shell.command,
            code=failure.code,
            message=failure.message,
            hint=failure.hint,
            exit_code=failure.exit_code,
        )
        sys.stdout.write(text(content) + "\n")
        sys.stdout.flush()
    return failure.exit_code
