"""Past a gate: the stages of a revision behind its questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from migrator.control.history import Entry
from migrator.core.plan import StageName
from migrator.errors import MigratorError, UsageError
from migrator.runner import guards
from migrator.runner.gates import past_the_gate
from migrator.runner.patterns import refuse_wrong_before_readers
from migrator.runner.planned import Planned
from migrator.runner.planning import plan_migrations
from migrator.runner.results import RunResult
from migrator.runner.running import Options, Run, Stopped, locked, result_of
from migrator.runner.session import Session

AT_GATE = 9
_WORDS: dict[StageName, tuple[str, str]] = {
    "ready": ("nothing-at-gate", "made ready"),
    "cutover": ("nothing-at-gate", "cut over"),
    "complete": ("nothing-at-gate", "completed"),
}


def at_gate(entry: Entry, result: RunResult, options: Options) -> RunResult:
    """The answer of a command that stops at a gate."""
    return replace(
        result,
        state="at-gate",
        exit_code=0 if options.allow_gate else AT_GATE,
        next=past_the_gate(entry),
        blocked_by=entry.gate,
    )


def ready(session: Session, options: Options) -> RunResult | None:
    """Go on with the revision that asked whether the application is ready; None where none did."""
    waiting = [one for one in session.gated if session.entries[one].waits_for == "ready"]
    halfway = [one for one in sorted(session.unfinished) if session.entries[one].way == "ready"]
    if not waiting and not halfway:
        return None
    revision = (halfway or waiting)[0]
    return _advance(session, lambda: _to_advance(session, "ready", revision), "ready", options)


def cutover(session: Session, revision: str | None, options: Options, *, yes: bool = False) -> RunResult:
    """Move the readers: the new side decides from here on."""

    def decide() -> Planned:
        planned = _to_advance(session, "cutover", revision)
        reasons = [stage.irreversible for stage in planned.stages("cutover") if stage.irreversible]
        if reasons and not yes:
            raise UsageError(
                "needs-yes",
                f"after the cutover of {planned.migration.revision} there is no whole way back: {'; '.join(reasons)}",
                hint=f"when that will do: migrator cutover {planned.migration.revision} --yes",
            )
        return planned

    return _advance(session, decide, "cutover", options)


def contract(session: Session, revision: str | None, options: Options, *, yes: bool = False) -> RunResult:
    """Complete a revision that waits at its last gate. What it removes does not come back: it needs `--yes`."""

    def decide() -> Planned:
        planned = _to_advance(session, "complete", revision)
        if not yes:
            found = planned.migration.revision
            raise UsageError(
                "needs-yes",
                f"completing {found} removes what its application no longer reads; the gate asks: "
                f"{planned.gate('complete')}",
                hint=f"when that is so: migrator contract {found} --yes",
            )
        return planned

    return _advance(session, decide, "complete", options)


def _to_advance(session: Session, stage: StageName, revision: str | None) -> Planned:
    guards.refuse_restored(session)
    guards.refuse_missing_files(session)
    guards.refuse_edited(session)
    guards.refuse_unfinished_way(session, stage)
    halfway = [one for one in sorted(session.unfinished) if session.entries[one].way == stage]
    waiting = [one for one in session.gated if session.entries[one].waits_for == stage]
    found = one_of(session, revision, [*halfway, *waiting], *_WORDS[stage])
    entry = session.entries[found]
    if entry.way == stage and entry.is_unfinished:
        return planned_of(session, found)
    if entry.status != "at-gate":
        raise MigratorError(
            "not-at-gate", f"revision {found} is {entry.status}, not at a gate", hint="run `migrator upgrade` first"
        )
    if entry.waits_for != stage:
        raise MigratorError(
            "other-gate",
            f"revision {found} waits at another gate: {entry.gate}",
            hint=past_the_gate(entry),
            exit_code=AT_GATE,
        )
    return planned_of(session, found)


def planned_of(session: Session, revision: str) -> Planned:
    return plan_migrations(session, [session.graph[revision]])[0]


def one_of(session: Session, revision: str | None, candidates: list[str], code: str, word: str) -> str:
    """The revision that is meant: the one that is named, or the only one that could be."""
    if revision is not None:
        found = session.graph.find(revision)
        if found not in session.entries:
            raise MigratorError(code, f"revision {found} never began here", hint="see `migrator status`")
        return found
    if not candidates:
        raise MigratorError(code, f"no revision waits to be {word}", hint="see `migrator status`")
    if len(candidates) > 1:
        raise UsageError(
            "several-revisions", f"several revisions could be {word}: {', '.join(candidates)}", hint="name one"
        )
    return candidates[0]


def _advance(session: Session, decide: Callable[[], Planned], stage: StageName, options: Options) -> RunResult:
    """Run the stage of what `decide` finds; it decides before the lock, so that a refusal needs none, and under it."""
    before = decide().migration.revision
    try:
        with locked(session, options) as lease:
            planned = decide()
            if stage == "cutover":
                refuse_wrong_before_readers(session, planned)
            if planned.migration.revision != before:
                raise MigratorError(
                    "history-moved", "another run changed the history meanwhile", hint="see `migrator status`"
                )
            run = Run(session, lease, options)
            entry = run.revision(planned, stage, 1, 1)
    except Stopped as stopped:
        return stopped.result(session)
    if entry.status == "at-gate":
        return at_gate(entry, result_of(session, run.outcomes, "at-gate"), options)
    return result_of(session, run.outcomes, "applied", next="migrator status")
