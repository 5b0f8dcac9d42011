"""What a run did, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render import words
from migrator.cli.render.parts import COUNTS, counts, place_line, units
from migrator.cli.render.tables import indented, styled, table
from migrator.runner.results import RunResult


def drawn(result: RunResult) -> Iterator[RenderableType]:
    yield Text.assemble(styled(result.state), f": {place_line(result.where)}", style="bold")
    if result.outcomes:
        yield Text("")
        yield table(
            ("revision", "message", "status", "time", *COUNTS),
            [
                (
                    outcome.revision,
                    outcome.message,
                    styled(outcome.status),
                    words.duration(outcome.seconds),
                    *counts(outcome.counts),
                )
                for outcome in result.outcomes
            ],
            right=("time", *COUNTS),
        )
        if consumed := units(outcome.counts for outcome in result.outcomes):
            yield Text(consumed, style="dim")
    for outcome in result.outcomes:
        if outcome.error:
            yield Text.assemble("\n", (outcome.revision, "bold"), ": ", (outcome.error, "red"))
        yield from (indented(example) for example in outcome.examples)
    yield Text(f"\ncurrent: {', '.join(result.current) or 'base'}")
