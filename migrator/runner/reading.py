"""Status and check: what stands, what waits, and where the world differs from the files. Nothing here writes."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.control.history import Entry, index_object
from migrator.control.lock import LockView
from migrator.control.requests import RequestBook
from migrator.core.comparison import compare
from migrator.core.findings import Finding, Severity
from migrator.core.rewrite.steps import SLOT
from migrator.core.schema import Schema, differences
from migrator.core.steps import CreateTable
from migrator.engine.indexes import METRICS_WINDOW
from migrator.errors import MigratorError
from migrator.runner.gates import past_the_gate, resumed_by
from migrator.runner.guards import edited
from migrator.runner.planning import plan_migrations
from migrator.runner.results import (
    CheckResult,
    IndexState,
    InstanceState,
    LockState,
    RevisionStatus,
    RewriteState,
    StatusResult,
)
from migrator.runner.session import Session, first_steps, fold
from migrator.runner.shapes import declared, described, start_of


def status(session: Session) -> StatusResult:
    """Every revision of files and history, the indexes, the lock, and what comes next."""
    graph, entries = session.graph, session.entries
    out_of_order = set(graph.out_of_order(session.applied))
    revisions = []
    for migration in graph.order():
        entry = entries.get(migration.revision)
        if entry is None:
            state = "out-of-order" if migration.revision in out_of_order else "pending"
            revisions.append(RevisionStatus(migration.revision, migration.message, migration.path, state))
        else:
            revisions.append(_revision(session, entry, migration.path, entry.status))
    revisions += [_revision(session, entries[one], "", "missing-file") for one in session.missing_files()]
    lock = shown_lock(session, session.lock.show()) if session.control_table_exists else LockState(held=False)
    indexes = _indexes(session)
    state, next_command, blocked_by = _state(session, revisions, indexes)
    changed = edited(session)
    if changed and not blocked_by:
        next_command = "migrator check"
        blocked_by = f"applied migrations were edited since: {', '.join(changed)}"
    return StatusResult(
        state=state,
        next=next_command,
        blocked_by=blocked_by,
        where=session.where,
        revisions=tuple(revisions),
        indexes=indexes,
        lock=lock,
        current=graph.current(session.applied),
        heads=tuple(graph.heads),
        rewrites=_rewrites(session),
    )


def _revision(session: Session, entry: Entry, path: str, state: str) -> RevisionStatus:
    failed = session.failures.count(entry.revision)
    return RevisionStatus(
        entry.revision,
        entry.message,
        path,
        state,
        entry.who,
        entry.host,
        entry.run,
        entry.tool,
        entry.started_at,
        entry.finished_at,
        entry.error,
        entry.counts,
        failed,
        {name.partition("@")[0]: str(known.get("fate", "")) for name, known in entry.objects.items()},
        entry.gate,
    )


def _rewrites(session: Session) -> tuple[RewriteState, ...]:
    """Those between their first step and the end of contract or rollback."""
    found = []
    for revision in sorted({*session.gated, *session.unfinished}):
        entry = session.entries[revision]
        record = session.phases.get(revision, SLOT) if revision in session.graph else None
        if record is None:
            continue
        instances = tuple(
            InstanceState(one.name, one.phase, one.generation, one.generation == record.generation, one.seen_at)
            for one in session.phases.instances(revision, SLOT)
        )
        found.append(
            RewriteState(
                revision,
                record.phase,
                record.generation,
                record.since,
                record.is_settled,
                record.verified.at if record.is_verified and record.verified is not None else "",
                record.strays,
                instances,
                past_the_gate(entry) if entry.status == "at-gate" else resumed_by(entry),
            )
        )
    return tuple(found)


def _indexes(session: Session) -> tuple[IndexState, ...]:
    owners = _owners(session)
    found = []
    for alias, live in sorted(session.live.items()):
        for name, index in sorted(live.indexes.items()):
            progress = None
            if not index.is_ready:
                since = session.ports.clock.now() - METRICS_WINDOW
                metrics = session.ports.metrics.index_build(live.name, name, since)
                progress = metrics.progress
            owner = owners.get(index_object(alias, name), "")
            found.append(IndexState(live.name, name, index.status, index.backfilling, progress, owner))
    return tuple(found)


def _owners(session: Session) -> dict[str, str]:
    """The name of each index in the records -> the newest revision that created or adopted it."""
    return _made_with_tables(session) | {
        name: revision
        for revision, entry in sorted(session.entries.items())
        for name, known in entry.objects.items()
        if known.get("fate") in ("created", "adopted")
    }


def _made_with_tables(session: Session) -> dict[str, str]:
    """The same of the indexes that came with a table: they have no record of their own."""
    empty = Schema({}, session.settings.default_table)
    return {
        index_object(empty.alias(step.table), index): migration.revision
        for migration in session.graph.order()
        if migration.revision in session.applied
        for step in first_steps(migration, empty)
        if isinstance(step, CreateTable)
        for index in step.shape.indexes
    }


def shown_lock(session: Session, view: LockView) -> LockState:
    """The lock, with what operators ask of the run that holds it."""
    if view.record is None or view.record.released:
        return lock_state(view)
    return lock_state(view, RequestBook(session.records).of(view.record.holder.owner).texts)


def lock_state(view: LockView, requests: tuple[str, ...] = ()) -> LockState:
    """The lock as the commands show it."""
    record = view.record
    if record is None or record.released:
        return LockState(held=False)
    holder = record.holder
    return LockState(
        True,
        holder.owner,
        holder.name,
        holder.host,
        holder.run,
        record.acquired_at,
        record.token,
        record.lease_seconds,
        view.silent_seconds,
        requests,
    )


def _state(session: Session, revisions: list[RevisionStatus], indexes: tuple[IndexState, ...]) -> tuple[str, str, str]:
    """(state, what to type next, what blocks)."""
    by_state = {one.status: one for one in reversed(revisions)}
    moving = next((one for one in indexes if one.status in ("CREATING", "DELETING")), None)
    if "failed" in by_state:
        one = by_state["failed"]
        return "failed", resumed_by(session.entries[one.revision]), one.error
    if "incomplete" in by_state:
        one = by_state["incomplete"]
        return "incomplete", resumed_by(session.entries[one.revision]), one.error
    if moving is not None:
        return "building", "migrator upgrade", f"index {moving.name} is {moving.status}"
    if "started" in by_state:
        one = by_state["started"]
        return (
            "started",
            resumed_by(session.entries[one.revision]),
            f"revision {one.revision} is at work, or was interrupted",
        )
    if "at-gate" in by_state:
        one = by_state["at-gate"]
        return "at-gate", past_the_gate(session.entries[one.revision]), one.gate
    if not session.entries and session.live and len(session.graph):
        return "no-history", "migrator stamp REVISION, or migrator upgrade --from-base", "no history"
    if {"pending", "out-of-order", "rolled-back"} & by_state.keys():
        return "pending", "migrator plan", ""
    return "up-to-date", "", ""


# --- check ------------------------------------------------------------------------------------------------------------


def check(session: Session) -> CheckResult:
    """Pending revisions, edited files, drift and lint: 3 for findings, 8 for changes pending, 0 for neither."""
    findings = list(_record_findings(session))
    findings += [drift.finding for drift in drifts(session)]
    findings += _other_drifts(session)
    pending = [one for one in session.graph.order() if one.revision not in session.applied]
    out_of_order = session.graph.out_of_order(session.applied)
    for one in plan_migrations(session, pending):
        if one.migration.revision not in session.unfinished:
            findings += [finding for finding in one.findings if finding.severity is Severity.ERROR]
    if findings:
        state, exit_code, next_command = "findings", 3, findings[0].hint or ""
    elif pending:
        state, exit_code, next_command = "pending", 8, "migrator plan"
    else:
        state, exit_code, next_command = "clean", 0, ""
    return CheckResult(
        state=state,
        exit_code=exit_code,
        next=next_command,
        where=session.where,
        pending=tuple(one.revision for one in pending),
        out_of_order=out_of_order,
        findings=tuple(findings),
    )


def _record_findings(session: Session) -> list[Finding]:
    found = [
        Finding(
            "checksum-mismatch",
            Severity.ERROR,
            f"applied migration {revision} was edited since: {session.graph[revision].path}",
            f"undo the edit, or `migrator repair --checksum {revision}`",
        )
        for revision in edited(session)
    ]
    found += [
        Finding(
            "missing-file",
            Severity.ERROR,
            f"the history has revision {revision}, no file here has it",
            "restore the file",
        )
        for revision in session.missing_files()
        if session.entries[revision].status != "rolled-back"
    ]
    found += [
        Finding(
            "out-of-order",
            Severity.ERROR,
            f"revision {revision} is not applied, and revisions that build on it are",
            "`migrator upgrade --allow-out-of-order`, if that is right",
        )
        for revision in session.graph.out_of_order(session.applied)
    ]
    if session.control_table_exists:
        try:
            session.identity.verify({alias: live.table_id for alias, live in session.live.items()})
        except MigratorError as exc:
            found.append(Finding(exc.code, Severity.ERROR, exc.message, exc.hint))
    return found


@dataclass(frozen=True, slots=True)
class Drift:
    """An index that the applied migrations made and that is gone, or is another."""

    alias: str
    index: str
    revision: str
    is_gone: bool
    finding: Finding


def drifts(session: Session) -> tuple[Drift, ...]:
    """Where the live indexes differ from the shape folded from the applied migrations."""
    schema = expected_schema(session)
    owners = _owners(session)
    # Of an index that was gone already when its revision was stamped, nothing is recorded.
    unrecorded = min(session.applied, default="")
    found = []
    for alias, table in sorted(schema.tables.items()):
        live = session.live.get(alias)
        if live is None:
            continue
        for name, wanted in sorted(table.indexes.items()):
            there = live.indexes.get(name)
            owner = owners.get(index_object(alias, name), unrecorded)
            if there is None:
                message = f"index {name} of {live.name} is gone; revision {owner} built it"
                hint = "`migrator repair --drift` builds it again"
            else:
                lines = differences(there.definition, wanted, live.shape.key_names)
                if not lines:
                    continue
                message = f"index {name} of {live.name} is not what revision {owner} built: {'; '.join(lines)}"
                hint = "find out who changed it; an index is replaced under a new name, never in place"
            finding = Finding("drift", Severity.ERROR, message, hint + _owner(session, alias))
            found.append(Drift(alias, name, owner, there is None, finding))
    return tuple(found)


def _owner(session: Session, alias: str) -> str:
    """Who else may have done it, and would do it again."""
    manager = session.settings.tables[alias].managed_by
    return "" if manager == "migrator" else f"; {manager} owns this table too: `migrator export --table {alias}`"


def _other_drifts(session: Session) -> list[Finding]:
    """What DescribeTable tells beyond indexes: key, billing mode, stream, protection. `diff` tells the rest."""
    live = {alias: described(table, alias) for alias, table in session.live.items()}
    wanted = {alias: table for alias, table in declared(session, "applied").items() if alias in live}
    found = compare(wanted, {alias: live[alias] for alias in wanted}, units=False)
    return [
        Finding(
            "drift",
            Severity.ERROR,
            f"{one.field or one.object} of {session.names[one.alias]} is {one.right}; the applied revisions have "
            f"{one.left}",
            "`migrator diff` lists every field; put it back, or write a revision that says what it is to be"
            + _owner(session, one.alias),
        )
        for one in found
        if not one.object.startswith("index ")
    ]


def expected_schema(session: Session) -> Schema:
    """The shape folded from the applied migrations alone: indexes that none of them names are not in it."""
    applied = [migration for migration in session.graph.order() if migration.revision in session.applied]
    schema = start_of(session, applied)
    for migration in applied:
        schema = fold(schema, migration)
    return schema
