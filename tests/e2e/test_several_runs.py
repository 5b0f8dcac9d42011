"""Several runs at once, and one that stood still: one works at a time, and `once` means once."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter

from migrator.sandbox import Request, Response
from tests.e2e.project import Project, tasks
from tests.e2e.wire import app_of

SHOUT = """
def shout(item):
    return {"name": item["name"] + "!"}
"""
ONCE = 'Backfill(where={"entity": "Task"}, transform=shout, once=True),'
WRITES_UNDER_WAY = 16
"""How many writes the boto3 transport sends at once for a run of up to eight workers."""
OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'


def test_of_three_runs_at_once_one_appends_and_the_others_wait_or_leave(project: Project) -> None:
    project.configure(lease="10s")
    project.migration("0001", ONCE, code=SHOUT)
    project.put(tasks(300))
    runs = [project.start("upgrade", "--from-base", app=f"runner-{n}") for n in range(2)]
    runs.append(project.start("upgrade", "--from-base", "--lock-timeout", "0s", app="runner-2"))
    codes = [one.wait().code for one in runs]
    assert set(codes) <= {0, 4}, [one.err for one in runs]
    assert 0 in codes
    _shouted_once(project, 300)
    assert len({one.app for one in project.sent(lambda one: one.writes_items)}) == 1


def test_an_append_happens_once_across_a_kill_and_two_runs_after_it(project: Project) -> None:
    project.configure(lease="2s", segments=4)
    project.migration("0001", ONCE, code=SHOUT)
    project.put(tasks(500))
    for attempt in range(2):
        before = _appended(project)
        running = project.start("upgrade", "--from-base", app=f"killed-{attempt}")
        project.until(lambda before=before: _appended(project) > before + 60)
        running.kill()
        running.wait()
    runs = [project.start("upgrade", "--from-base", app=f"after-{n}") for n in range(2)]
    codes = [one.wait().code for one in runs]
    assert set(codes) <= {0, 4}, [one.err for one in runs]
    assert 0 in codes
    _shouted_once(project, 500)


def test_a_run_that_waits_names_the_holder_and_leaves_with_4(project: Project) -> None:
    project.configure(lease="30s", write_units=250)
    project.migration("0001", OWNERS)
    project.put(tasks(1_000))
    holder = project.start("upgrade", "--from-base")
    project.until(project.holds_lock)
    done = project.run("upgrade", "--from-base", "--lock-timeout", "500ms")
    assert done.code == 4, done
    assert "error[lock-held]" in done.err
    assert "tester" in done.err
    assert "lock release --owner" in done.err
    assert holder.wait().code == 0


def test_a_holder_that_stood_still_for_two_leases_makes_not_one_more_write(project: Project) -> None:
    lease = 2.0
    project.configure(lease="2s", segments=4, write_units=250)
    project.migration("0001", OWNERS)
    project.put(tasks(1_500))
    frozen = project.start("upgrade", "--from-base", app="frozen")
    project.until(lambda: project.written() > 100)
    frozen.kill(signal.SIGSTOP)
    stopped = time.monotonic()
    other = project.start("upgrade", "--from-base", app="other")
    time.sleep(2 * lease)
    assert other.wait().code == 0, other.err
    resumed = time.monotonic()
    assert resumed - stopped >= 2 * lease
    frozen.kill(signal.SIGCONT)
    done = frozen.wait()
    assert done.code == 4, done
    assert "Traceback" not in done.err
    after = [one for one in project.sent() if one.app == "frozen" and one.changes and one.at >= resumed]
    assert [one for one in after if one.is_applied] == [], "data or control"
    # The lease is looked at before a request is signed: one that was signed already may still arrive, to be refused by
    # its guard. There is one such at most for each of the connections that share a page's writes.
    assert all(one.operation in ("UpdateItem", "BatchExecuteStatement") for one in after)
    assert len(after) <= WRITES_UNDER_WAY
    assert all(item["GSI1PK"]["S"] == f"OWNER#{item['owner']['S']}" for item in project.items())


def test_a_holder_that_wakes_while_its_successor_works_writes_nothing_beside_it(project: Project) -> None:
    project.configure(lease="2s", segments=4)
    project.migration("0001", ONCE, code=SHOUT)
    project.put(tasks(600))
    frozen = project.start("upgrade", "--from-base", app="frozen")
    project.until(lambda: _appended(project) > 60)
    frozen.kill(signal.SIGSTOP)
    other = project.start("upgrade", "--from-base", app="other")
    project.until(lambda: bool(project.sent(lambda one: one.app == "other" and one.writes_items)))
    woken = time.monotonic()
    frozen.kill(signal.SIGCONT)
    assert frozen.wait().code == 4, frozen.err
    assert other.wait().code == 0, other.err
    applied = [one for one in project.sent() if one.app == "frozen" and one.changes and not one.error]
    assert [one for one in applied if one.at >= woken] == []
    _shouted_once(project, 600)


def test_a_request_that_was_under_way_when_the_lock_was_taken_over_is_refused(project: Project) -> None:
    project.configure(lease="2s", segments=1)
    project.migration("0001", ONCE, code=SHOUT)
    project.put(tasks(30))
    held, taken, answered = threading.Event(), threading.Event(), threading.Event()
    outcomes: list[str] = []

    def delay(request: Request) -> None:
        """Hold the first data write of the one on its way, until the other is about to write."""
        if "TASK#" in str(request.body):
            if app_of(request) == "frozen" and not held.is_set():
                held.set()
                taken.wait(60)
            elif app_of(request) == "other":
                taken.set()
                answered.wait(10)

    def note(request: Request, response: Response) -> None:
        if app_of(request) == "frozen" and taken.is_set():
            outcomes.append(response.error_code)
            answered.set()

    with project.sandbox.intercept(delay, after=note, operation="TransactWriteItems"):
        frozen = project.start("upgrade", "--from-base", app="frozen")
        assert held.wait(30)
        frozen.kill(signal.SIGSTOP)
        other = project.start("upgrade", "--from-base", app="other")
        done = other.wait()
        frozen.kill(signal.SIGCONT)
        assert frozen.wait().code == 4
    assert done.code == 0, done
    assert outcomes == ["TransactionCanceledException"]
    _shouted_once(project, 30)


def _appended(project: Project) -> int:
    return project.written()


def _shouted_once(project: Project, count: int) -> None:
    marks = Counter(item["name"]["S"].count("!") for item in project.items())
    assert marks == {1: count}
