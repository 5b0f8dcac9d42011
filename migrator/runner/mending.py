"""Commands that change records only: stamp, repair, failed items, the lock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from migrator.control.failures import FailedItemRecord
from migrator.control.history import Entry, index_object
from migrator.control.lock import LockView
from migrator.core.item import BadValue, fingerprint, from_json, key_text, to_json
from migrator.core.plan import Migration
from migrator.core.schema import Schema
from migrator.core.steps import CreateIndex
from migrator.core.wire_schema import index_to_json
from migrator.errors import MigratorError, UsageError, as_text
from migrator.runner import guards
from migrator.runner.planned import Planned
from migrator.runner.planning import plan_migrations
from migrator.runner.reading import drifts, expected_schema, lock_state, shown_lock
from migrator.runner.results import FailedItem, FailedResult, LockResult, LockState, NoteResult, RunResult
from migrator.runner.running import Options, Run, Stopped, locked, result_of
from migrator.runner.session import Session
from migrator.runner.upgrading import bind_tables, create_control_table


def stamp(session: Session, target: str, *, purge: bool = False) -> NoteResult:
    """Record that the table is at a revision already: it and its ancestors count as applied, nothing is run.

    Indexes that these revisions describe are recorded as adopted. `purge` takes the records of later revisions away.
    """
    standing, _ = _to_stamp(session, target, purge=purge)
    lines = []
    create_control_table(session)
    with locked(session, Options()) as lease:
        # Another run may have worked while we waited for the lock: decide anew.
        standing, later = _to_stamp(session, target, purge=purge)
        planned = {one.migration.revision: one for one in plan_migrations(session, standing)}
        bind_tables(session, lease)
        for migration in standing:
            if migration.revision in session.applied:
                continue
            session.history.save(_stamped(session, migration, planned.get(migration.revision)), lease)
            lines.append(f"stamped {migration.revision} {migration.message}")
        for revision in later:
            session.history.remove(revision, lease)
            lines.append(f"removed the record of {revision}")
    session.refresh()
    return NoteResult(state="stamped", next="migrator status", lines=tuple(lines) or (f"already at {target}",))


def _to_stamp(session: Session, target: str, *, purge: bool) -> tuple[list[Migration], list[str]]:
    """(What stands once the target is stamped, the later revisions whose records go)."""
    guards.refuse_restored(session)
    wanted = [] if target == "base" else session.graph.resolve(target, session.applied)
    ancestors = session.graph.ancestors(*wanted, inclusive=True)
    standing = [one for one in session.graph.order() if one.revision in ancestors]
    running = sorted(session.unfinished | set(session.gated))
    if running:
        raise MigratorError(
            "unfinished-revision",
            f"revision {running[0]} is {session.entries[running[0]].status}: stamping over it would forget what it did",
            hint=f"finish it with `migrator upgrade`, or `migrator rollback {running[0]}`",
        )
    later = sorted(session.applied - ancestors)
    if later and not purge:
        raise MigratorError(
            "later-revisions",
            f"the history says that {', '.join(later)} are applied, which {target} does not include",
            hint="take them back with `migrator downgrade`; or, if the history is wrong, stamp with --purge",
        )
    return standing, later


def _stamped(session: Session, migration: Migration, planned: Planned | None) -> Entry:
    now = session.ports.clock.now().isoformat(timespec="seconds")
    objects: dict[str, dict[str, Any]] = {}
    for _, step in planned.steps("apply") if planned is not None else ():
        if isinstance(step, CreateIndex):
            alias = session.base_schema().alias(step.table)
            live = session.live.get(alias)
            if live is not None and step.index.name in live.indexes:
                previous = index_to_json(live.indexes[step.index.name].definition)
                objects[index_object(alias, step.index.name)] = {
                    "fate": "adopted",
                    "previous": previous,
                    "intent": False,
                }
    caller = session.caller
    return Entry(
        revision=migration.revision,
        down_revisions=migration.down_revisions,
        message=migration.message,
        status="applied",
        checksum=migration.checksum,
        content_hash=migration.content_hash,
        modules=migration.modules,
        who=caller.name,
        host=caller.host,
        run=caller.run,
        tool=caller.tool,
        started_at=now,
        finished_at=now,
        objects=objects,
        notes=("stamped",),
    )


# --- repair -----------------------------------------------------------------------------------------------------------


def repair(session: Session, *, checksum: str | None, restored: bool, drift: bool) -> NoteResult:
    """Accept an edited file, a restored table, or build again what drifted away; each is recorded."""
    if [checksum is not None, restored, drift].count(True) != 1:
        raise UsageError(
            "what-to-repair", "say one of --checksum REVISION, --restored, --drift", hint="see `migrator check`"
        )
    if checksum is not None:
        return _repair_checksum(session, checksum)
    return _repair_restored(session) if restored else _repair_drift(session)


def _repair_checksum(session: Session, revision: str) -> NoteResult:
    guards.refuse_restored(session)
    found = session.graph.find(revision)
    entry = session.entries.get(found)
    if entry is None:
        raise MigratorError("not-in-history", f"revision {found} never began here", hint="see `migrator status`")
    migration = session.graph[found]
    if entry.checksum == migration.checksum:
        return NoteResult(state="unchanged", lines=(f"{found} is as it was applied",))
    note = (
        f"{_now(session)} {session.caller.name}: checksum {entry.checksum[:12]} accepted as {migration.checksum[:12]}"
    )
    with locked(session, Options()) as lease:
        current = session.entries[found]
        session.history.save(
            replace(
                current,
                checksum=migration.checksum,
                content_hash=migration.content_hash,
                modules=migration.modules,
                notes=(*current.notes, note),
            ),
            lease,
        )
    return NoteResult(state="repaired", next="migrator check", lines=(note,))


def _repair_restored(session: Session) -> NoteResult:
    live = {alias: one.table_id for alias, one in session.live.items()}
    bound = session.identity.bound()
    changed = [alias for alias, table_id in live.items() if bound.get(alias) != table_id]
    with locked(session, Options()) as lease:
        for alias in changed:
            session.identity.rebind(alias, live[alias], lease)
    lines = tuple(f"{alias} is now bound to table id {live[alias]}" for alias in changed)
    return NoteResult(state="repaired", next="migrator check", lines=lines or ("every table is the one it was",))


def _repair_drift(session: Session) -> NoteResult:
    guards.refuse_restored(session)
    lines = []
    with locked(session, Options()) as lease:
        guards.refuse_restored(session)
        found = drifts(session)
        gone = [one for one in found if one.is_gone]
        others = [one.finding.message for one in found if not one.is_gone]
        expected = expected_schema(session)
        run = Run(session, lease, Options())
        for alias, index, revision in dict.fromkeys(
            [*_being_built(session, expected), *((g.alias, g.index, g.revision) for g in gone)]
        ):
            run.build_again(revision, CreateIndex(alias, expected.table(alias).indexes[index]))
            lines.append(f"index {index} of {session.names[alias]} is built again")
    lines += [f"left: {message}" for message in others]
    return NoteResult(
        state="findings" if others else "repaired",
        exit_code=3 if others else 0,
        next="migrator check",
        lines=tuple(lines) or ("no index is missing",),
    )


def _being_built(session: Session, expected: Schema) -> list[tuple[str, str, str]]:
    """(alias, index, revision) of what an interrupted repair had begun to build."""
    return [
        (alias, index, revision)
        for revision, entry in session.entries.items()
        if entry.status == "applied"
        for alias, table in expected.tables.items()
        for index in table.indexes
        if entry.objects.get(index_object(alias, index), {}).get("intent")
    ]


def _now(session: Session) -> str:
    return session.ports.clock.now().isoformat(timespec="seconds")


# --- failed items -----------------------------------------------------------------------------------------------------


def failed_list(session: Session, revision: str | None) -> FailedResult:
    found = [_shown(one) for one in _failed(session, revision)]
    open_ones = [one for one in found if not one.skipped_because]
    return FailedResult(
        state="failed-items" if open_ones else "none",
        exit_code=6 if open_ones else 0,
        next="migrator failed retry, or migrator failed skip REVISION --because REASON" if open_ones else "",
        items=tuple(found),
    )


def failed_retry(session: Session, revision: str | None, options: Options) -> RunResult:
    """Try the failed items again: the same as `upgrade` to the revision they belong to."""
    if not _to_retry(session, revision):
        return RunResult(state="up-to-date", where=session.where, current=session.graph.current(session.applied))
    try:
        with locked(session, options) as lease:
            planned = plan_migrations(session, _to_retry(session, revision))
            run = Run(session, lease, options)
            for position, one in enumerate(planned, 1):
                run.revision(one, session.entries[one.migration.revision].way, position, len(planned))
    except Stopped as stopped:
        return stopped.result(session)
    return result_of(session, run.outcomes, "applied", next="migrator status")


def _to_retry(session: Session, revision: str | None) -> list[Migration]:
    """The unfinished revisions, once all that an upgrade demands holds.

    Not only those with failed items: a retry that was interrupted after its last item still has to be finished.
    """
    guards.refuse_restored(session)
    guards.refuse_missing_files(session)
    guards.refuse_edited(session)
    wanted = session.unfinished if revision is None else session.unfinished & {session.graph.find(revision)}
    return [one for one in session.graph.order() if one.revision in wanted]


def failed_skip(session: Session, revision: str, keys: Sequence[str], because: str) -> FailedResult:
    """Decide that failed items stay as they are; all of a revision's, or those with these keys.

    A key is DynamoDB JSON, or `PK="TENANT#t1" SK="META"` as `failed list` shows it.
    """
    if not because.strip():
        raise UsageError("no-reason", "say why these items may stay as they are", hint="--because 'archived tenant'")
    guards.refuse_restored(session)
    found = session.graph.find(revision)
    meant = [_meant(key) for key in keys]
    pending = [one for one in _failed(session, found) if not one.skipped_because]
    names = [{key_text(one.key), fingerprint(one.key)} for one in pending]
    for key, name in zip(keys, meant, strict=True):
        if not any(name in known for known in names):
            raise MigratorError(
                "no-such-item",
                f"{found} has no failed item {key}; nothing was skipped",
                hint=f"see `migrator failed list {found}`",
            )
    chosen = [one for one, known in zip(pending, names, strict=True) if not keys or known & set(meant)]
    with locked(session, Options()) as lease:
        for one in chosen:
            session.failures.skip(one.revision, one.step, one.key, as_text(because), lease)
    listed = failed_list(session, found)
    return replace(listed, changed=len(chosen), next="migrator upgrade" if not listed.exit_code else listed.next)


def _meant(key: str) -> str:
    """The fingerprint of a key given as DynamoDB JSON; any other is the text of one."""
    if not key.lstrip().startswith("{"):
        return key.strip()
    try:
        return fingerprint(from_json(json.loads(key)))
    except (ValueError, AttributeError, RecursionError, BadValue) as exc:
        raise UsageError(
            "bad-key", f"{key!r} is no key in DynamoDB JSON: {exc}", hint='such as {"PK": {"S": "TENANT#t1"}}'
        ) from exc


def _failed(session: Session, revision: str | None) -> list[FailedItemRecord]:
    if not session.control_table_exists:
        return []
    wanted = sorted(session.entries) if revision is None else [session.graph.find(revision)]
    return [failed for one in wanted for failed in session.failures.all(one)]


def _shown(one: FailedItemRecord) -> FailedItem:
    return FailedItem(
        one.revision, one.step, to_json(one.key), one.code, one.reason, one.attempts, one.at, one.skipped_because
    )


# --- lock -------------------------------------------------------------------------------------------------------------


def lock_show(session: Session, observe_seconds: float) -> LockResult:
    """Who holds the lock, and for how long no beat was seen."""
    if not session.control_table_exists:
        return LockResult(state="free", lock=LockState(held=False))
    view = session.lock.show(observe_seconds)
    state = shown_lock(session, view)
    return LockResult(
        state="held" if state.held else "free",
        next=f"if that run is dead: migrator lock release --owner {state.owner}" if state.held else "",
        lock=state,
    )


def lock_release(session: Session, owner: str) -> LockResult:
    """Break the lock of a run that is dead, by its owner nonce."""
    before = session.lock.break_lock(owner)
    return LockResult(state="released", next="migrator status", lock=lock_state(LockView(before)), released=True)
