"""Under the lock: one revision after another, each recorded before its first effect and after its last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from migrator.control.checkpoints import EXPORT_STAGES, Checkpoints, Stage
from migrator.control.history import Entry
from migrator.control.journal import Journal
from migrator.control.lease import Lease
from migrator.control.mirrors import Mirrors
from migrator.control.requests import RequestBook, Throttle
from migrator.core.events import Counts, Remark, RevisionFinished, RevisionStarted, StepFinished, StepStarted, Way
from migrator.core.exports import Exports
from migrator.core.schema import Schema
from migrator.core.steps import CreateIndex, Step
from migrator.engine.execute import execute, parts_of
from migrator.engine.indexes import Building, create_index
from migrator.engine.orders import Orders
from migrator.engine.pace import Pace
from migrator.engine.pacing.load import LoadWatch
from migrator.engine.work import Ledger, StepOutcome, Work
from migrator.errors import Interrupted, LeaseLost, MigratorError
from migrator.runner.budgets import budgets, capacities
from migrator.runner.planned import Planned
from migrator.runner.results import RevisionOutcome, RunResult
from migrator.runner.session import Session, Workers
from migrator.runner.sweeping import KEPT, forget, forgettable, pause, settle

_STEPS: Mapping[Way, str] = {"up": "apply", "down": "rollback"}
"""The other ways are called as their stages are."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: what the operator allowed, and how long to wait."""

    no_wait: bool = False
    wait_timeout: float | None = None
    lock_timeout: float | None = None
    drop_adopted: bool = False
    offline: bool = False
    allow_gate: bool = False
    workers: Workers = field(default_factory=Workers)
    app_ready: bool = False
    """The application's writers know the phases: enter dual-write."""
    exports: Exports | None = None
    """What a data step reads in place of scans of its table."""


class Stopped(Exception):
    """A revision did not come to its end: what came of the run, that revision last, and the exit code."""

    def __init__(
        self, outcomes: Sequence[RevisionOutcome], state: str, exit_code: int, next_command: str, blocked_by: str
    ):
        super().__init__(outcomes[-1].error)
        self.outcomes = outcomes
        self.state = state
        self.exit_code = exit_code
        self.next_command = next_command
        self.blocked_by = blocked_by

    def result(self, session: Session) -> RunResult:
        """What the command answers."""
        return result_of(
            session,
            self.outcomes,
            self.state,
            exit_code=self.exit_code,
            next=self.next_command,
            blocked_by=self.blocked_by,
        )


@contextmanager
def locked(session: Session, options: Options) -> Iterator[Lease]:
    """Hold the lock: history and tables are read anew under it; a signal or an error releases it."""
    session.stop.raise_if_asked()
    lease = session.lock.acquire(options.lock_timeout, wait=lambda seconds: pause(session, seconds))
    if session.heartbeat:
        lease.start_beating()
    try:
        session.refresh()
        book = RequestBook(session.records)
        session.orders = Orders(lambda: book.of(lease.owner), session.ports.clock, session.report, lease.check)
        yield lease
    finally:
        session.orders = None
        lease.release()


@dataclass(slots=True)
class Run:
    """The revisions of one command, worked through under one lease."""

    session: Session
    lease: Lease
    options: Options
    created_tables: frozenset[str] = frozenset()
    outcomes: list[RevisionOutcome] = field(default_factory=list)
    _earlier: Counts = field(default_factory=Counts, init=False)
    """What the record of the revision at work counted before this way: of its upgrade, where it is taken back."""

    def revision(self, planned: Planned, way: Way, position: int, count: int) -> Entry:
        """Work one revision through one way. Returns its entry; raises Stopped where it did not come to the end."""
        session, clock = self.session, self.session.ports.clock
        began = clock.monotonic()
        known = session.entries.get(planned.migration.revision)
        resumed = known is not None and known.way == way and known.is_unfinished
        ledger = Ledger(session.history, self.lease, self._opened(planned, way, known))
        self._earlier = Counts() if resumed else ledger.entry.counts
        session.report(
            RevisionStarted(planned.migration.revision, planned.migration.message, position, count, resumed, way)
        )
        # "Started" precedes the first effect.
        ledger.save()
        work = self.work_on(planned.before, planned.after, ledger)
        try:
            stopped = self._steps(work, planned, way)
            if stopped is not None:
                raise self._incomplete(work, planned, stopped, clock.monotonic() - began)
            self._close(work, planned, way, clock.monotonic() - began)
        except Stopped:
            raise
        except Building as exc:
            raise self._stop(work, exc, "started", "building", clock.monotonic() - began) from exc
        except (Interrupted, LeaseLost) as exc:
            raise self._stop(work, exc, None, "stopped", clock.monotonic() - began) from exc
        except MigratorError as exc:
            raise self._stop(work, exc, "failed", "failed", clock.monotonic() - began) from exc
        # Not inside: whatever becomes of it, the revision is applied.
        forget(session, self.lease, ledger)
        return ledger.entry

    def build_again(self, revision: str, step: CreateIndex) -> None:
        """Build an index that an applied revision made and that is gone; the revision stays applied."""
        session = self.session
        ledger = Ledger(session.history, self.lease, session.entries[revision])
        schema = session.base_schema()
        create_index(self.work_on(schema, schema, ledger), "repair", step)

    # --- opening

    def _opened(self, planned: Planned, way: Way, known: Entry | None) -> Entry:
        session, migration = self.session, planned.migration
        now = session.ports.clock.now().isoformat(timespec="seconds")
        caller = session.caller
        who: dict[str, Any] = {
            "who": caller.name,
            "host": caller.host,
            "run": caller.run,
            "tool": caller.tool,
            "started_at": now,
            "finished_at": "",
            "error": "",
            "error_code": "",
            "status": "started",
            "way": way,
        }
        files: dict[str, Any] = {
            "message": migration.message,
            "down_revisions": migration.down_revisions,
            "checksum": migration.checksum,
            "content_hash": migration.content_hash,
            "modules": migration.modules,
        }
        if known is None or (way == "up" and known.status == "rolled-back"):
            return Entry(revision=migration.revision, **files, **who)
        # On its way back a revision keeps the record of what was applied, and counts anew.
        fresh: dict[str, Any] = {"counts": Counts()} if way == "down" != known.way else {}
        return replace(known, **(files if way == "up" else {}), **who, **fresh)

    def work_on(self, before: Schema, after: Schema, ledger: Ledger) -> Work:
        """What the engine needs to work on a revision."""
        session, ports = self.session, self.session.ports
        work: Work
        pace = Pace(ports.clock, lambda seconds, reason: work.wait(seconds, reason))
        pace.reads, pace.writes = budgets(session)
        load = self._load(pace)
        work = Work(
            ports.tables,
            session.items,
            ports.metrics,
            ports.clock,
            ports.entropy,
            session.names,
            before,
            after,
            session.settings.limits,
            self.lease,
            ledger,
            Checkpoints(session.records, ports.clock, self.lease),
            session.failures,
            Journal(session.records, self.lease),
            session.phases,
            session.control_prefixes,
            session.report,
            session.stop,
            pace,
            created_tables=self.created_tables,
            no_wait=self.options.no_wait,
            wait_timeout=self.options.wait_timeout,
            drop_adopted=self.options.drop_adopted,
            orders=session.orders,
            load=load,
            mirrors=Mirrors(session.records),
            exports=self.options.exports,
        )
        if self.options.workers.are_elsewhere:
            work.crew = ports.crew(work, session.place, capacities(session), self.options.workers)
        if session.orders is not None:
            session.orders.follow(lambda throttle: self._throttle(pace, throttle))
        return work

    def _throttle(self, pace: Pace, throttle: Throttle | None) -> None:
        why = "" if throttle is None else f", set by {throttle.asked.who}"
        try:
            found = budgets(self.session, throttle)
        except ValueError as exc:
            self.session.report(Remark(f"the throttle that was asked for says nothing this tool can read: {exc}"))
            return
        pace.set_budgets(*found, why)

    def _load(self, pace: Pace) -> LoadWatch | None:
        session = self.session
        rule = session.settings.limits.critical_load
        if rule is None:
            return None
        tables = {live.name: tuple(live.indexes) for live in session.live.values()}
        return LoadWatch(rule, session.ports.clock, session.ports.metrics, pace, tables)

    # --- steps

    def _steps(self, work: Work, planned: Planned, way: Way) -> StepOutcome | None:
        """Run the steps in order; the outcome of the one that is incomplete, or None when all are done."""
        steps = planned.steps(_STEPS.get(way, way))
        if way == "up" and self._is_offline(planned):
            steps += planned.steps("complete")
        if way in ("down", "complete") and steps:
            settle(self.session, self.lease)
        for step_id, step in steps:
            if work.ledger.step(step_id).get("done"):
                continue
            work.heed()
            outcome = self._step(work, planned, step_id, step)
            if not outcome.is_complete:
                return outcome
        return None

    def _is_offline(self, planned: Planned) -> bool:
        """Whether it is completed at once: nobody is there to answer a gate, and phases are for those who are."""
        return self.options.offline and not planned.has_phases

    def _step(self, work: Work, planned: Planned, step_id: str, step: Step) -> StepOutcome:
        work.report(StepStarted(work.revision, step_id, step.title))
        work.schema = planned.schema_at(step_id)
        outcome = execute(work, step_id, step, planned.migration.content_hash)
        counts = work.ledger.entry.counts
        if outcome.is_complete:
            state = {**work.ledger.step(step_id), "done": True, "outcome": outcome.text}
            steps = {**work.ledger.entry.steps, step_id: state}
            work.ledger.save(steps=steps, counts=counts + outcome.counts)
        work.report(StepFinished(work.revision, step_id, outcome.text))
        return outcome

    # --- closing

    def _close(self, work: Work, planned: Planned, way: Way, seconds: float) -> None:
        now = work.clock.now().isoformat(timespec="seconds")
        waiting = None if way == "down" or self._is_offline(planned) else planned.stage_after(way)
        status = "rolled-back" if way == "down" else ("applied" if waiting is None else "at-gate")
        gate = "" if waiting is None else planned.gate(waiting)
        fields: dict[str, Any] = {"status": status, "finished_at": now, "gate": gate, "waits_for": waiting or ""}
        # Each step is recorded as done by now, so that nothing needs the checkpoints any more. They go before the
        # record says so: what a crash left of them would count as progress when the revision is applied once more.
        self._clear_checkpoints(work, planned)
        if way == "down":
            work.failures.clear(work.revision, self.lease)
            fields |= {"steps": {}, "objects": {}}
        elif kept := forgettable(planned):
            steps = work.ledger.entry.steps
            fields["steps"] = {**steps, **{one: {**steps.get(one, {}), KEPT: True} for one in kept}}
        work.ledger.save(**fields)
        counts = work.ledger.entry.counts - self._earlier
        work.report(RevisionFinished(work.revision, status, seconds, counts))
        self.outcomes.append(RevisionOutcome(work.revision, planned.migration.message, status, seconds, counts))

    def _clear_checkpoints(self, work: Work, planned: Planned) -> None:
        for step_id, step in [*planned.way_up, *planned.steps("rollback")]:
            for part in parts_of(step_id, step):
                read_one = EXPORT_STAGES if work.ledger.step(step_id).get("export") else ()
                for stage in (*get_args(Stage), *read_one):
                    work.checkpoints.clear(work.revision, f"{part}:{stage}")

    def _incomplete(self, work: Work, planned: Planned, outcome: StepOutcome, seconds: float) -> Stopped:
        work.ledger.save(status="incomplete", error=outcome.text, error_code="incomplete")
        counts = work.ledger.entry.counts + outcome.counts - self._earlier
        work.report(RevisionFinished(work.revision, "incomplete", seconds, counts))
        stopped_at = RevisionOutcome(
            work.revision, planned.migration.message, "incomplete", seconds, counts, outcome.text, outcome.examples
        )
        return Stopped(
            [*self.outcomes, stopped_at],
            "incomplete",
            6,
            outcome.question or "run the same command again",
            f"revision {work.revision}: {outcome.text}",
        )

    def _stop(self, work: Work, error: MigratorError, status: str | None, state: str, seconds: float) -> Stopped:
        entry = work.ledger.entry
        if status is not None:
            try:
                work.ledger.save(status=status, error=error.message, error_code=error.code)
            except MigratorError as also:
                work.report(Remark(f"the history could not be told of it: {also.message}", "warning"))
        if error.exit_code == 6:
            state = "incomplete"
        shown = status or entry.status
        counts = entry.counts - self._earlier
        work.report(RevisionFinished(work.revision, shown, seconds, counts))
        outcome = RevisionOutcome(
            work.revision, entry.message, shown, seconds, counts, f"[{error.code}] {error.message}"
        )
        next_command = error.hint or "run the same command again"
        return Stopped([*self.outcomes, outcome], state, error.exit_code, next_command, error.message)


def result_of(session: Session, outcomes: Sequence[RevisionOutcome], state: str, **fields: Any) -> RunResult:
    """The result of a run, with what stands now."""
    session.refresh()
    current = session.graph.current(session.applied)
    return RunResult(state=state, where=session.where, outcomes=tuple(outcomes), current=current, **fields)
