"""Segments as Spark tasks. The driver holds the lock; executors learn from the control records that it still does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from migrator.control.lent import LentLease
from migrator.control.requests import Asked, RequestBook
from migrator.core.events import Remark
from migrator.core.ports import Records
from migrator.distributed.job import SegmentJob
from migrator.distributed.messages import Failed
from migrator.distributed.process import OpenBench
from migrator.distributed.segments import Worker
from migrator.engine.crew import SegmentNews
from migrator.engine.pages import Halted
from migrator.engine.segments import Pass
from migrator.engine.work import Stop, Work
from migrator.errors import MigratorError, UsageError, said

BEAT_SECONDS = 2.0
"""Between two beats while tasks run: an executor may write once it has seen the beat change."""
_PROGRESS_SECONDS = 5.0
_LOOK_SECONDS = 0.25
_HALT_SECONDS = 60.0
_ROUNDS = 3
"""Tasks for each core: a lost one costs a part of the segments, and a quick one gets more of them."""

SETTINGS = {
    # A second copy of a task that is only slow would do its work, and use its budget, twice.
    "spark.speculation": "false",
    "spark.task.maxFailures": "8",
    "spark.ui.enabled": "false",
}

Outcome = SegmentNews | Failed


def spark_session(master: str) -> Any:
    """The session of this run. On EMR and Glue `master` is "" and the platform's own. Raises `no-spark`."""
    try:
        from pyspark.sql import SparkSession  # type: ignore[import-not-found,unused-ignore]
    except ImportError as exc:
        raise UsageError(
            "no-spark", f"--engine spark needs PySpark: {exc}", hint="pip install 'dynamodb-migrations[spark]'"
        ) from exc
    builder = SparkSession.builder.appName("migrator")
    if master:
        builder = builder.master(master)
    for name, setting in SETTINGS.items():
        builder = builder.config(name, setting)
    try:
        return builder.getOrCreate()
    except Exception as exc:
        # Whatever Java or Spark say when they do not start.
        raise MigratorError(
            "no-spark", f"Spark did not start: {said(exc)}", hint="is Java 17 installed, and --master right?"
        ) from exc


@dataclass(slots=True)
class SparkCrew:
    """A Crew of Spark executors. The session starts at the first pass and stays until `close`."""

    open_session: Callable[[], Any]
    open_bench: OpenBench
    job_of: Callable[[Pass, int], SegmentJob]
    """The job of a pass, given the number of its segments."""
    work_of: Work
    """The run's: its lease is held, its stop heeded."""
    records: Records
    _session: Any = None

    def work(self, of: Pass, segments: Sequence[int], total: int) -> None:
        if self._session is None:
            self._session = self.open_session()
        context = self._session.sparkContext
        slices = min(len(segments), max(1, context.defaultParallelism) * _ROUNDS)
        job = replace(self.job_of(of, total), share=1 / min(len(segments), max(1, context.defaultParallelism)))
        task = partial(run_task, job, self.open_bench)
        driving = _Driving(lambda: context.parallelize(list(segments), slices).mapPartitions(task).collect())
        errors: list[MigratorError] = []
        driving.start()
        self._attend(of, driving, context, errors)
        for outcome in driving.outcomes:
            if isinstance(outcome, Failed):
                errors.append(outcome.error())
                continue
            try:
                of.take(outcome)
            except MigratorError as exc:
                errors.append(exc)
        if driving.error is not None and not errors:
            errors.append(
                MigratorError(
                    "worker-lost",
                    f"the Spark job failed: {said(driving.error)[:1000]}",
                    hint="see the log of Spark for what ended its executors, then run the same command again",
                )
            )
        if errors:
            raise min(errors, key=lambda error: isinstance(error, Halted))

    def close(self) -> None:
        """End the session."""
        if self._session is not None:
            self._session.stop()
            self._session = None

    def _attend(self, of: Pass, driving: _Driving, context: Any, errors: list[MigratorError]) -> None:
        """Keep the lease, show progress, and pass a stop on, until the tasks are done."""
        work = self.work_of
        clock = work.clock
        beaten = shown = halted = clock.monotonic()
        while not driving.wait(_LOOK_SECONDS):
            now = clock.monotonic()
            if now - beaten >= BEAT_SECONDS:
                beaten = now
                work.lease.beat()
            if now - shown >= _PROGRESS_SECONDS:
                shown = now
                self._show(of)
            if not errors:
                self._heed(errors)
                halted = now
                if errors:
                    self._halt_all(errors[0])
            elif now - halted > _HALT_SECONDS:
                context.cancelAllJobs()

    def _heed(self, errors: list[MigratorError]) -> None:
        try:
            self.work_of.stop.raise_if_asked()
            self.work_of.lease.check()
            if self.work_of.orders is not None:
                self.work_of.orders.look()
        except MigratorError as exc:
            errors.append(exc)

    def _show(self, of: Pass) -> None:
        """Progress, from the checkpoints that the tasks save."""
        try:
            for stands in self.work_of.checkpoints.standing(self.work_of.revision, of.id):
                of.take(SegmentNews(stands.segment, stands.counts, stands.done, False, 0))
        except MigratorError as exc:
            self.work_of.report(Remark(f"the progress of the tasks is not known: {exc.message}"))

    def _halt_all(self, error: MigratorError) -> None:
        """Executors hear of a stop as they hear of an operator's cancellation: from the record of requests."""
        work = self.work_of
        at = work.clock.now().isoformat(timespec="seconds")
        asked = Asked(work.entropy.nonce(), "the run itself", "", at, None, error.message)
        try:
            RequestBook(self.records).change(work.lease.owner, lambda found: replace(found, cancel=asked))
        except MigratorError as exc:
            work.report(Remark(f"the tasks could not be told to stop: {exc.message}", "warning"))


@dataclass(slots=True)
class _Driving:
    """The Spark job, in a thread of its own: `collect` blocks until all tasks are done."""

    collect: Callable[[], list[Outcome]]
    outcomes: list[Outcome] = field(default_factory=list)
    error: Exception | None = None
    _done: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._run, name="spark", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self.outcomes = self.collect()
        except Exception as exc:  # noqa: BLE001 - whatever Spark raises ends the pass
            self.error = exc
        finally:
            self._done.set()


# --- on the executor --------------------------------------------------------------------------------------------------


def run_task(job: SegmentJob, open_bench: OpenBench, segments: Iterable[int]) -> Iterator[Outcome]:
    """One task attempt: its segments, one after the other, each claimed anew. What stopped it is an outcome, not an
    exception, which Spark would try again."""
    numbers = list(segments)
    if not numbers:
        return
    news: dict[int, SegmentNews] = {}

    def tell(one: SegmentNews) -> None:
        before = news.get(one.segment)
        if before is not None:
            found = (*before.found, *one.found)
            one = replace(one, failed=before.failed + one.failed, repeats=before.repeats or one.repeats, found=found)
        news[one.segment] = one

    at = numbers[0]
    try:
        with open_bench(job, lambda _event: None, Stop()) as bench:
            lease = LentLease(bench.records, bench.clock, bench.report, job.lock, bench.clock.monotonic())
            watching = _Watching(lease)
            try:
                watching.start(bench.clock.sleep)
                worker = Worker.of(job, bench, lease, tell)
                for at in numbers:
                    worker.attempt(at)
            finally:
                watching.end()
    except Exception as exc:  # noqa: BLE001 - told to the driver, which ends by it
        yield Failed.of(at, exc)
    yield from news.values()


@dataclass(slots=True)
class _Watching:
    """Looks at the driver's beat from a thread, so that the lease lasts while a page takes its time."""

    lease: LentLease
    _end: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self, sleep: Callable[[float], None]) -> None:
        """Return once the driver's beat was seen to change. Raises LeaseLost where it does not within a lease."""
        self.lease.ask()
        while not self.lease.is_granted:
            self.lease.watch()
            self.lease.check()
            sleep(_LOOK_SECONDS)
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._end.wait(min(BEAT_SECONDS, self.lease.lease_seconds / 12)):
            self.lease.watch()

    def end(self) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
