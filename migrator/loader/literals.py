"""Python source as a formatter leaves it: strings, calls and lists that are either on one line or one entry a line."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent

WIDTH = 88
"""What most formatters allow a line; what is exploded for it ends in a comma, so that wider ones leave it alone."""


def quoted(text: str) -> str:
    """The literal of a string: in double quotes, unless single ones save escapes."""
    plain = repr(text)
    if plain[0] == '"' or '"' in text:
        return plain
    return '"' + plain[1:-1] + '"'


def listing(before: str, entries: Iterable[str], after: str, *, used: int = 0) -> str:
    """`before`, the entries with commas, `after`: on one line where `used` more characters leave it room."""
    entries = list(entries)
    line = before + ", ".join(entries) + after
    if len(line) + used <= WIDTH and "\n" not in line:
        return line
    return exploded(before, entries, after)


def exploded(before: str, entries: Iterable[str], after: str) -> str:
    """One entry a line, each with its comma."""
    return "\n".join([before, *(indent(f"{entry},", "    ") for entry in entries), after])
