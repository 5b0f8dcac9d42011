"""How a function that answers with a result becomes a command: habits in, document or text and exit code out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer

from migrator.cli.options import ConfigOption, EnvOption, Output, OutputOption, VariableOption, VerboseOption, variables
from migrator.cli.render.document import document, text
from migrator.cli.render.text import Answer, show
from migrator.cli.reports import page
from migrator.cli.reports.markdown import markdown
from migrator.cli.shell import Habits, Shell
from migrator.errors import UsageError
from migrator.runner.results import PlanResult

HABITS: dict[str, tuple[Any, Any]] = {
    "env": (EnvOption, None),
    "config": (ConfigOption, None),
    "variable": (VariableOption, None),
    "output": (OutputOption, None),
    "verbose": (VerboseOption, False),
}
"""Parameter -> its option and its default."""


def with_habits(body: Callable[..., Answer]) -> Callable[..., None]:
    """The function that typer sees: `body`'s options and the habits, without its shell."""

    def run(ctx: typer.Context, **given: Any) -> None:
        shell: Shell = ctx.obj
        _, _, shell.command = ctx.command_path.partition(" ")
        shell.habits = habits(given).over(shell.habits)
        if shell.habits.output in (Output.MARKDOWN, Output.HTML) and shell.command != "plan":
            raise UsageError(
                "usage",
                f"-o {shell.habits.output} is a form of `plan` alone",
                hint="-o text or -o json has every result",
            )
        answer(shell, body(shell, **given))

    _, *own = inspect.signature(body, eval_str=True).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *(parameter.replace(kind=keyword) for parameter in own),
        *(inspect.Parameter(n, keyword, default=default, annotation=kind) for n, (kind, default) in HABITS.items()),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__name__, run.__doc__ = body.__name__, body.__doc__
    return run


def habits(given: dict[str, Any]) -> Habits:
    """Takes the habits out of what typer gives."""
    output = given.pop("output")
    return Habits(
        env=given.pop("env"),
        config=given.pop("config"),
        variables=variables(given.pop("variable") or ()),
        output=None if output is None else output.value,
        verbose=given.pop("verbose"),
    )


def answer(shell: Shell, result: Answer) -> None:
    """Print the result and leave with its exit code."""
    results = shell.results()
    if shell.is_json:
        results.file.write(text(document(result, shell.command)) + "\n")
    elif isinstance(result, PlanResult) and shell.habits.output == Output.MARKDOWN:
        results.file.write(markdown(result))
    elif isinstance(result, PlanResult) and shell.habits.output == Output.HTML:
        results.file.write(page.html(result, shell.now()))
    else:
        show(result, results)
    results.file.flush()
    raise typer.Exit(result.exit_code)
