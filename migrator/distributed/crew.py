"""Worker processes beside the run, one a core: they get segments one by one, and another goes on with a dead one's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from migrator.core.events import Remark
from migrator.distributed.job import SegmentJob
from migrator.distributed.messages import Begin, Done, Failed, Halt, Renewed, Take, Told, ToWorker
from migrator.engine.crew import SegmentNews
from migrator.engine.pages import Halted
from migrator.engine.segments import Pass
from migrator.engine.work import Work
from migrator.errors import MigratorError

_LOOK_SECONDS = 0.2
GRACE_SECONDS = 20.0
"""In which a worker that was told to halt must come to the end of its page; requests time out within it."""
MOST_DEATHS = 3
"""Worker processes that may die in one pass before the run stops."""

Start = Callable[[int], tuple[Any, Connection]]
"""Starts worker number N: its process, and this side of the pipe to it."""


@dataclass(slots=True)
class _Member:
    process: Any
    pipe: Connection
    at: set[int] = field(default_factory=set)
    """Segments that it works on."""

    def send(self, message: ToWorker) -> None:
        try:
            self.pipe.send(message)
        except OSError:
            # It died: that is noticed by its pipe's end.
            return


@dataclass(slots=True)
class ProcessCrew:
    """A Crew of processes on this machine. They are started at the first pass and stay until `close`."""

    processes: int
    start: Start
    job_of: Callable[[Pass, int], SegmentJob]
    """The job of a pass, given the number of its segments."""
    work_of: Work
    """The run's: its lease is lent, its stop heeded."""
    _members: dict[int, _Member] = field(default_factory=dict)
    _deaths: int = 0

    def work(self, of: Pass, segments: Sequence[int], total: int) -> None:
        work = self.work_of
        job = self.job_of(of, total)
        threads = work.limits.workers
        left = deque(segments)
        errors: list[MigratorError] = []
        renewed = work.lease.renewed_at
        self._deaths = 0
        halted_at: float | None = None
        for number in range(min(self.processes, len(segments))):
            self._enlist(number, Begin(job, renewed))
        try:
            while left or any(member.at for member in self._members.values()):
                if errors:
                    left.clear()
                    halted_at = work.clock.monotonic() if halted_at is None else halted_at
                    if work.clock.monotonic() - halted_at > GRACE_SECONDS:
                        self._kill()
                for member in self._members.values():
                    while left and len(member.at) < threads:
                        segment = left.popleft()
                        member.at.add(segment)
                        member.send(Take(segment))
                self._hear(of, left, errors, Begin(job, work.lease.renewed_at))
                work.lease.beat_if_due()
                if (now := work.lease.renewed_at) != renewed:
                    renewed = now
                    self._all(Renewed(renewed))
                if not errors:
                    self._heed(errors)
        except BaseException:
            self._dismiss()
            raise
        if errors:
            # What stops a run (a lost lease above all) says more than what followed from it.
            raise min(errors, key=lambda error: isinstance(error, Halted))

    def close(self) -> None:
        """End the processes: each saves what is whole and goes."""
        self._dismiss()

    # --- how ----------------------------------------------------------------------------------------------------------

    def _enlist(self, number: int, begin: Begin) -> None:
        member = self._members.get(number)
        if member is None:
            member = self._members[number] = _Member(*self.start(number))
        member.send(begin)

    def _heed(self, errors: list[MigratorError]) -> None:
        """Stop for a signal or a cancellation; a pause the workers heed by themselves."""
        work = self.work_of
        try:
            work.stop.raise_if_asked()
            if work.orders is not None:
                work.orders.look()
        except MigratorError as exc:
            errors.append(exc)
            self._all(Halt())

    def _hear(self, of: Pass, left: deque[int], errors: list[MigratorError], begin: Begin) -> None:
        pipes = {member.pipe: number for number, member in self._members.items()}
        for pipe in wait(list(pipes), _LOOK_SECONDS):
            assert isinstance(pipe, Connection)
            number = pipes[pipe]
            try:
                message = pipe.recv()
            except (EOFError, OSError):
                self._lost(of, number, left, errors, begin)
                continue
            try:
                self._take(of, self._members[number], message)
            except MigratorError as exc:
                if not errors:
                    self._all(Halt())
                errors.append(exc)

    def _take(self, of: Pass, member: _Member, message: object) -> None:
        match message:
            case Told(event):
                self.work_of.report(event)
            case SegmentNews():
                of.take(message)
            case Done(segment):
                member.at.discard(segment)
            case Failed(segment):
                # Of a worker that could not even begin, no segment is at work.
                member.at.discard(segment)
                if segment < 0:
                    member.at.clear()
                raise message.error()
            case _:
                raise TypeError(f"a worker said {message!r}")

    def _lost(self, of: Pass, number: int, left: deque[int], errors: list[MigratorError], begin: Begin) -> None:
        """A worker process died: its segments go on from their checkpoints in another one."""
        member = self._members.pop(number)
        member.pipe.close()
        member.process.join()
        left.extendleft(sorted(member.at))
        of.lost_a_worker()
        self._deaths += 1
        how = f"worker process {number} ended with {member.process.exitcode}"
        member.process.close()
        if self._deaths > MOST_DEATHS:
            if not errors:
                self._all(Halt())
            errors.append(
                MigratorError(
                    "worker-lost",
                    f"{how}, the {self._deaths}th in this pass; stopped at a checkpoint",
                    hint="look for what kills it (memory?), then run the same command again, with fewer --workers",
                )
            )
        elif not errors:
            self.work_of.report(Remark(f"{how}: another one continues its segments from their checkpoints", "warning"))
            self._enlist(number, begin)

    def _all(self, message: ToWorker) -> None:
        for member in self._members.values():
            member.send(message)

    def _dismiss(self) -> None:
        for member in self._members.values():
            member.send(Halt())
            member.pipe.close()
        for member in self._members.values():
            member.process.join(GRACE_SECONDS)
            if member.process.exitcode is None:
                member.process.kill()
                member.process.join()
            member.process.close()
        self._members.clear()

    def _kill(self) -> None:
        """Whoever does not come to the end of a page is frozen; what it still sends is guarded, like all it sent."""
        for member in self._members.values():
            if member.at:
                member.process.kill()
