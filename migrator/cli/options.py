"""The options that several commands take, and how their values are read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from migrator.config import parse_duration

_MINUS = "\N{MINUS SIGN}"


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


class Engine(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


def seconds(text: str) -> float:
    """`75`, `75s`, `50m`, `1h30m` in seconds."""
    try:
        return parse_duration(text)
    except ValueError as exc:
        raise typer.BadParameter(str(exc)) from exc


def target(text: str) -> str:
    return text.replace(_MINUS, "-", 1) if text.startswith(_MINUS) else text


def variables(pairs: Iterable[str]) -> dict[str, str]:
    """`-x stage=dev` -> {"stage": "dev"}."""
    read = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} is not key=value", param_hint="-x")
        read[name] = value
    return read


class TargetCommand(TyperCommand):
    """A command whose target may be `-1`, which is no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [re.sub(r"^-(?=[0-9]+$)", _MINUS, word) for word in args])


# --- every command ----------------------------------------------------------------------------------------------------

_HABITS = "Habits"
EnvOption = Annotated[
    str | None,
    typer.Option(
        "--env", "-e", metavar="NAME", help="Environment. Else MIGRATOR_ENV, else default_env.", rich_help_panel=_HABITS
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="Configuration file. Else MIGRATOR_CONFIG, else the nearest one upwards.",
        rich_help_panel=_HABITS,
    ),
]
VariableOption = Annotated[
    list[str] | None,
    typer.Option("-x", metavar="KEY=VALUE", help="A variable for table names; repeatable.", rich_help_panel=_HABITS),
]
OutputOption = Annotated[
    Output | None,
    typer.Option(
        "--output",
        "-o",
        help="text (default) or json: one document on stdout. Of `plan` also markdown, html.",
        rich_help_panel=_HABITS,
    ),
]
VerboseOption = Annotated[
    bool,
    typer.Option("--verbose", help="More log; tracebacks of unexpected errors.", rich_help_panel=_HABITS),
]

# --- several commands -------------------------------------------------------------------------------------------------

TargetArgument = Annotated[
    str, typer.Argument(parser=target, metavar="TARGET", help="head, heads, a revision or prefix, +1, REV+1.")
]
DownTargetArgument = Annotated[
    str, typer.Argument(parser=target, metavar="TARGET", help="base, a revision or prefix, -1, REV-1.")
]
RevisionArgument = Annotated[
    str | None, typer.Argument(metavar="[REV]", help="A revision or a unique prefix; the one in question by default.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do what cannot be taken back.")]
LockTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--lock-timeout",
        parser=seconds,
        metavar="DURATION",
        help="How long to wait for another run's lock, such as 75s. Default: its lease and 15 s.",
    ),
]
DropAdoptedOption = Annotated[
    bool, typer.Option("--drop-adopted", help="Also drop indexes that stood there before the revision.")
]
FromExportOption = Annotated[
    Path | None,
    typer.Option(
        "--from-export", metavar="FOLDER", help="Read this export of the table, as S3 has it, in place of the table."
    ),
]
FromBaseOption = Annotated[
    bool, typer.Option("--from-base", help="The table has no history: begin with the first revision.")
]
