"""Where an environment stands, and what a check found, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render import words
from migrator.cli.render.parts import COUNTS, counts, findings, place_line
from migrator.cli.render.records import lock_line
from migrator.cli.render.tables import indented, pairs, styled, table
from migrator.runner.results import CheckResult, IndexState, RevisionStatus, RewriteState, StatusResult

UNREMARKABLE = frozenset({"applied", "pending"})


def drawn(result: StatusResult) -> Iterator[RenderableType]:
    yield Text.assemble(styled(result.state), f": {place_line(result.where)}", style="bold")
    tables = sorted(result.where.tables.items())
    yield pairs(
        [
            ("tables", ", ".join(f"{alias} = {name}" for alias, name in tables)),
            ("current", ", ".join(result.current) or "base"),
            ("head", ", ".join(result.heads) or "none: no migration files"),
            ("lock", lock_line(result.lock)),
            ("asked", "; ".join(result.lock.requests)),
        ]
    )
    if result.revisions:
        yield Text("")
        yield table(
            ("revision", "message", "status", "finished", "by", *COUNTS),
            [
                (
                    entry.revision,
                    entry.message,
                    styled(entry.status),
                    _minute(entry.finished_at),
                    entry.who,
                    *counts(entry.counts),
                )
                for entry in result.revisions
            ],
            right=COUNTS,
            whole=("revision",),
        )
    for entry in result.revisions:
        if entry.status not in UNREMARKABLE or entry.error or entry.failed_items:
            yield from _explained(entry)
    for rewrite in result.rewrites:
        yield from _rewrite(rewrite)
    if result.indexes:
        yield Text("")
        yield table(
            ("index", "table", "status", "progress", "managed by"),
            [_index(index) for index in result.indexes],
        )


def _minute(moment: str) -> str:
    """A UTC time to the minute, so that the columns of a narrow terminal keep whole; any other as it is."""
    is_utc = moment.endswith(("+00:00", "Z"))
    return f"{moment[:10]} {moment[11:16]}Z" if is_utc else moment


def _explained(entry: RevisionStatus) -> Iterator[RenderableType]:
    """What stands behind a status that asks for attention."""
    yield Text("")
    yield Text.assemble((entry.revision, "bold"), " ", styled(entry.status))
    yield indented(
        pairs(
            [
                ("file", entry.path),
                ("started", " ".join(part for part in (entry.started_at, entry.who, entry.host, entry.run) if part)),
                ("error", Text(entry.error, style="red")),
                ("failed items", words.count(entry.failed_items) if entry.failed_items else ""),
                ("gate", entry.gate),
                ("objects", ", ".join(f"{name} {how}" for name, how in sorted(entry.objects.items()))),
                ("units", _units(entry)),
            ]
        )
    )


def _rewrite(rewrite: RewriteState) -> Iterator[RenderableType]:
    """A rewrite's phase, who knows of it, and what comes next."""
    yield Text("")
    settled = "" if rewrite.settled else ", not every instance need know of it yet"
    yield Text.assemble((rewrite.revision, "bold"), " phase ", (rewrite.phase, "bold cyan"))
    yield indented(
        pairs(
            [
                ("since", f"{rewrite.since}, generation {rewrite.generation}{settled}"),
                ("verified", rewrite.verified_at or "not in this phase"),
                ("strays", Text(words.count(rewrite.strays), style="red") if rewrite.strays else ""),
                ("next", rewrite.next),
            ]
        )
    )
    if rewrite.instances:
        yield table(
            ("instance", "phase", "generation", "knows", "last seen"),
            [
                (one.name, one.phase, str(one.generation), "yes" if one.knows else Text("no", style="red"), one.seen_at)
                for one in rewrite.instances
            ],
            right=("generation",),
        )


def _units(entry: RevisionStatus) -> str:
    read, write = entry.counts.read_units, entry.counts.write_units
    return f"{read:,.1f} read, {write:,.1f} write" if read or write else ""


def _index(index: IndexState) -> tuple[str, str, str | Text, str, str]:
    status = styled(f"{index.status}, backfilling") if index.backfilling else styled(index.status)
    moving = index.status != "ACTIVE" or bool(index.backfilling)
    progress = "" if not moving else "unknown" if index.progress is None else f"{index.progress:.0f} %"
    return index.name, index.table, status, progress, index.managed_by or "no migration"


def checked(result: CheckResult) -> Iterator[RenderableType]:
    yield Text.assemble(styled(result.state), f": {place_line(result.where)}", style="bold")
    yield pairs(
        [("pending", ", ".join(result.pending)), ("out of order", ", ".join(result.out_of_order))],
    )
    if result.findings:
        yield Text("")
        yield findings(result.findings)
