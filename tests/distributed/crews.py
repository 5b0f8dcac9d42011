"""A site whose data steps are worked on by threads that stand in for processes, over real pipes."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from migrator.core.events import Report
from migrator.core.graph import Graph
from migrator.distributed.crew import ProcessCrew
from migrator.distributed.job import ControlPlace, SegmentJob
from migrator.distributed.process import WorkerProcess
from migrator.distributed.segments import Bench
from migrator.engine.segments import Pass
from migrator.engine.work import Stop, Work
from migrator.runner.runner import Runner
from migrator.testing.memory import Hook
from tests.simulation.world import Site


class Played:
    """A thread in a process's clothes. `kill` cuts its pipe, as a death does."""

    def __init__(self, serve: Callable[[], None], pipe: Connection):
        self._pipe = pipe
        self._thread = threading.Thread(target=serve, daemon=True)
        self.exitcode: int | None = None
        self._thread.start()

    def kill(self) -> None:
        self.exitcode = -9
        # Closing would not wake up the thread that reads from it.
        with socket.socket(fileno=os.dup(self._pipe.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)

    def join(self, _timeout: float | None = None) -> None:
        self._thread.join(10)
        self.exitcode = 0 if self.exitcode is None else self.exitcode

    def close(self) -> None:
        assert not self._thread.is_alive()
        self._pipe.close()


@dataclass
class Crews:
    """Makes runners with workers, and remembers these."""

    site: Site
    processes: int = 2
    graph: Graph | None = None
    """What the workers load, where that is not what the run did."""
    hooks: dict[int, tuple[Hook, ...]] = field(default_factory=dict)
    """Worker -> hooks of its first life."""
    jobs: list[SegmentJob] = field(default_factory=list)
    played: list[Played] = field(default_factory=list)

    def runner(self, *hooks: Hook) -> Runner:
        runner = self.site.runner(*hooks)
        ports = runner.session.ports

        def crew_of(work: Work, place: Any, capacities: Any, workers: Any) -> ProcessCrew:
            def job_of(of: Pass, total: int) -> SegmentJob:
                job = SegmentJob(
                    runner.session.settings,
                    work.revision,
                    of.content_hash,
                    of.step,
                    of.stage,
                    of.alias,
                    total,
                    dict(work.names),
                    work.schema,
                    work.after,
                    ControlPlace(place.table, place.partition_name, place.sort_name, place.prefix),
                    work.lease.lock,
                    capacities,
                    1 / workers.processes,
                )
                self.jobs.append(pickle.loads(pickle.dumps(job)))
                return job

            return ProcessCrew(workers.processes, self.start, job_of, work)

        object.__setattr__(ports, "crew", crew_of)
        return runner

    def upgrade(self, *hooks: Hook) -> Any:
        return self.runner(*hooks).upgrade(from_base=True, workers=self.processes)

    def start(self, number: int) -> tuple[Any, Connection]:
        ours, theirs = Pipe()
        serve = WorkerProcess(number, theirs, Stop()).serve
        played = Played(lambda: serve(lambda job, report, stop: self.bench(number, report, stop)), theirs)
        self.played.append(played)
        return played, ours

    @contextmanager
    def bench(self, number: int, report: Report, stop: Stop) -> Iterator[Bench]:
        process = self.site.world.as_another()
        process.on_call.extend(self.hooks.pop(number, ()))
        graph = self.graph or Graph(self.site.migrations)
        yield Bench(
            graph, process.tables, process.items, process.metrics, process.records, process.clock, process.entropy,
            report, stop,
        )  # fmt: skip
