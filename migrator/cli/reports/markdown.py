"""A plan as Markdown for a pull request: figures first, samples folded, content of items never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from migrator.cli.render import amounts, estimate, words
from migrator.cli.render.parts import place_line
from migrator.runner.estimates.figures import KeySpread, StepEstimate
from migrator.runner.results import PlannedRevision, PlannedStep, PlanResult

MARKER = "<!-- migrator plan -->"
"""The first line: by it a job finds its earlier comment and replaces it."""
MOST = 60_000
"""Characters: a comment on GitHub holds 65,536."""


def markdown(result: PlanResult) -> str:
    """The whole comment; what does not fit is said to be left out."""
    lines = list(_lines(result))
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > MOST:
            kept.append(
                "\n</details>\n\n… the rest is in the text, JSON and HTML of this plan."
                if _is_open(kept)
                else "\n… the rest is in the text, JSON and HTML of this plan."
            )
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def _is_open(lines: Sequence[str]) -> bool:
    text = "\n".join(lines)
    return text.count("<details>") > text.count("</details>")


def _lines(result: PlanResult) -> Iterator[str]:
    pending = len(result.revisions)
    what = words.counted(pending, "revision") if pending else "nothing pending"
    yield MARKER
    yield f"## Plan for {plain(place_line(result.where))}: {what}"
    yield ""
    yield f"Target {code(result.target)}. Nothing was changed."
    if result.blocked_by:
        yield f"\n> **Blocked:** {plain(result.blocked_by)}"
    if result.estimate is not None:
        yield ""
        yield f"**Estimate** (approximate; {estimate.basis(result.estimate)})"
        yield ""
        yield "| | |\n|---|---|"
        yield from (f"| {name} | {_cell(figure)} |" for name, figure in estimate.totals(result.estimate) if str(figure))
    findings = [(one.revision, finding) for one in result.revisions for finding in one.findings]
    if findings:
        yield ""
        yield "| finding | revision | |\n|---|---|---|"
        for of, finding in findings:
            sign = {"error": "🛑", "warning": "⚠️"}.get(finding.severity.value, "ℹ️")  # noqa: RUF001
            hint = f"<br>{_cell(finding.hint)}" if finding.hint else ""
            yield f"| {sign} `{finding.rule}` | `{of}` | {_cell(finding.message)}{hint} |"
    for revision in result.revisions:
        yield from _revision(revision)
    if result.unknown:
        yield "\n<details><summary>Not known</summary>\n"
        yield from (f"- {plain(one)}" for one in result.unknown)
        yield "\n</details>"
    yield f"\nNext: {code(result.next or 'nothing to do')} · fingerprint {code(words.digest(result.fingerprint))}"


def _revision(revision: PlannedRevision) -> Iterator[str]:
    marks = [mark for mark, on in (("resumes", revision.resumes), ("**destructive**", revision.destructive)) if on]
    yield f"\n### `{revision.revision}` {plain(revision.message)}{' · ' + ', '.join(marks) if marks else ''}"
    yield f"\n{code(revision.path)}"
    yield ""
    for number, step in enumerate(revision.steps, 1):
        yield from _step(step, number)
    begun = len(revision.steps)
    for stage in revision.stages:
        yield f"\n**Gate:** {plain(stage.gate)}<br>"
        yield f"If so: {code(stage.command)}"
        if stage.irreversible:
            yield f"<br>**No way back from here on:** {plain(stage.irreversible)}"
        yield ""
        for number, step in enumerate(stage.steps, begun + 1):
            yield from _step(step, number)
        begun += len(stage.steps)
    yield f"\n**Way back:** {plain(revision.reversible)}"
    if revision.serves:
        yield f"\n✅ **Serves** access pattern {', '.join(code(name) for name in revision.serves)}"
    if revision.breaks:
        yield f"\n🛑 **Breaks** access pattern {', '.join(code(name) for name in revision.breaks)}"
    yield from (f"\n*Note:* {plain(note)}" for note in revision.notes)


def _step(step: PlannedStep, number: int) -> Iterator[str]:
    yield f"{number}. {code(step.title)}{' **destructive**' if step.destructive else ''}"
    if step.estimate is not None:
        rows = list(_figures(step.estimate))
        if rows:
            yield ""
            yield from (f"   - {name}: {plain(figure)}" for name, figure in rows)
        for spread in step.estimate.keys:
            yield from _keys(spread)
    if step.samples:
        yield "\n   <details><summary>Before and after</summary>\n"
        yield "   | item | attribute | before | after |\n   |---|---|---|---|"
        for sample in step.samples:
            yield from (f"   | {' | '.join(row)} |" for row in _changes(sample))
        yield "\n   </details>\n"


def _figures(step: StepEstimate) -> Iterator[tuple[str, str]]:
    if step.items is not None:
        yield "items", estimate.items(step.items)
    for one in step.failures:
        yield "would fail", amounts.problem(one)
    if step.index is not None:
        yield from ((name, str(figure)) for name, figure in estimate.index_rows(step.index) if str(figure))
    if step.reads:
        yield "reads", amounts.units(step.reads)
    if step.writes:
        yield "writes", amounts.units(step.writes)
    if step.duration is not None:
        yield "time", f"about {amounts.duration(step.duration)}"


def _keys(spread: KeySpread) -> Iterator[str]:
    hot = f"⚠️ hot at {spread.rate:,.0f} write units/s" if spread.is_hot else "no hot key"
    yield (
        f"   - keys of {code(spread.index)}: {words.count(spread.distinct)} in {words.count(spread.entries)} entries "
        f"read, the hottest {amounts.percent(spread.hottest_share)}; {hot}"
    )
    if spread.is_hot:
        yield from (f"     - {amounts.percent(one.share)} {code(one.key)}" for one in spread.top[:5])


def _changes(sample: Mapping[str, Any]) -> Iterable[tuple[str, str, str, str]]:
    before, after = sample.get("before") or {}, sample.get("after") or {}
    key = in_cell(words.key(sample["key"]))
    for name in dict.fromkeys([*before, *after]):
        yield key, in_cell(name), _value(before.get(name)), _value(after.get(name))
        key = ""


def _value(wire: Mapping[str, Any] | None) -> str:
    return "" if wire is None else in_cell(words.value(wire))


# --- escaping ---------------------------------------------------------------------------------------------------------


def plain(text: str | Text | None) -> str:
    """Text that Markdown and HTML leave as it is: no markup, no mention, no line of its own."""
    escaped = re.sub(r"([\\`*_{}\[\]<>()#+!|~&@$:])", r"\\\1", " ".join(str(text or "").split()))
    # A backslash does not keep GitHub from a mention or a bare address: an invisible joiner does.
    return escaped.replace("\\@", "@\u2060").replace("\\:", ":").replace("://", ":\u2060//")


def code(text: str) -> str:
    """A code span that holds the text whatever it is."""
    line = " ".join(text.splitlines()) or " "
    fence = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def in_cell(text: str) -> str:
    """A code span in a table, where a bar would end the cell even in code."""
    return code(text.replace("|", "\\|"))


def _cell(text: str | Text | None) -> str:
    return plain(text)
