"""Parts that several results share: whom a run talks to, findings, counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from migrator.cli.render import words
from migrator.cli.render.tables import pairs, styled
from migrator.core.events import Counts
from migrator.core.findings import Finding
from migrator.runner.results import Where

COUNTS = ("scanned", "written", "unchanged", "skipped", "conflicts", "gone", "failed")
"""Of Counts, those that tables show, when any row has one."""


def where(place: Where) -> Table:
    return pairs(
        [
            ("env", place.env),
            ("account", place.account),
            ("region", place.region),
            ("endpoint", place.endpoint),
            ("role", place.role),
            ("tables", ", ".join(f"{alias} = {name}" for alias, name in sorted(place.tables.items()))),
        ]
    )


def place_line(place: Where) -> str:
    """`prod (account 222222222222, eu-west-1)`."""
    parts = [f"account {place.account}" if place.account else "", place.region]
    inside = ", ".join(part for part in parts if part)
    return f"{place.env} ({inside})" if inside else place.env


def findings(found: Sequence[Finding]) -> Table:
    grid = Table.grid()
    grid.add_column(overflow="fold")
    for finding in found:
        grid.add_row(Text.assemble(styled(finding.severity.value), f"[{finding.rule}]: {finding.message}"))
        if finding.hint:
            grid.add_row(Text(f"  hint: {finding.hint}"))
    return grid


def counts(numbers: Counts) -> list[str]:
    """The cells of COUNTS; zero is an empty cell."""
    return [words.count(number) if (number := getattr(numbers, name)) else "" for name in COUNTS]


def units(numbers: Iterable[Counts]) -> str:
    """`1,200 read and 900 write units consumed`, or "" where none were."""
    total = sum(numbers, Counts())
    if not total.read_units and not total.write_units:
        return ""
    return f"{total.read_units:,.1f} read and {total.write_units:,.1f} write units consumed"
