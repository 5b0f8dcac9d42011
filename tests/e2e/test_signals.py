"""SIGTERM and SIGINT: checkpoint, release, leave within seconds; the next run continues."""

from __future__ import annotations

import signal
import time

import pytest

from tests.e2e.project import Project, tasks

OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'
INDEX = 'AddIndex("ByOwner", partition_key="owner"),'


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_at_a_checkpoint_within_5_seconds_and_the_next_run_continues(
    project: Project, number: int, code: int
) -> None:
    project.configure(segments=4)
    project.migration("0001", OWNERS)
    project.put(tasks(1_500))
    running = project.start("upgrade", "--from-base", "-o", "json")
    project.until(lambda: _written(project) > 200)
    signalled = time.monotonic()
    running.kill(number)
    # A second and a third one do not abort what the first one began.
    running.kill(number)
    time.sleep(0.05)
    if running.is_alive:
        running.kill(signal.SIGINT)
    done = running.wait()
    assert time.monotonic() - signalled < 5
    assert done.code == code, done
    assert done.document["exit_code"] == code
    assert done.document["next"]
    assert "Traceback" not in done.err
    assert not project.holds_lock()
    before = _written(project)
    assert before < 1_500
    project.ok("upgrade", "--from-base")
    assert _written(project) == 1_500, "checkpointed: none is written twice"


def test_a_signal_ends_a_command_that_only_looks_at_once(slow: Project) -> None:
    slow.migration("0001", INDEX)
    holder = slow.start("upgrade", "--from-base")
    slow.until(lambda: slow.index("ByOwner") is not None)
    holder.kill(signal.SIGKILL)
    holder.wait()
    with slow.changing_nothing():
        watching = slow.start("lock", "show", "--observe", "5m")
        slow.until(lambda: len(slow.sent(lambda one: one.app == watching.app and one.operation == "GetItem")) > 2)
        watching.kill(signal.SIGINT)
        done = watching.wait(5)
    assert done.code == 130, done
    assert "Traceback" not in done.err


def test_a_signal_during_an_index_build_leaves_the_build_to_go_on(slow: Project) -> None:
    slow.migration("0001", INDEX)
    running = slow.start("upgrade", "--from-base")
    slow.until(lambda: slow.index("ByOwner") is not None)
    running.kill(signal.SIGTERM)
    done = running.wait(5)
    assert done.code == 143, done
    assert not slow.holds_lock()
    assert slow.index("ByOwner")["IndexStatus"] == "CREATING"


def _written(project: Project) -> int:
    return project.written()
