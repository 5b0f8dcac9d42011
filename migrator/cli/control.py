"""Live control: what one shell asks of the run in another."""

from __future__ import annotations

from typing import Annotated

import typer

from migrator.cli.options import seconds
from migrator.cli.shell import Shell
from migrator.config import parse_budget
from migrator.errors import UsageError
from migrator.runner.results import ControlResult


def budget(text: str) -> str:
    """`500` or `25%`, as the configuration writes budgets."""
    try:
        parse_budget(text)
    except ValueError as exc:
        raise typer.BadParameter(str(exc)) from exc
    return text.strip()


BecauseOption = Annotated[str, typer.Option("--because", metavar="REASON", help="Shown wherever the request is.")]


def pause(
    shell: Shell,
    *,
    lasting: Annotated[
        float | None,
        typer.Option(
            "--for", parser=seconds, metavar="DURATION", help="Go on by itself after so long. Default: never."
        ),
    ] = None,
    because: BecauseOption = "",
) -> ControlResult:
    """Hold the run that is under way; it keeps its lock and says who paused it."""
    with shell.runner() as runner:
        return runner.pause(seconds=lasting, because=because)


def resume(shell: Shell) -> ControlResult:
    """Let a paused run go on."""
    with shell.runner() as runner:
        return runner.resume()


def throttle(
    shell: Shell,
    *,
    write_units: Annotated[
        str | None, typer.Option("--write-units", parser=budget, metavar="BUDGET", help="Units a second, or 25%.")
    ] = None,
    read_units: Annotated[
        str | None, typer.Option("--read-units", parser=budget, metavar="BUDGET", help="Units a second, or 25%.")
    ] = None,
    lasting: Annotated[
        float | None,
        typer.Option("--for", parser=seconds, metavar="DURATION", help="For so long. Default: 1h."),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Back to the configured budgets.")] = False,
) -> ControlResult:
    """Give the run that is under way other budgets, for a time."""
    units = write_units or read_units
    if bool(units) == off or (off and lasting is not None):
        raise UsageError(
            "usage",
            "throttle takes --write-units, --read-units or both; or --off alone",
            hint="such as `migrator throttle --write-units 500 --for 2h`",
        )
    with shell.runner() as runner:
        return runner.throttle(write_units=write_units or "", read_units=read_units or "", seconds=lasting)


def cancel(shell: Shell, *, because: BecauseOption = "") -> ControlResult:
    """End the run that is under way at a checkpoint, as SIGTERM would: it exits 143."""
    with shell.runner() as runner:
        return runner.cancel(because=because)
