"""A plan as text: whom it talks to, what each step does, real items before and after, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from migrator.cli.render import estimate, words
from migrator.cli.render.parts import findings, where
from migrator.cli.render.tables import indented, table
from migrator.runner.results import PlannedRevision, PlannedStep, PlanResult


def drawn(result: PlanResult) -> Iterator[RenderableType]:
    pending = len(result.revisions)
    what = words.counted(pending, "revision") if pending else "nothing pending"
    yield Text(f"plan to {result.target}: {what}; nothing was changed", style="bold")
    yield indented(where(result.where))
    for position, revision in enumerate(result.revisions, 1):
        yield Text("")
        yield from _revision(revision, position, pending)
    if result.estimate is not None:
        yield from estimate.of_plan(result.estimate)
    if result.unknown:
        yield Text("\nnot known:", style="bold")
        yield from (indented(f"- {unknown}") for unknown in result.unknown)
    yield Text(f"\nfingerprint: {result.fingerprint}", style="dim")


def _revision(revision: PlannedRevision, position: int, total: int) -> Iterator[RenderableType]:
    heading = Text.assemble((revision.revision, "bold"), f"  {revision.message}  ({position} of {total})")
    if revision.resumes:
        heading.append("  resumes", style="yellow")
    if revision.destructive:
        heading.append("  destructive: needs --yes", style="red")
    yield heading
    yield indented(Text(f"{revision.path}  checksum {words.digest(revision.checksum)}", style="dim", overflow="fold"))
    for number, step in enumerate(revision.steps, 1):
        yield from _step(step, number)
    begun = len(revision.steps)
    for stage in revision.stages:
        yield indented(Text.assemble(("gate: ", "yellow"), stage.gate))
        yield indented(Text.assemble("if so: ", (stage.command, "bold")), 5)
        if stage.irreversible:
            yield indented(Text.assemble(("no way back from here on: ", "red"), stage.irreversible), 5)
        for number, step in enumerate(stage.steps, begun + 1):
            yield from _step(step, number)
        begun += len(stage.steps)
    yield indented(Text.assemble(("way back: ", "bold"), revision.reversible))
    if revision.serves:
        yield indented(Text.assemble(("serves: ", "green"), f"access pattern {', '.join(revision.serves)}"))
    if revision.breaks:
        yield indented(Text.assemble(("breaks: ", "red"), f"access pattern {', '.join(revision.breaks)}"))
    yield from (indented(f"note: {note}") for note in revision.notes)
    if revision.findings:
        yield indented(findings(revision.findings))


def _step(step: PlannedStep, number: int) -> Iterator[RenderableType]:
    title = Text.assemble(
        f"{number}. {step.title}",
        ("  destructive", "red") if step.destructive else "",
    )
    yield indented(title)
    amount = [] if step.approximate_items is None else [f"{words.counted(step.approximate_items, 'item')}"]
    amount += [] if step.approximate_bytes is None else [words.size(step.approximate_bytes)]
    if amount:
        yield indented(f"about {', '.join(amount)} in {step.table} (approximate: up to six hours old)", 5)
    for sample in step.samples:
        yield indented(words.key(sample["key"]), 5)
        yield indented(_changes(sample), 7)
    if step.estimate is not None:
        yield from estimate.of_step(step.estimate)
    yield from (indented(f"note: {note}", 5) for note in step.notes)


def _changes(sample: Mapping[str, Any]) -> Table:
    """Before and after side by side: `+` is new, `-` goes, `~` changes."""
    before, after = sample.get("before") or {}, sample.get("after") or {}
    rows: list[Sequence[str | Text]] = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        sign, style = ("+", "green") if old is None else ("-", "red") if new is None else ("~", "yellow")
        rows.append(
            (
                Text(sign, style=style),
                name,
                Text(words.value(old), style="dim" if old is None else "red"),
                Text(words.value(new), style="dim" if new is None else "green"),
            )
        )
    return table(("", "attribute", "before", "after"), rows or [("", "(nothing changes)", "", "")])
