"""What a plan shows beside the findings of each operation: those of the rules over the pending set as a whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from migrator.core.findings import Finding
from migrator.core.lint import Subject, across
from migrator.runner.results import PlannedRevision
from migrator.runner.session import Session


def with_findings_across(session: Session, revisions: tuple[PlannedRevision, ...]) -> tuple[PlannedRevision, ...]:
    """The revisions with these findings after their own."""
    found = findings_across(session, {one.revision for one in revisions})
    return tuple(replace(one, findings=(*one.findings, *found.get(one.revision, ()))) for one in revisions)


def findings_across(session: Session, pending: Collection[str]) -> Mapping[str, tuple[Finding, ...]]:
    """By revision. The pending set is one release, on the live tables. A resume is not judged again."""
    settings = session.settings
    managers = {alias: table.managed_by for alias, table in settings.tables.items()}
    subject = Subject(
        session.graph,
        managers,
        settings.default_table,
        settings.control.key_prefix,
        settings.lint,
        session.patterns,
    )
    known = [one for one in session.graph.order() if one.revision in {*pending, *session.applied}]
    return across(subject, session.base_schema(), known, set(pending) - session.unfinished)
