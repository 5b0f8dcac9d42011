"""Upgrade: from what is pending to what is applied, or to the reason why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from migrator.control.lease import Lease
from migrator.core.plan import Migration
from migrator.core.ports import Busy
from migrator.core.schema import Table
from migrator.core.settings import Setting
from migrator.core.steps import CreateTable
from migrator.errors import MigratorError, UsageError
from migrator.runner import from_export, guards, stages
from migrator.runner.estimates.again import refuse_worse
from migrator.runner.fingerprints import fingerprint_parts, moved
from migrator.runner.planned import Planned
from migrator.runner.planning import plan_migrations, refuse_lint_errors
from migrator.runner.results import RunResult
from migrator.runner.reviewed import Reviewed
from migrator.runner.running import Options, Run, Stopped, locked, result_of
from migrator.runner.session import Session
from migrator.runner.sweeping import sweep, unswept


def upgrade(
    session: Session,
    target: str,
    options: Options,
    *,
    from_base: bool = False,
    allow_out_of_order: bool = False,
    yes: bool = False,
    expect_one: bool = False,
    plan: Mapping[str, Any] | None = None,
) -> RunResult:
    """Apply what is pending for `target`. Nothing pending: no lock is taken and nothing is written."""
    if options.app_ready and (advanced := stages.ready(session, options)) is not None:
        return advanced
    reviewed = None if plan is None else Reviewed.of(plan)
    if reviewed is None:
        guards.refuse_unreviewed(session)
    else:
        target = reviewed.target
    pending = _pending(session, target, from_base=from_base, allow_out_of_order=allow_out_of_order)
    if not pending and not unswept(session):
        _hold_to(session, reviewed)
        return _nothing_pending(session, options)
    if expect_one and len(pending) > 1:
        raise UsageError(
            "expected-one",
            f"{len(pending)} revisions are pending: {', '.join(one.revision for one in pending)}",
            hint="release them one at a time: migrator upgrade +1",
        )
    planned = plan_migrations(session, pending)
    _refuse(session, planned, options, yes=yes, reviewed=reviewed)
    if options.exports is not None:
        from_export.verify(session, planned, options.exports, offline=options.offline)
    created = _create_tables(session, planned)
    try:
        with locked(session, options) as lease:
            # Another run may have worked while we waited for the lock: decide anew.
            pending = _pending(session, target, from_base=True, allow_out_of_order=allow_out_of_order)
            planned = plan_migrations(session, pending)
            _refuse(session, planned, options, yes=yes, reviewed=reviewed)
            refuse_worse(session, planned, reviewed)
            bind_tables(session, lease)
            run = Run(session, lease, options, created)
            sweep(session, lease)
            return _work(session, run, planned, options)
    except Stopped as stopped:
        return stopped.result(session)


def _work(session: Session, run: Run, planned: Sequence[Planned], options: Options) -> RunResult:
    for position, one in enumerate(planned, 1):
        entry = run.revision(one, "up", position, len(planned))
        if entry.waits_for == "ready" and options.app_ready:
            entry = run.revision(one, "ready", position, len(planned))
        if entry.status == "at-gate":
            return stages.at_gate(entry, result_of(session, run.outcomes, "at-gate"), options)
    return result_of(session, run.outcomes, "applied" if planned else "up-to-date", next="migrator status")


def _pending(session: Session, target: str, *, from_base: bool, allow_out_of_order: bool) -> tuple[Migration, ...]:
    """What is to be applied, after everything that must hold was seen to hold."""
    guards.refuse_restored(session)
    pending = session.graph.pending(target, session.applied)
    guards.refuse_upgrade(session, pending, from_base=from_base, allow_out_of_order=allow_out_of_order)
    return pending


def _refuse(
    session: Session, planned: Sequence[Planned], options: Options, *, yes: bool, reviewed: Reviewed | None
) -> None:
    """What is in the way of these revisions: asked before the lock, so that nothing is made, and again under it."""
    refuse_lint_errors(session, planned)
    guards.refuse_without_transactions(session, planned)
    guards.refuse_stream_on_records(session, planned)
    guards.refuse_phase_in_progress(session, planned)
    if options.exports is not None and planned:
        from_export.refuse(session, planned, options.exports, offline=options.offline)
    _refuse_destructive(planned, options, yes=yes, reviewed=reviewed)
    _hold_to(session, reviewed)


def _nothing_pending(session: Session, options: Options) -> RunResult:
    gated = session.gated
    if gated:
        result = RunResult(state="at-gate", where=session.where, current=session.graph.current(session.applied))
        return stages.at_gate(session.entries[gated[0]], result, options)
    return RunResult(state="up-to-date", where=session.where, current=session.graph.current(session.applied))


def _refuse_destructive(planned: Sequence[Planned], options: Options, *, yes: bool, reviewed: Reviewed | None) -> None:
    marked = frozenset[str]() if reviewed is None else reviewed.destructive
    for one in planned:
        destroys = one.is_destructive or (options.offline and not one.has_phases and bool(one.gates))
        if destroys and not yes and one.migration.revision not in marked:
            raise UsageError(
                "needs-yes",
                f"{one.migration.path} takes away what an application may still use: {_destroyed(one, options)}",
                hint="look at `migrator plan`, then add --yes, or apply a reviewed plan with --plan",
            )


def _destroyed(one: Planned, options: Options) -> str:
    """The titles of the steps that need a yes; offline a rename completes at once."""
    steps = [step for plan in one.plans if plan.destructive for step in plan.apply]
    steps += [step for _, step in one.steps("complete")] if options.offline and not one.has_phases else []
    return "; ".join(step.title for step in steps)


def _hold_to(session: Session, reviewed: Reviewed | None) -> None:
    """Apply exactly the reviewed plan, or refuse, naming what moved."""
    if reviewed is None:
        return
    revisions = reviewed.revisions
    unknown = [revision for revision in revisions if revision not in session.graph]
    if unknown:
        raise MigratorError("plan-moved", f"no file here has the planned revision {unknown[0]}", exit_code=3)
    now = fingerprint_parts(session, [session.graph[revision] for revision in revisions])
    changed = moved(reviewed.parts, now)
    extra = [one for one in session.graph.pending(reviewed.target, session.applied) if one.revision not in revisions]
    if changed or extra:
        what = ", ".join(changed) or "revisions: " + ", ".join(one.revision for one in extra)
        raise MigratorError(
            "plan-moved",
            f"the world is not what the plan was made for: {what} changed since",
            hint="make a new plan with `migrator plan --out`, and have it reviewed",
            exit_code=3,
        )


def _create_tables(session: Session, planned: Sequence[Planned]) -> frozenset[str]:
    """CreateTable runs before the lock, which may live in that table; the step then records it."""
    created = set()
    create_control_table(session)
    for one in planned:
        for _, step in one.steps("apply"):
            if not isinstance(step, CreateTable):
                continue
            alias = one.before.alias(step.table)
            if alias not in session.live and session.names[alias] == session.place.table:
                _create(session, session.names[alias], step.shape, step.settings)
                created.add(alias)
    if created:
        session.refresh()
    return frozenset(created)


def _create(session: Session, name: str, shape: Table, settings: Sequence[Setting] = ()) -> None:
    tables, clock = session.ports.tables, session.ports.clock
    # Busy: another run is creating it; the lock then decides who goes on.
    with suppress(Busy):
        tables.create(name, shape, settings)
    for _ in range(600):
        live = tables.describe(name)
        if live is not None and live.status == "ACTIVE":
            return
        session.stop.raise_if_asked()
        clock.sleep(min(2.0, session.settings.limits.poll_interval))
    raise MigratorError("table-not-ready", f"table {name} did not become ACTIVE", hint="run the same command again")


def create_control_table(session: Session) -> None:
    """Create the control table that the configuration names, where it is missing."""
    if session.has_own_control_table and not session.control_table_exists:
        _create(session, session.place.table, session.control_shape())


def bind_tables(session: Session, lease: Lease) -> None:
    """Bind the history to the tables that it is about, by their TableIds."""
    bound = session.identity.bound()
    for alias, live in session.live.items():
        if bound.get(alias) != live.table_id:
            session.identity.bind(alias, live.table_id, lease)
