"""Downgrade an applied revision, roll back an unfinished or gated one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from migrator.core.events import Way
from migrator.core.plan import Migration
from migrator.errors import MigratorError
from migrator.runner import guards
from migrator.runner.planned import Planned
from migrator.runner.planning import plan_migrations
from migrator.runner.results import RunResult
from migrator.runner.running import Options, Run, Stopped, locked, result_of
from migrator.runner.session import Session
from migrator.runner.stages import one_of


def downgrade(session: Session, target: str, options: Options) -> RunResult:
    """Take back applied revisions, newest first, until `target` is the newest."""
    if not _to_downgrade(session, target):
        return RunResult(
            state="up-to-date",
            where=session.where,
            current=session.graph.current(session.applied),
            next="migrator status",
        )
    return _run(session, lambda: _to_downgrade(session, target), "down", options, "downgraded")


def _to_downgrade(session: Session, target: str) -> tuple[Planned, ...]:
    _refuse(session)
    unfinished = [revision for revision in sorted(session.unfinished) if session.entries[revision].way != "down"]
    if unfinished or session.gated:
        revision = (unfinished or list(session.gated))[0]
        status = session.entries[revision].status
        raise MigratorError(
            "not-applied",
            f"revision {revision} is {status}: downgrade is for applied revisions",
            hint=f"take it back with `migrator rollback {revision}`",
        )
    planned = _planned(session, session.graph.to_undo(target, _standing(session)))
    _refuse_irreversible(session, planned)
    return planned


def rollback(session: Session, revision: str | None, options: Options) -> RunResult:
    """Take back a revision that is unfinished or at its gate."""
    return _run(session, lambda: _to_roll_back(session, revision), "down", options, "rolled-back")


def _to_roll_back(session: Session, revision: str | None) -> tuple[Planned, ...]:
    _refuse(session)
    found = one_of(
        session, revision, [*sorted(session.unfinished), *session.gated], "nothing-to-roll-back", "rolled back"
    )
    entry = session.entries[found]
    if entry.status == "rolled-back":
        raise MigratorError(
            "nothing-to-roll-back", f"revision {found} is rolled back already", hint="see `migrator status`"
        )
    if entry.status == "applied":
        raise MigratorError(
            "is-applied",
            f"revision {found} is applied: rollback is for unfinished and gated revisions",
            hint=f"take it back with `migrator downgrade {found}-1`",
        )
    if entry.way == "complete" and entry.status != "at-gate":
        raise MigratorError(
            "past-the-gate",
            f"revision {found} was being completed: what its completion removed does not come back",
            hint=f"finish it: `migrator contract {found} --yes`",
        )
    planned = _planned(session, [session.graph[found]])
    _refuse_irreversible(session, planned)
    return planned


def _standing(session: Session) -> frozenset[str]:
    """Revisions to take back from: a downgrade that was cut short goes on with the revision it was at."""
    halfway = {one for one in session.unfinished if session.entries[one].way == "down"}
    return session.applied | halfway


def _refuse(session: Session) -> None:
    guards.refuse_restored(session)
    guards.refuse_missing_files(session)
    guards.refuse_edited(session)


def _planned(session: Session, migrations: Sequence[Migration]) -> tuple[Planned, ...]:
    """Newest first, each planned on the schema before it."""
    by_revision = {one.migration.revision: one for one in plan_migrations(session, migrations)}
    return tuple(by_revision[migration.revision] for migration in migrations)


def _refuse_irreversible(session: Session, planned: Sequence[Planned]) -> None:
    for one in planned:
        entry = session.entries[one.migration.revision]
        # What never began needs no way back. A stamped revision has no steps: all of it counts.
        begun = {step.partition(".")[0] for step in entry.steps} or {str(number) for number in range(len(one.plans))}
        reasons = [
            plan.irreversible for number, plan in enumerate(one.plans) if plan.irreversible and str(number) in begun
        ]
        ways = {step.split(".")[1] for step in entry.steps}
        stages = [stage for plan in one.plans for stage in plan.stages if stage.name in ways]
        reasons += [stage.irreversible for stage in stages if stage.irreversible]
        if reasons:
            raise MigratorError(
                "irreversible",
                f"revision {one.migration.revision} has no way back: {'; '.join(reasons)}",
                hint="write a new revision that puts right what must be",
            )


def _run(
    session: Session, decide: Callable[[], tuple[Planned, ...]], way: Way, options: Options, state: str
) -> RunResult:
    """Run what `decide` finds; it decides before the lock, so that a refusal needs none, and again under it."""
    before = [one.migration.revision for one in decide()]
    try:
        with locked(session, options) as lease:
            planned = decide()
            if [one.migration.revision for one in planned] != before:
                raise MigratorError(
                    "history-moved", "another run changed the history meanwhile", hint="see `migrator status`"
                )
            run = Run(session, lease, options)
            for position, one in enumerate(planned, 1):
                run.revision(one, way, position, len(planned))
    except Stopped as stopped:
        return stopped.result(session)
    return result_of(session, run.outcomes, state, next="migrator status")
