"""What a plan shows beside the findings of each operation: those of the rules over the pending set as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

from migrator.control.layout import application_items
from migrator.core.findings import Finding
from migrator.core.item import Item
from migrator.core.lint import Subject, across
from migrator.core.ports import LiveTable
from migrator.core.rules.recovery_off_before_destructive import loses_items
from migrator.core.rules.release import Sample
from migrator.core.settings import PointInTimeRecovery, Setting, Stream, View
from migrator.core.steps import ChangeSetting, CreateIndex, TransformItems
from migrator.errors import MigratorError
from migrator.runner.planned import Planned
from migrator.runner.results import PlannedRevision
from migrator.runner.session import Session

SAMPLED = 1000
"""Items of a table, at the most, that rules look at: one page of a scan."""


def with_findings_across(
    session: Session,
    planned: Sequence[Planned],
    revisions: tuple[PlannedRevision, ...],
    read: Mapping[str, Sequence[Item]] | None,
) -> tuple[PlannedRevision, ...]:
    """The revisions with these findings after their own. `read`: items by alias, where any were read; else None."""
    samples = {} if read is None else _samples(session, planned, read)
    found = findings_across(session, planned, samples, asks=True)
    return tuple(replace(one, findings=(*one.findings, *found.get(one.revision, ()))) for one in revisions)


def findings_across(
    session: Session, planned: Sequence[Planned], samples: Mapping[str, Sample] = {}, *, asks: bool = False
) -> Mapping[str, tuple[Finding, ...]]:
    """By revision. The pending set is one release, on the live tables. A resume is not judged again.

    `asks`: also what takes a request of its own. An upgrade, which only errors stop, sends none for this.
    """
    settings = session.settings
    managers = {alias: table.managed_by for alias, table in settings.tables.items()}
    control = settings.control
    subject = Subject(
        session.graph,
        managers,
        settings.default_table,
        control.key_prefix,
        settings.lint,
        session.patterns,
        "" if control.name is not None or control.allow_stream else control.table or settings.default_table,
    )
    pending = {one.migration.revision for one in planned}
    known = [one for one in session.graph.order() if one.revision in pending | session.applied]
    return across(
        subject,
        session.base_schema(),
        known,
        pending - session.unfinished,
        settings=_settings(session, planned, asks=asks),
        samples=samples,
    )


# --- what live tables tell --------------------------------------------------------------------------------------------


def _settings(session: Session, planned: Sequence[Planned], *, asks: bool) -> Mapping[str, tuple[Setting, ...]]:
    """By alias: the stream, which DescribeTable shows; and recovery, asked only where something may go for good."""
    asked = {
        one.before.alias(step.table)
        for one in planned
        for plan in one.plans
        if asks and loses_items(plan)
        for step in plan.steps
    }
    found: dict[str, tuple[Setting, ...]] = {}
    for alias, live in session.live.items():
        stream = next((Stream(view) for view in get_args(View) if view == live.stream), Stream(None))
        found[alias] = (stream, *(_recovery(session, live.name) if alias in asked else ()))
    return found


def _recovery(session: Session, table: str) -> tuple[Setting, ...]:
    try:
        return (session.ports.tables.setting(table, PointInTimeRecovery),)
    except MigratorError:
        # Who may not ask, or an engine without backups: then nothing is said.
        return ()


def _samples(session: Session, planned: Sequence[Planned], read: Mapping[str, Sequence[Item]]) -> Mapping[str, Sample]:
    """By alias, of each table that a pending step would index, expire or change: what was read, or else a page."""
    aliases = {
        one.before.alias(step.table)
        for one in planned
        for plan in one.plans
        for step in plan.apply
        if isinstance(step, CreateIndex | ChangeSetting | TransformItems)
    }
    found = {}
    for alias in sorted(aliases & session.live.keys()):
        live = session.live[alias]
        items = tuple(read[alias]) if alias in read else _page(session, live)
        found[alias] = Sample(items, live.size_bytes / live.item_count if live.item_count else 0.0)
    return found


def _page(session: Session, live: LiveTable) -> tuple[Item, ...]:
    page = session.items.scan(live.name, limit=SAMPLED)
    return tuple(application_items(page.items, live.shape.key_names[0], session.control_prefixes.get(live.name)))
