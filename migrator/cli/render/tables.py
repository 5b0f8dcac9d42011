"""Tables and paragraphs that read well in a window of 100 columns and in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

STYLES = {
    "applied": "green",
    "up-to-date": "green",
    "clean": "green",
    "same": "green",
    "ready": "green",
    "done": "green",
    "partly": "red",
    "not-begun": "yellow",
    "ok": "green",
    "warnings": "yellow",
    "unknown": "yellow",
    "problem": "red",
    "problems": "red",
    "different": "red",
    "ACTIVE": "green",
    "pending": "cyan",
    "started": "yellow",
    "building": "yellow",
    "incomplete": "yellow",
    "at-gate": "yellow",
    "stopped": "yellow",
    "out-of-order": "yellow",
    "failed": "red",
    "violators": "red",
    "missing-file": "red",
    "right": "green",
    "served": "green",
    "wrong": "red",
    "not-served": "red",
    "not-ready": "yellow",
    "findings": "yellow",
    "error": "red",
    "warning": "yellow",
}


MOST_WHOLE = 20
"""Columns: a longer id folds, rather than to push everything else out of the window."""


def styled(status: str) -> Text:
    return Text(status, style=STYLES.get(status, ""))


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
    drop_empty: bool = True,
) -> Table:
    """Columns without lines between them: they survive a pipe. Long words fold, none is cut. Empty columns go.

    `right` are numbers. They and the `whole`, which people copy, stay in one line, where that leaves room for the rest.
    """
    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    shown = [n for n, _ in enumerate(heads) if not drop_empty or any(row[n].plain for row in cells)]
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for n in shown:
        number = heads[n] in right
        longest = max((row[n].cell_len for row in cells), default=0)
        least = longest if heads[n] in whole and longest <= MOST_WHOLE else 0
        grid.add_column(
            heads[n],
            overflow="fold",
            justify="right" if number else "left",
            no_wrap=number,
            min_width=max(len(heads[n]), least),
        )
    for row in cells:
        grid.add_row(*(row[n] for n in shown))
    return grid


def pairs(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Names and what they are; those that are nothing are left out."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, content in rows:
        shown = Text(content) if isinstance(content, str) else content
        if shown.plain:
            grid.add_row(name, shown)
    return grid


def indented(content: Table | Text | str, by: int = 2) -> Padding:
    """Shifted right, continuation lines too."""
    return Padding(Text(content, overflow="fold") if isinstance(content, str) else content, (0, 0, 0, by))
