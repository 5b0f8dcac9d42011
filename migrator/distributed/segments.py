"""A worker's side, whatever it runs on: a process beside the run, or an executor of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from migrator.control.checkpoints import Checkpoints
from migrator.control.failures import Failures
from migrator.control.history import Entry, History
from migrator.control.journal import Journal
from migrator.control.lent import LentLease
from migrator.control.phases import Phases
from migrator.control.requests import RequestBook, Throttle
from migrator.core.events import Remark, Report
from migrator.core.graph import Graph
from migrator.core.ports import Clock, Entropy, Items, Metrics, Records, Tables
from migrator.distributed.job import SegmentJob, step_of
from migrator.engine.crew import SegmentNews
from migrator.engine.orders import Orders
from migrator.engine.pace import Pace
from migrator.engine.pacing.budgets import budgets
from migrator.engine.pacing.load import LoadWatch
from migrator.engine.pages import Team
from migrator.engine.passes import pass_of
from migrator.engine.segments import Pass
from migrator.engine.work import Ledger, Stop, Work


@dataclass(frozen=True, slots=True)
class Bench:
    """What a worker works with: ports of its own, and the files as it loaded them."""

    graph: Graph
    tables: Tables
    items: Items
    metrics: Metrics
    records: Records
    clock: Clock
    entropy: Entropy
    report: Report
    stop: Stop


@dataclass(slots=True)
class Worker:
    """One worker's pass. Segments may be worked on by several threads."""

    work: Work
    passing: Pass
    team: Team
    total: int

    @classmethod
    def of(cls, job: SegmentJob, bench: Bench, lease: LentLease, tell: Callable[[SegmentNews], None]) -> Worker:
        """Raises `other-files` before anything is written."""
        step = step_of(job, bench.graph)
        work = _work(job, bench, lease)
        passing = pass_of(work, job.step_id, step, job.stage, job.content_hash)
        return cls(work, passing, passing.enlist(tell), job.total)

    def segment(self, number: int) -> None:
        """Work on one segment to its end. Raises Halted once `team.halt` was called."""
        self.passing.work_on(number, self.total)

    def attempt(self, number: int) -> None:
        """As `segment`, where an earlier attempt may still be alive: that one fails from here."""
        self.passing.attempt(number, self.total)


def _work(job: SegmentJob, bench: Bench, lease: LentLease) -> Work:
    limits, records, clock = job.settings.limits, bench.records, bench.clock
    book = RequestBook(records)
    work: Work
    pace = Pace(clock, lambda seconds, reason: work.wait(seconds, reason), share=job.share)
    pace.reads, pace.writes = budgets(limits, job.capacities)

    def throttled(throttle: Throttle | None) -> None:
        why = "" if throttle is None else f", set by {throttle.asked.who}"
        try:
            pace.set_budgets(*budgets(limits, job.capacities, throttle), why)
        except ValueError as exc:
            bench.report(Remark(f"the throttle that was asked for says nothing this tool can read: {exc}"))

    orders = Orders(lambda: book.of(lease.owner), clock, bench.report, lease.check)
    rule = limits.critical_load
    work = Work(
        bench.tables,
        bench.items,
        bench.metrics,
        clock,
        bench.entropy,
        job.names,
        job.before,
        job.after,
        limits,
        lease,
        Ledger(History(records), lease, Entry(revision=job.revision)),
        Checkpoints(records, clock, lease),
        Failures(records, clock),
        Journal(records, lease),
        Phases(records),
        {job.control.table: job.control.prefix},
        bench.report,
        bench.stop,
        pace,
        orders=orders,
        exports=job.exports,
        load=None if rule is None else LoadWatch(rule, clock, bench.metrics, pace, _tables(job)),
    )
    orders.follow(throttled)
    lease.also_confirm = work.checkpoints.confirm_attempts
    return work


def _tables(job: SegmentJob) -> dict[str, tuple[str, ...]]:
    """Physical table -> its indexes."""
    tables: dict[str, list[str]] = {}
    for resource in job.capacities:
        table, _, index = resource.partition("/")
        tables.setdefault(table, []).extend([index] if index else [])
    return {table: tuple(indexes) for table, indexes in tables.items()}
