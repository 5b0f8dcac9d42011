"""What an index cannot take, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render import words
from migrator.cli.render.parts import place_line
from migrator.cli.render.tables import indented, pairs, styled, table
from migrator.runner.results import IndexKey, ViolationsResult


def drawn(result: ViolationsResult) -> Iterator[RenderableType]:
    yield Text.assemble(
        styled(result.state), f": {result.index} of {result.table}, {place_line(result.where)}", style="bold"
    )
    origin = f"{'pending' if result.is_pending else 'applied'} revision {result.revision}" if result.revision else ""
    yield pairs(
        [
            ("keys", " / ".join(", ".join(map(_key, keys)) for keys in _by_role(result.keys) if keys)),
            ("declared by", origin or "no migration: it is on the live table"),
            ("items", f"{words.count(result.scanned)} scanned, {result.read_units:,.1f} read units"),
            ("indexable", words.count(result.indexable)),
            ("sparse", f"{words.count(result.sparse)} lack a key attribute and stay out, which is no violation"),
            ("violators", words.count(result.violating)),
            ("listed in", result.listed_in),
            ("repair", result.generated),
        ]
    )
    if result.problems:
        yield Text("")
        yield table(
            ("attribute", "reason", "items"),
            [(one.attribute, one.code, words.count(one.items)) for one in result.problems],
            right=("items",),
        )
    for violator in result.violators:
        yield Text("")
        yield Text(words.key(violator.key), overflow="fold")
        for problem in violator.problems:
            yield indented(Text.assemble((problem.code, "red"), f": {problem.attribute}: {problem.reason}"))
    if (more := result.violating - len(result.violators)) > 0:
        yield Text("")
        listed = result.listed_in or "--out violators.csv lists them"
        yield Text(f"and {words.count(more)} more: {listed}")


def _by_role(keys: tuple[IndexKey, ...]) -> list[list[IndexKey]]:
    return [[key for key in keys if key.role == role] for role in ("partition", "sort")]


def _key(key: IndexKey) -> str:
    return key.attribute if key.type == "S" else f"{key.type}({key.attribute})"
