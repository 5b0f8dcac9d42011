"""A plan as one HTML file: no script, nothing loaded from anywhere, content of items escaped by the template engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from migrator.cli.render import amounts, estimate, words
from migrator.cli.render.parts import place_line
from migrator.cli.reports import charts
from migrator.cli.reports.charts import Bar
from migrator.errors import UsageError
from migrator.runner.estimates.figures import Amount, Estimate, KeySpread, StepEstimate
from migrator.runner.results import PlannedStep, PlanResult

TEMPLATE = "plan.html.j2"


def refuse_without_templates() -> None:
    """Raises UsageError `report-not-installed` where the extra is missing."""
    if find_spec("jinja2") is None:
        raise UsageError(
            "report-not-installed",
            "the HTML report needs jinja2, which is not installed",
            hint="pip install 'dynamodb-migrations[report]'; -o markdown and -o json need nothing more",
        )


def html(result: PlanResult, now: datetime) -> str:
    """The page. `now` is printed on it."""
    refuse_without_templates()
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((files("migrator.cli.reports") / TEMPLATE).read_text(encoding="utf-8"))
    return template.render(
        plan=result,
        place=place_line(result.where),
        made=now.strftime("%Y-%m-%d %H:%M UTC"),
        pending=words.counted(len(result.revisions), "revision") if result.revisions else "nothing pending",
        cards=[] if result.estimate is None else list(_cards(result, result.estimate)),
        basis="" if result.estimate is None else estimate.basis(result.estimate),
        totals=[] if result.estimate is None else [(n, str(f)) for n, f in estimate.totals(result.estimate) if str(f)],
        units=_units_chart(result.estimate),
        timeline=_timeline(result),
        figures=_figures,
        changes=_changes,
        spread=_spread,
        key=words.key,
        digest=words.digest,
        prose=_prose,
    )


def _cards(result: PlanResult, whole: Estimate) -> Iterator[tuple[str, str, str, str]]:
    """(name, figure, line below, kind)."""
    steps = [step.estimate for step in _steps(result) if step.estimate is not None]
    changed = sum(one.items.changed.value or 0.0 for one in steps if one.items is not None)
    failing = sum(one.seen for step in steps for one in step.failures)
    failing += sum(one.seen for step in steps if step.index is not None for one in step.index.problems)
    yield (
        "Items that change",
        amounts.number(changed),
        f"{words.count(failing)} in the way" if failing else "none in the way, among those read",
        "bad" if failing else "good",
    )
    writes = sum(one.units.value or 0.0 for one in whole.writes)
    reads = sum(one.units.value or 0.0 for one in whole.reads)
    yield "Write units", amounts.number(writes), f"{amounts.number(reads)} read units", ""
    prices = whole.prices
    if prices is not None:
        more = "" if whole.storage_per_month is None else amounts.money(_bare(whole.storage_per_month), prices.currency)
        cost = "provisioned" if whole.cost is None else amounts.money(_bare(whole.cost), prices.currency)
        below = f"{more} a month for storage" if more else f"prices of {prices.date}"
        yield "Cost, once", cost.replace("below ", "< "), below, ""
    late = whole.limit is not None and whole.limit.exceeded
    fits = "no limit was given" if whole.limit is None else amounts.limit(whole.limit).partition(":")[0]
    yield "Time, about", amounts.seconds(_bare(whole.duration)), fits, "bad" if late else ""
    hot = [spread for one in steps for spread in one.keys if spread.is_hot]
    hottest = max((spread.hottest_share for one in steps for spread in one.keys), default=None)
    if hottest is not None:
        yield (
            "Hottest key",
            amounts.percent(hottest),
            "more than a partition takes" if hot else "within what a partition takes",
            "bad" if hot else "good",
        )


def _bare(amount: Amount) -> Amount:
    """A card has no room for the interval: it stands below, in the sums."""
    return Amount(amount.value)


def _steps(result: PlanResult) -> Iterator[PlannedStep]:
    for revision in result.revisions:
        yield from revision.all_steps


def _units_chart(whole: Estimate | None) -> Any:
    if whole is None:
        return ""
    rows = [
        Bar(
            one.resource, one.units.value or 0.0, amounts.amount(one.units), "index" if "/" in one.resource else "table"
        )
        for one in whole.writes
    ]
    return _safe(charts.bars(rows, "Write units by table and index")) if rows else ""


def _timeline(result: PlanResult) -> Any:
    rows, begin = [], 0.0
    for revision in result.revisions:
        for step in revision.all_steps:
            duration = None if step.estimate is None else step.estimate.duration
            seconds = 0.0 if duration is None else duration.seconds.value or 0.0
            if duration is not None:
                kind = "table" if step.estimate is None or step.estimate.index is None else "wait"
                rows.append(Bar(step.title, seconds, amounts.seconds(duration.seconds), kind, begin))
            begin += seconds
    return _safe(charts.bars(rows, "Time of each step")) if len(rows) > 1 else ""


def _figures(step: StepEstimate) -> list[tuple[str, str, str]]:
    """(name, figure, kind) of a step."""
    rows: list[tuple[str, str, str]] = []
    if step.items is not None:
        rows.append(("items", estimate.items(step.items), ""))
    rows += [("would fail", amounts.problem(one), "bad") for one in step.failures]
    if step.index is not None:
        rows += [
            (name, str(figure), "bad" if name == "not indexable" else "")
            for name, figure in estimate.index_rows(step.index)
            if str(figure)
        ]
    if step.reads:
        rows.append(("reads", amounts.units(step.reads), ""))
    if step.writes:
        rows.append(("writes", amounts.units(step.writes), ""))
    if own := amounts.bookkeeping(step.bookkeeping):
        rows.append(("records", own, ""))
    if step.stream_records is not None:
        rows.append(("stream", amounts.amount(step.stream_records, "records"), ""))
    if step.duration is not None:
        rows.append(("time", f"about {amounts.duration(step.duration)}", ""))
    rows += [("not known", what, "") for what in step.unknown]
    return rows


def _changes(sample: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """(attribute, before, after, kind) of each attribute that changes."""
    before, after = sample.get("before") or {}, sample.get("after") or {}
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        kind = "added" if old is None else "removed" if new is None else "changed"
        yield name, "" if old is None else words.value(old), "" if new is None else words.value(new), kind


def _spread(spread: KeySpread) -> Mapping[str, Any]:
    kind = "hot" if spread.is_hot else "index"
    top = [
        Bar(one.key, one.share, amounts.percent(one.share), kind if not number else "index")
        for number, one in enumerate(spread.top)
    ]
    histogram = [
        Bar(amounts.span(one.least, one.most), one.keys, words.count(one.keys), "table") for one in spread.histogram
    ]
    exact = "" if spread.is_exact else "about "
    verdict = (
        f"At {spread.rate:,.0f} write units/s the hottest key gets {spread.hottest_rate:,.0f}, and a partition takes "
        f"1,000. Safe below {spread.safe_rate:,.0f}."
        if spread.is_hot
        else f"No hot key at {spread.rate:,.0f} write units/s."
    )
    return {
        "name": f"{spread.index} by {', '.join(spread.attributes)}",
        "line": f"{exact}{words.count(spread.distinct)} keys in {words.count(spread.entries)} entries read; "
        f"the hottest has {amounts.percent(spread.hottest_share)}",
        "verdict": verdict,
        "hot": spread.is_hot,
        "top": _safe(charts.bars(top, "Share of the top keys", width=charts.HALF)),
        "histogram": _safe(charts.columns(histogram, "Keys by their number of entries", "entries a key")),
    }


def _prose(text: str) -> Any:
    """Text in which `commands` are set as code."""
    from markupsafe import Markup, escape

    parts = [str(escape(part)) for part in text.split("`")]
    if len(parts) % 2 == 0:
        # One that is never closed is no code.
        return escape(text)
    return Markup("".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts)))  # noqa: S704


def _safe(svg: str) -> Any:
    """The charts escape what they hold themselves."""
    from markupsafe import Markup

    return Markup(svg)  # noqa: S704
