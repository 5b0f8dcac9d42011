"""What an event says, as phrases that bars and lines share."""

from __future__ import annotations

from migrator.cli.render import words
from migrator.core.events import IndexPolled, RevisionStarted, SegmentProgress, Waiting

WAYS = {
    "up": "upgrade",
    "down": "downgrade",
    "ready": "upgrade --app-ready",
    "cutover": "cutover",
    "complete": "contract",
}
STAGES = {
    "before": "looking for the attributes before the first write",
    "pass": "reading and writing",
    "check": "second pass, reading only",
    "undo": "undoing",
    "look": "reading",
    "export": "reading the export and writing",
    "export-check": "reading the later export",
}


def revision(event: RevisionStarted) -> str:
    resumed = ", resumed" if event.resumed else ""
    return f"{WAYS[event.way]} {event.revision} {event.message} ({event.position} of {event.count}{resumed})"


def items(event: SegmentProgress) -> str:
    """`410,000 of about 1,000,000 items, 12 of 30 segments, 1,200 written, 480 WU/s, 900 RU/s`."""
    counts = event.counts
    of = "" if event.approximate_items is None else f" of about {words.count(event.approximate_items)}"
    parts = [f"{words.count(counts.scanned)}{of} items", f"{event.segments_done} of {event.segments_total} segments"]
    parts += [
        f"{words.count(number)} {name}"
        for name, number in (
            ("written", counts.written),
            ("conflicts", counts.conflicts),
            ("gone", counts.gone),
            ("failed", counts.failed),
        )
        if number or (name == "written" and event.stage != "look")
    ]
    if event.stage != "look":
        parts.append(f"{words.rate(event.write_units_per_second)} WU/s")
    parts.append(f"{words.rate(event.read_units_per_second)} RU/s")
    return ", ".join(parts)


def index(event: IndexPolled) -> str:
    """`CREATING, backfilling, 34 %, 512 WU/s, no throttles, 4 m 12 s`; of a build, what is unknown says so."""
    parts = [event.index_status or "not listed"]
    if event.table_status != "ACTIVE":
        parts.append(f"table {event.table_status}")
    if event.index_status == "CREATING":
        parts += _build(event)
    parts.append(words.duration(event.seconds))
    return ", ".join(parts)


def _build(event: IndexPolled) -> list[str]:
    parts = [{True: "backfilling", False: "not backfilling yet", None: "backfilling: not said"}[event.backfilling]]
    metrics = event.metrics
    parts.append("progress unknown" if metrics.progress is None else f"{metrics.progress:.0f} %")
    parts.append("units unknown" if metrics.consumed_write is None else f"{words.rate(metrics.consumed_write)} WU/s")
    match metrics.throttled:
        case None:
            parts.append("throttles unknown")
        case 0:
            parts.append("no throttles")
        case throttled:
            parts.append(f"{throttled:,.0f} throttles")
    return parts


def waiting(event: Waiting) -> str:
    return event.reason if event.seconds is None else f"{event.reason} ({words.duration(event.seconds)})"
