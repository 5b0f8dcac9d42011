"""Access patterns as text: each with how it is asked and since when it is served, then what was found."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render.parts import place_line
from migrator.cli.render.tables import indented, styled, table
from migrator.cli.render.words import counted
from migrator.runner.results import PatternLine, PatternsResult

SHOWN = 8
"""How many items of a pattern's answers are shown."""


def drawn(result: PatternsResult) -> Iterator[RenderableType]:
    what = f": {counted(len(result.patterns), 'access pattern')} of {result.file}"
    asked = f", asked of {place_line(result.where)}" if result.where is not None else ""
    yield Text.assemble(styled(result.state), what + asked, style="bold")
    if result.patterns:
        yield Text("")
        heads = ("", "question", "asks", "served") if result.where is None else ("", "question", "asks", "gets", "is")
        yield table(heads, [_row(one, was_asked=result.where is not None) for one in result.patterns])
    for finding in result.findings:
        yield Text("")
        yield Text(f"{finding.path}:{finding.line}", style="bold", overflow="fold")
        yield indented(Text.assemble(styled(finding.severity.value), f"[{finding.rule}]: {finding.message}"))
        if finding.hint:
            yield indented(f"hint: {finding.hint}", by=4)


def _row(one: PatternLine, *, was_asked: bool) -> list[str | Text]:
    asks = f"{one.operation.title()} {one.index or one.table or 'the table'}"
    if not was_asked:
        served = f"since {one.first}" if one.state == "served" and one.first else styled(one.state)
        return [one.name, one.question, asks, served]
    return [one.name, one.question, asks, _gets(one), _verdict(one)]


def _gets(one: PatternLine) -> str:
    shown = [text for asked in one.asked for text in asked.answer]
    more = f", and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more or ("nothing" if one.asked else "")


def _verdict(one: PatternLine) -> Text:
    if not one.asked:
        return Text("without example", style="dim")
    worst = next((asked.state for asked in one.asked if asked.state != "right"), "right")
    pages = max(asked.pages for asked in one.asked)
    return Text.assemble(styled(worst), f", in {pages} pages too" if pages > 1 and worst == "right" else "")
