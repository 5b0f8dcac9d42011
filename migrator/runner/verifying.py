"""verify: compare both sides of a rewrite in progress, and make the twins follow where that is asked for."""

from __future__ import annotations

from migrator.core.events import StepFinished, StepStarted
from migrator.core.rewrite.steps import VerifyTwins
from migrator.engine.rewriting import verify_twins
from migrator.engine.work import Ledger, StepOutcome
from migrator.errors import MigratorError
from migrator.runner import guards
from migrator.runner.planned import Planned
from migrator.runner.results import RevisionOutcome, RunResult
from migrator.runner.running import Options, Run, Stopped, locked, result_of
from migrator.runner.session import Session
from migrator.runner.stages import one_of, planned_of


def verify(session: Session, revision: str | None, options: Options, *, repair: bool = False) -> RunResult:
    """Compare the sides of every rewrite of a revision in the phase that stands. Exit 6 where they differ."""
    before = _to_verify(session, revision).migration.revision
    try:
        with locked(session, options) as lease:
            planned = _to_verify(session, before)
            run = Run(session, lease, options)
            _compare(run, planned, repair=repair)
    except Stopped as stopped:
        return stopped.result(session)
    return result_of(session, run.outcomes, "verified", next="migrator status")


def _compare(run: Run, planned: Planned, *, repair: bool) -> None:
    """Nothing of how far the revision came changes. Raises Stopped where the sides differ."""
    session, clock = run.session, run.session.ports.clock
    began = clock.monotonic()
    ledger = Ledger(session.history, run.lease, session.entries[planned.migration.revision])
    work = run.work_on(planned.before, planned.after, ledger)
    outcome = StepOutcome("nothing to compare")
    for step_id, step in verifications(planned):
        work.report(StepStarted(work.revision, step_id, step.title))
        outcome = verify_twins(work, f"{step_id}.now", step, planned.migration.content_hash, repair=repair)
        work.report(StepFinished(work.revision, step_id, outcome.text))
        if not outcome.is_complete:
            break
    entry = ledger.entry
    error = "" if outcome.is_complete else outcome.text
    seconds = clock.monotonic() - began
    run.outcomes.append(
        RevisionOutcome(entry.revision, entry.message, entry.status, seconds, outcome.counts, error, outcome.examples)
    )
    if error:
        raise Stopped(run.outcomes, "incomplete", 6, outcome.question, f"revision {entry.revision}: {error}")


def _to_verify(session: Session, revision: str | None) -> Planned:
    guards.refuse_restored(session)
    guards.refuse_missing_files(session)
    guards.refuse_edited(session)
    candidates = [one for one in [*session.gated, *sorted(session.unfinished)] if _has_rewrite(session, one)]
    found = one_of(session, revision, candidates, "nothing-to-verify", "verified")
    if found not in candidates:
        raise MigratorError(
            "nothing-to-verify",
            f"revision {found} is {session.entries[found].status}, or rewrites no keys: there are no two sides of it",
            hint="see `migrator status`",
        )
    return planned_of(session, found)


def _has_rewrite(session: Session, revision: str) -> bool:
    return revision in session.graph and any(True for _ in verifications(planned_of(session, revision)))


def verifications(planned: Planned) -> tuple[tuple[str, VerifyTwins], ...]:
    """The first comparison of each rewrite: one says what has two sides."""
    found: dict[str, tuple[str, VerifyTwins]] = {}
    for step_id, step in planned.way_up:
        if isinstance(step, VerifyTwins):
            found.setdefault(step.slot, (step_id, step))
    return tuple(found.values())
