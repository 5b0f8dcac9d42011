"""Differences between tables, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render.parts import place_line
from migrator.cli.render.tables import styled, table
from migrator.runner.results import DiffResult


def drawn(result: DiffResult) -> Iterator[RenderableType]:
    yield Text.assemble(styled(result.state), f": {place_line(result.where)}", style="bold")
    if not result.differences:
        yield Text(f"{result.left} and {result.right} are the same")
        return
    yield Text("")
    yield table(
        ("table", "object", "field", result.left, result.right),
        [(one.alias, one.object, one.field, one.left, one.right) for one in result.differences],
    )
