"""Charts as inline SVG: bars, columns, a timeline. Colours are classes of the page: they follow its theme."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

WIDE, HALF = 980, 540
"""Pixels: across a card, or beside another chart; text keeps its size."""
_ROW = 26
LETTER = 7.2
"""Pixels that a letter takes at the most, on the average of a line."""


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    shown: str
    """The figure, as text."""
    kind: str = ""
    """A class of the page: `table`, `index`, `hot`, `wait`."""
    begin: float = 0.0
    """In a timeline: where it begins."""


def bars(rows: Sequence[Bar], title: str, *, width: int = WIDE) -> str:
    """One bar a row: label, bar, figure."""
    most = max((row.begin + row.value for row in rows), default=0.0) or 1.0
    figures = 24 + round(LETTER * max((len(row.shown) for row in rows), default=0))
    label = min(width * 2 // 5, 20 + round(LETTER * max((len(row.label) for row in rows), default=0)))
    letters = int((label - 20) / LETTER)
    room = width - label - figures
    parts = []
    for number, row in enumerate(rows):
        top = number * _ROW
        left = label + row.begin / most * room
        length = max(2.0, row.value / most * room)
        parts.append(
            f"<g><title>{_text(row.label)}: {_text(row.shown)}</title>"
            f'<text class="label" x="{label - 10}" y="{top + 17}" text-anchor="end">'
            f"{_text(_cut(row.label, letters))}</text>"
            f'<rect class="track" x="{label}" y="{top + 6}" width="{room}" height="14" rx="4"/>'
            f'<rect class="bar {_text(row.kind)}" x="{left:.1f}" y="{top + 6}" width="{length:.1f}" '
            f'height="14" rx="4"/>'
            f'<text class="figure" x="{width - figures + 10}" y="{top + 17}">{_text(row.shown)}</text></g>'
        )
    return _svg(parts, width, len(rows) * _ROW + 4, title)


def columns(rows: Sequence[Bar], title: str, axis: str) -> str:
    """One column a row, its figure above and its label below; `axis` says what the labels are."""
    width, height, foot = 380, 120, 40
    most = max((row.value for row in rows), default=0.0) or 1.0
    step = (width - 20) / max(1, len(rows))
    thick = min(54.0, step * 0.7)
    parts = [f'<line class="axis" x1="0" x2="{width}" y1="{height + 16}" y2="{height + 16}"/>']
    for number, row in enumerate(rows):
        middle = 10 + step * (number + 0.5)
        tall = max(1.5, row.value / most * (height - 16)) if row.value else 0.0
        top = height + 16 - tall
        parts.append(
            f"<g><title>{_text(row.label)}: {_text(row.shown)}</title>"
            f'<rect class="bar {_text(row.kind)}" x="{middle - thick / 2:.1f}" y="{top:.1f}" width="{thick:.1f}" '
            f'height="{tall:.1f}" rx="3"/>'
            f'<text class="figure" x="{middle:.1f}" y="{top - 5:.1f}" text-anchor="middle">{_text(row.shown)}</text>'
            f'<text class="label" x="{middle:.1f}" y="{height + 32}" text-anchor="middle">{_text(row.label)}</text></g>'
        )
    parts.append(
        f'<text class="axis-name" x="{width / 2}" y="{height + foot + 10}" text-anchor="middle">{_text(axis)}</text>'
    )
    return _svg(parts, width, height + foot + 16, title)


def _svg(parts: Sequence[str], width: int, height: int, title: str) -> str:
    return (
        f'<svg role="img" aria-label="{_text(title)}" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        + "".join(parts)
        + "</svg>"
    )


def _text(text: str) -> str:
    return html.escape(text, quote=True)


def _cut(text: str, most: int) -> str:
    """Both ends are kept: names of a kind differ there."""
    if len(text) <= most:
        return text
    tail = most // 3
    return text[: most - tail - 1] + "…" + text[-tail:]
