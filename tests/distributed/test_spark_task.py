"""A Spark task by itself, on ports in memory: what it yields, and that a later attempt ends an earlier one."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.control.checkpoints import Checkpoint, Checkpoints
from migrator.control.lent import LentLease
from migrator.distributed.job import SegmentJob
from migrator.distributed.messages import Failed
from migrator.distributed.process import OpenBench
from migrator.distributed.spark import run_task
from migrator.engine.crew import SegmentNews
from migrator.engine.segments import Pass
from migrator.errors import MigratorError
from migrator.operations import Backfill
from migrator.testing.memory import Call
from tests.distributed.crews import Crews
from tests.distributed.test_crew import exclaim, site


class TaskCrew:
    """Runs the segments of a pass as tasks in this thread, while a timer beats as the driver does."""

    def __init__(self, crews: Crews, job_of: Any, work: Any, tasks: int):
        self.crews, self.job_of, self.run, self.tasks = crews, job_of, work, tasks
        self.yielded: list[SegmentNews | Failed] = []
        self.open_bench: OpenBench = lambda job, report, stop: crews.bench(0, report, stop)

    def work(self, of: Pass, segments: list[int], total: int) -> None:
        job: SegmentJob = self.job_of(of, total)
        clock = self.crews.site.world.clock

        def beat() -> None:
            if self.crews.is_beating:
                self.run.lease.beat()
                clock.at(2.0, beat)

        clock.at(2.0, beat)
        for task in range(self.tasks):
            for outcome in run_task(job, self.open_bench, segments[task :: self.tasks]):
                self.yielded.append(outcome)
                if isinstance(outcome, Failed):
                    raise outcome.error()
                of.take(outcome)


class SparkCrews(Crews):
    is_beating = True
    made: TaskCrew | None = None

    def runner(self, *hooks: Any) -> Any:
        runner = super().runner(*hooks)
        crew_of = runner.session.ports.crew

        def tasks(work: Any, place: Any, capacities: Any, workers: Any) -> TaskCrew:
            self.made = TaskCrew(self, crew_of(work, place, capacities, workers).job_of, work, 3)
            return self.made

        object.__setattr__(runner.session.ports, "crew", tasks)
        return runner


def test_tasks_bring_about_what_one_process_does_with_the_same_counts() -> None:
    at = site(Backfill(transform=exclaim, once=True, undo="journal"))
    result = SparkCrews(at).upgrade()
    (counts,) = [one.counts for one in result.outcomes]
    assert (result.state, counts.scanned, counts.written, counts.failed) == ("applied", 120, 120, 0)
    assert all(item["name"].count("!") == 1 for item in at.items)
    assert at.kept("checkpoints") == []


def test_a_task_whose_driver_does_not_beat_writes_nothing() -> None:
    at = site()
    crews = SparkCrews(at)
    crews.is_beating = False
    result = crews.upgrade()
    assert result.exit_code == 4
    assert not any("label" in item for item in at.items)


def test_an_earlier_attempt_that_is_still_alive_writes_no_item_twice_and_fails_none() -> None:
    at = site(Backfill(transform=exclaim, once=True, undo="journal"), workers=1)
    crews = SparkCrews(at)
    nested: list[Any] = []

    def again(call: Call) -> None:
        """In the middle of the first task's writes, Spark gives it up and starts it anew elsewhere."""
        if nested or call.operation != "items.transact" or call.moment != "before":
            return
        assert crews.made is not None
        nested.append(True)
        nested.extend(run_task(crews.jobs[-1], crews.made.open_bench, range(8)))

    crews.hooks[0] = (again,)
    result = crews.upgrade()
    assert len(nested) == 9
    assert all(isinstance(one, SegmentNews) and one.done for one in nested[1:])
    assert "segment-taken" in result.outcomes[-1].error or "checkpoint-lost" in result.outcomes[-1].error
    assert all(item["name"].count("!") == 1 for item in at.items), "each exactly once"
    assert at.kept("failures") == []
    assert at.runner().upgrade(from_base=True).state == "applied"
    assert all(item["name"].count("!") == 1 for item in at.items)


def test_an_attempt_whose_segments_were_taken_stops_and_calls_no_item_failed() -> None:
    at = site(Backfill(transform=exclaim, once=True, undo="journal"), workers=1)
    crews = SparkCrews(at)
    taken: list[int] = []

    def take(call: Call) -> None:
        """A later attempt has just claimed every segment, and written nothing yet."""
        if taken or call.operation != "items.transact" or call.moment != "before":
            return
        job, other = crews.jobs[-1], at.world.as_another()
        lease = LentLease(other.records, other.clock, at.events.append, job.lock, other.clock.monotonic())
        checkpoints = Checkpoints(other.records, other.clock, lease)
        segments = [Checkpoint("001", f"{job.step_id}:pass", number, 8) for number in range(8)]
        taken.extend(checkpoints.attempt(segment)[1] for segment in segments)

    crews.hooks[0] = (take,)
    result = crews.upgrade()
    assert len(taken) == 8
    assert "segment-taken" in result.outcomes[-1].error
    assert at.kept("failures") == []
    assert not any("!" in item["name"] for item in at.items)


@pytest.mark.parametrize(
    "error", [MigratorError("odd", "words", hint="type", exit_code=9), ZeroDivisionError("by zero")]
)
def test_what_stops_a_segment_travels_as_words(error: Exception) -> None:
    told = Failed.of(3, error).error()
    if isinstance(error, MigratorError):
        assert (told.code, told.message, told.hint, told.exit_code) == ("odd", "words", "type", 9)
    else:
        assert told.code == "worker-failed"
        assert "by zero" in told.message
