"""The main loop of a worker process: segments by threads, news and failures back over the pipe."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection

from migrator.control.lent import LentLease
from migrator.core.events import Report
from migrator.distributed.job import SegmentJob
from migrator.distributed.messages import Begin, Done, Failed, Halt, Renewed, Take, ToCrew, Told
from migrator.distributed.segments import Bench, Worker
from migrator.engine.crew import SegmentNews
from migrator.engine.work import Stop

OpenBench = Callable[[SegmentJob, Report, Stop], AbstractContextManager[Bench]]
"""Opens the ports of a worker, by way of the configuration that the job holds."""


@dataclass(slots=True)
class WorkerProcess:
    """One worker process. It ends when the pipe does: without its run it has no right to write."""

    number: int
    pipe: Connection
    stop: Stop
    _sending: threading.Lock = field(default_factory=threading.Lock)

    def serve(self, open_bench: OpenBench) -> None:
        """Work until the run closes the pipe."""
        with suppress(EOFError, OSError):
            first = self.pipe.recv()
            assert isinstance(first, Begin)
            with open_bench(first.job, lambda event: self._send(Told(event)), self.stop) as bench:
                self._passes(first, bench)

    def _passes(self, begin: Begin, bench: Bench) -> None:
        threads = begin.job.settings.limits.workers
        with ThreadPoolExecutor(threads, thread_name_prefix="segment") as pool:
            worker: Worker | None = None
            lease: LentLease | None = None
            message: object = begin
            try:
                while True:
                    match message:
                        case Begin(job, renewed_at):
                            lease = LentLease(bench.records, bench.clock, bench.report, job.lock, renewed_at)
                            worker = self._opened(job, bench, lease)
                        case Take(segment) if worker is not None:
                            pool.submit(self._work, worker, segment)
                        case Renewed(at) if lease is not None:
                            lease.extend(at)
                        case Halt() if worker is not None:
                            worker.team.halt()
                        case _:
                            pass
                    message = self.pipe.recv()
            finally:
                if worker is not None:
                    worker.team.halt()

    def _opened(self, job: SegmentJob, bench: Bench, lease: LentLease) -> Worker | None:
        try:
            return Worker.of(job, bench, lease, self._tell)
        except Exception as exc:  # noqa: BLE001 - told to the run, which ends by it
            self._send(Failed.of(-1, exc))
            return None

    def _work(self, worker: Worker, segment: int) -> None:
        try:
            worker.team.raise_if_halted()
            worker.segment(segment)
        except Exception as exc:  # noqa: BLE001 - told to the run, which ends by it
            self._send(Failed.of(segment, exc))
        else:
            self._send(Done(segment))

    def _tell(self, news: SegmentNews) -> None:
        self._send(replace(news, worker=self.number))

    def _send(self, message: ToCrew) -> None:
        # Without its run nobody listens; the loop that reads notices that too, and ends.
        with self._sending, suppress(OSError):
            self.pipe.send(message)
