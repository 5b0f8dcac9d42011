"""What must hold before a run may write: nothing here writes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from migrator.config import Settings
from migrator.control.layout import application_items
from migrator.core.events import Way
from migrator.core.graph import Graph
from migrator.core.plan import Migration
from migrator.core.ports import LiveTable
from migrator.core.rewrite.steps import RewriteStep
from migrator.core.settings import Stream
from migrator.core.steps import ChangeSetting, CreateTable, DataStep, needs_transactions, tables_of
from migrator.engine.settings import refuse_other_table
from migrator.errors import MigratorError, UsageError
from migrator.runner.gates import past_the_gate, resumed_by
from migrator.runner.planned import Planned
from migrator.runner.planning import plan_migrations
from migrator.runner.session import Session, first_steps

FINDINGS = 3
"""The exit code of a refusal for what stands in files, history or tables."""


def refuse_unknown_tables(settings: Settings, graph: Graph) -> None:
    """Every table that a migration names is an alias of the configuration."""
    for migration in graph.order():
        for operation in migration.operations:
            alias = getattr(operation, "table", "") or settings.default_table
            if alias not in settings.tables:
                known = ", ".join(sorted(settings.tables)) or "none"
                named = f"names table {alias!r}" if alias else "names no table, and there is no default_table"
                raise UsageError(
                    "unknown-table",
                    f"{migration.path}: {type(operation).__name__} {named}; the configuration has: {known}",
                    hint=f"add [tables.{alias or 'app'}] with its name to migrator.toml, or give table=",
                )


def refuse_downwards(target: str) -> None:
    """`-1` and `base` are ways down: as targets of an upgrade they would be reached already, whatever is pending."""
    way = target.strip()
    if way == "base" or way.startswith("-"):
        raise UsageError(
            "no-such-target",
            f"{way} is a way down, and an upgrade goes up; nothing was done",
            hint=f"`migrator downgrade {way}`, or a target such as head, +1 or a revision",
        )


def refuse_restored(session: Session) -> None:
    """Control records carry the TableId: a restored or re-created table is another one."""
    if session.control_table_exists:
        session.identity.verify({alias: live.table_id for alias, live in session.live.items()})


def refuse_upgrade(
    session: Session, pending: Sequence[Migration], *, from_base: bool, allow_out_of_order: bool = False
) -> None:
    """Everything that must hold of files and history before pending revisions are applied."""
    refuse_missing_files(session)
    refuse_edited(session)
    refuse_unfinished_way(session, "up")
    refuse_out_of_order(session, pending, allowed=allow_out_of_order)
    if pending:
        refuse_unknown_history(session, from_base=from_base)
        refuse_gated(session, pending)


def refuse_unreviewed(session: Session) -> None:
    """A protected environment is upgraded only by a reviewed plan."""
    if session.settings.protected:
        raise UsageError(
            "protected-environment",
            f"environment {session.settings.env} is protected: it is upgraded only by a reviewed plan",
            hint="migrator plan --out plan.json, have it reviewed, then migrator upgrade --plan plan.json",
        )


def edited(session: Session) -> tuple[str, ...]:
    """Applied revisions whose file is no longer what was applied."""
    return tuple(
        revision
        for revision, entry in sorted(session.entries.items())
        if revision in session.graph
        and entry.stands
        and entry.checksum != session.graph[revision].checksum
        and entry.checksum
    )


def refuse_edited(session: Session) -> None:
    found = edited(session)
    if found:
        paths = ", ".join(f"{revision} ({session.graph[revision].path})" for revision in found)
        raise MigratorError(
            "checksum-mismatch",
            f"applied migrations were edited since: {paths}",
            hint=f"undo the edit, or accept it with `migrator repair --checksum {found[0]}`",
            exit_code=3,
        )


def refuse_missing_files(session: Session) -> None:
    missing = [revision for revision in session.missing_files() if session.entries[revision].status != "rolled-back"]
    if missing:
        raise MigratorError(
            "missing-file",
            f"the history has revisions that no file here has: {', '.join(missing)}",
            hint="run the branch that has these files, or restore them: an older checkout must not write",
            exit_code=3,
        )


def refuse_out_of_order(session: Session, pending: Sequence[Migration], *, allowed: bool) -> None:
    """An unapplied ancestor of an applied revision is out of order."""
    found = set(session.graph.out_of_order(session.applied)) & {migration.revision for migration in pending}
    if found and not allowed:
        raise MigratorError(
            "out-of-order",
            f"{', '.join(sorted(found))} would run after revisions that build on them: {_later(session, found)}",
            hint="if that is right, say so with --allow-out-of-order",
            exit_code=3,
        )


def _later(session: Session, found: Collection[str]) -> str:
    later = {revision for one in found for revision in session.graph.descendants(one) if revision in session.applied}
    return ", ".join(sorted(later))


def refuse_unknown_history(session: Session, *, from_base: bool) -> None:
    """A table that exists and has no history is somebody's: say from where to begin."""
    if session.entries or from_base:
        return
    declared = {
        session.settings.default_table if not step.table else step.table: step.shape
        for migration in session.graph.order()
        for step in first_steps(migration, session.base_schema(with_indexes=False))
        if isinstance(step, CreateTable)
    }
    for alias, live in session.live.items():
        shape = declared.get(alias)
        if shape is not None:
            try:
                refuse_other_table(live, shape)
            except MigratorError:
                shape = None
        # A table that our own interrupted run created is equal to its CreateTable, and empty.
        if shape is not None and not _has_items(session, live):
            continue
        raise MigratorError(
            "no-history",
            f"table {live.name} exists and has no migration history here",
            hint="it is at some revision already: `migrator stamp REVISION`; "
            "or everything is still to be applied to it: `migrator upgrade --from-base`",
        )


def refuse_stream_on_records(session: Session, planned: Sequence[Planned]) -> None:
    """A stream on the table that holds the control records would keep every later command out of it."""
    if session.has_own_control_table or session.settings.control.allow_stream:
        return
    for one in planned:
        for _, step in one.way_up:
            is_stream = isinstance(step, ChangeSetting) and isinstance(step.setting, Stream) and step.setting.view
            if is_stream and session.names[one.before.alias(step.table)] == session.place.table:
                raise MigratorError(
                    "control-table-needed",
                    f"{one.migration.path} switches a stream on for {session.place.table}, which holds the history and "
                    "the lock: its consumers would meet control records",
                    hint="give them a table of their own before the first upgrade, [control] name = "
                    '"{stage}-migrator"; or allow_stream = true',
                    exit_code=2,
                )


def refuse_without_transactions(session: Session, planned: Sequence[Planned]) -> None:
    """Steps that write by transaction need one Region that decides (facts §1.9)."""
    for one in planned:
        for _, step in one.way_up:
            alias = one.before.alias(step.table)
            live = session.live.get(alias)
            if live is None or not live.replicas or not needs_transactions(step):
                continue
            if live.has_strong_replicas:
                raise MigratorError(
                    "no-transactions",
                    f"{live.name} is a global table with strong consistency, which has no transactions: {step.title}",
                    hint="single guarded writes do: a Backfill without lookups, once and journal, or RunPython",
                    exit_code=3,
                )
            if session.settings.tables[alias].writer_region != session.caller.region:
                raise MigratorError(
                    "several-writer-regions",
                    f"{live.name} is a global table, and a transaction is one only in its own Region: {step.title}",
                    hint=f"if applications write in {session.caller.region} alone, say so: "
                    f'writer_region = "{session.caller.region}" in [tables.{alias}]',
                    exit_code=3,
                )


def _has_items(session: Session, live: LiveTable) -> bool:
    """Whether the application has an item in the table; control records of an interrupted run are none."""
    prefix = session.control_prefixes.get(live.name)
    start = None
    while True:
        page = session.items.scan(live.name, start=start, limit=25)
        if application_items(page.items, live.shape.partition_key.name, prefix):
            return True
        if page.next is None:
            return False
        start = page.next


def refuse_gated(session: Session, pending: Sequence[Migration]) -> None:
    """A revision at its gate stands before what comes after it."""
    for revision in session.gated:
        if has_phases(session, revision):
            # What it does not move goes on: see refuse_phase_in_progress.
            continue
        if any(revision in session.graph.ancestors(migration.revision) for migration in pending):
            entry = session.entries[revision]
            raise MigratorError(
                "at-gate",
                f"revision {revision} waits at its gate: {entry.gate}",
                hint=past_the_gate(entry),
                exit_code=9,
            )


def has_phases(session: Session, revision: str) -> bool:
    """Whether a revision goes through phases that the application takes part in."""
    return revision in session.graph and plan_migrations(session, [session.graph[revision]])[0].has_phases


def refuse_phase_in_progress(session: Session, planned: Sequence[Planned]) -> None:
    """Data steps on tables whose items are being moved wait for the end of that; unrelated ones run."""
    for revision in session.gated:
        if not has_phases(session, revision):
            continue
        moving = plan_migrations(session, [session.graph[revision]])[0]
        tables = {
            moving.before.alias(alias)
            for _, step in moving.way_up
            if isinstance(step, RewriteStep)
            for alias in tables_of(step)
        }
        for one in planned:
            for _, step in one.way_up:
                touched = {one.before.alias(alias) for alias in tables_of(step)} & tables
                if touched and isinstance(step, DataStep) and one.migration.revision != revision:
                    entry = session.entries[revision]
                    raise MigratorError(
                        "phase-in-progress",
                        f"revision {revision} is moving items of {', '.join(sorted(touched))}: {step.title} of "
                        f"{one.migration.revision} waits until that is done",
                        hint=past_the_gate(entry),
                        exit_code=9,
                    )


def refuse_unfinished_way(session: Session, way: Way) -> None:
    """A revision that is being taken back, or completed, is finished that way before anything else runs."""
    for revision, entry in sorted(session.entries.items()):
        if entry.way != way and entry.is_unfinished:
            raise MigratorError(
                "unfinished-revision",
                f"revision {revision} is {entry.status} on its way {entry.way}: {entry.error or 'interrupted'}",
                hint=f"finish it first: `{resumed_by(entry)}`",
            )
