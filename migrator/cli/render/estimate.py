"""An estimate as text: what each step costs, how keys spread, and the sums."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render import amounts, words
from migrator.cli.render.tables import indented, pairs, table
from migrator.runner.estimates.figures import Amount, Estimate, IndexForecast, ItemCounts, KeySpread, StepEstimate

TELLS = 20
"""Entries from which on a distribution is worth its lines."""
SHOWN_KEYS = 5
"""Lines of top keys in text; JSON and HTML have them all."""


def of_step(step: StepEstimate) -> Iterator[RenderableType]:
    """The lines under a step."""
    rows: list[tuple[str, str | Text]] = []
    if step.items is not None:
        rows.append(("items", items(step.items)))
    rows += [("would fail", Text(amounts.problem(one), style="yellow")) for one in step.failures]
    if step.index is not None:
        rows += index_rows(step.index)
    rows += [
        ("reads", amounts.units(step.reads) if step.reads else ""),
        ("writes", amounts.units(step.writes) if step.writes else ""),
        ("records", amounts.bookkeeping(step.bookkeeping)),
        ("stream", "" if step.stream_records is None else amounts.amount(step.stream_records, "records")),
        ("time", "" if step.duration is None else f"about {amounts.duration(step.duration)}"),
        *(("not known", what) for what in step.unknown),
    ]
    yield indented(pairs(rows), 5)
    for spread in step.keys:
        yield from key_lines(spread)


def items(counts: ItemCounts) -> str:
    """`1,000 to look at, 400 match: 120 changed, 280 unchanged`; what is none is left out."""
    parts = [
        f"{amounts.amount(value)} {name}"
        for name in ("changed", "unchanged", "skipped", "failed")
        if (value := getattr(counts, name)).value or value.error
    ]
    of = f"{amounts.amount(counts.scanned)} to look at"
    if counts.matched.value or counts.matched.error:
        of += f", {amounts.amount(counts.matched)} match"
    return of + (f": {', '.join(parts)}" if parts else "")


def index_rows(index: IndexForecast) -> list[tuple[str, str | Text]]:
    share = "" if index.share_of_items is None else f", {amounts.percent(index.share_of_items)} of the items"
    later = (
        ""
        if index.units_per_write is None
        else f"{index.units_per_write:.1f} units more for a write that changes an entry; twice that if its key changes"
    )
    entries = "entry" if index.entries == Amount(1.0) else "entries"
    return [
        ("index", f"{amounts.amount(index.entries)} {entries}, {amounts.size(index.size_bytes)}{share}"),
        ("sparse", f"{amounts.amount(index.sparse)} items stay out" if index.sparse.value else ""),
        *(("not indexable", Text(amounts.problem(one), style="yellow")) for one in index.problems),
        ("from then on", later),
        *(("writers", constraint) for constraint in index.constraints),
    ]


def key_lines(spread: KeySpread) -> Iterator[RenderableType]:
    exact = "" if spread.is_exact else "about "
    verdict = (
        f"hot: {spread.hottest_rate:,.0f} of {spread.rate:,.0f} write units/s, and a partition takes 1,000; "
        f"safe below {spread.safe_rate:,.0f}"
        if spread.is_hot
        else f"no hot key at {spread.rate:,.0f} write units/s"
    )
    yield indented(
        Text.assemble(
            f"keys of {spread.index} ({', '.join(spread.attributes)}): {exact}{words.count(spread.distinct)} in "
            f"{words.count(spread.entries)} entries read; the hottest has {amounts.percent(spread.hottest_share)}; ",
            (verdict, "yellow" if spread.is_hot else "green"),
        ),
        5,
    )
    if spread.entries < TELLS:
        return
    most = max((one.keys for one in spread.histogram), default=1)
    rows = [
        (
            amounts.span(one.least, one.most),
            words.count(one.keys),
            amounts.bar(one.keys / most),
        )
        for one in spread.histogram
    ]
    yield indented(table(("entries a key", "keys", ""), rows, right=("entries a key", "keys")), 7)
    top = [(amounts.percent(one.share), one.key) for one in spread.top[:SHOWN_KEYS]]
    yield indented(table(("share", "top keys"), top, right=("share",)), 7)


def of_plan(estimate: Estimate) -> Iterator[RenderableType]:
    """The sums of the whole plan."""
    yield Text.assemble(("\nestimate", "bold"), f" (approximate; {basis(estimate)}):")
    yield indented(pairs(totals(estimate)))


def basis(estimate: Estimate) -> str:
    """`every item read`, `125 of about 1,000 items read, ± is the 95 % interval`."""
    if estimate.kind == "full":
        return f"every item read: {words.count(estimate.looked_at)}"
    if estimate.of_items == estimate.looked_at:
        return f"all {words.count(estimate.looked_at)} items are in the sample"
    of = "an unknown number of" if estimate.of_items is None else f"about {words.count(estimate.of_items)}"
    return f"{words.count(estimate.looked_at)} of {of} items read; ± is the 95 % interval"


def totals(estimate: Estimate) -> list[tuple[str, str | Text]]:
    """Name and figure of each sum: the same in text, Markdown and HTML."""
    prices = estimate.prices
    rows: list[tuple[str, str | Text]] = [
        ("reads", amounts.units(estimate.reads) if estimate.reads else ""),
        ("writes", amounts.units(estimate.writes) if estimate.writes else ""),
        ("records", amounts.bookkeeping(estimate.bookkeeping)),
        ("stream", "" if estimate.stream_records is None else amounts.amount(estimate.stream_records, "records")),
        ("time", f"about {amounts.seconds(estimate.duration)}" if estimate.duration.value else ""),
    ]
    if estimate.limit is not None:
        rows.append(("limit", Text(amounts.limit(estimate.limit), "yellow" if estimate.limit.exceeded else "green")))
    if prices is not None:
        cost = "capacity is provisioned: nothing on top" if estimate.cost is None else ""
        rows.append(("cost", cost or amounts.money(estimate.cost, prices.currency)))
        if estimate.storage_per_month is not None:
            rows.append(("storage", f"{amounts.money(estimate.storage_per_month, prices.currency)} a month more"))
        rows.append(("prices", f"{prices.region}, {prices.date}, on demand ({prices.source})"))
    rows.append(("this look", f"{estimate.read_units:,.1f} read units"))
    return rows
