"""pause, resume, throttle and cancel between two real processes."""

from __future__ import annotations

import time

from tests.e2e.project import Project, Running, tasks

OWNERS = 'Backfill(set={"GSI1PK": "OWNER#{owner}"}),'


def under_way(project: Project, items: int, units: int) -> Running:
    """A run that writes so many units a second, and has begun to."""
    project.configure(segments=4, write_units=units)
    project.migration("0001", OWNERS)
    project.put(tasks(items))
    running = project.start("upgrade", "--from-base", "-o", "json")
    project.until(lambda: written(project) > units // 4)
    return running


def written(project: Project) -> int:
    return project.written()


def rate(project: Project, seconds: float) -> float:
    before, begun = written(project), time.monotonic()
    time.sleep(seconds)
    return (written(project) - before) / (time.monotonic() - begun)


def test_a_run_is_paused_throttled_and_resumed_from_another_shell(project: Project) -> None:
    running = under_way(project, 1_200, 100)
    asked = project.ok("pause", "--because", "checkout is slow", "-o", "json")
    assert asked.document["state"] == "paused"
    project.until(lambda: "paused by tester" in running.err, 5, "the pause")
    assert rate(project, 1.0) == 0
    shown = project.ok("lock", "show", "-o", "json").document["lock"]
    assert shown["held"]
    assert "checkout is slow" in shown["requests"][0]
    project.ok("throttle", "--write-units", "20", "--for", "1h")
    project.ok("resume")
    project.until(lambda: "no longer paused" in running.err, 5, "the resumption")
    assert 5 < rate(project, 3.0) < 40
    assert "throttled to 20 write units/s by tester" in project.ok("status").out
    project.ok("throttle", "--write-units", "5000")
    done = running.wait()
    assert (done.code, done.document["state"]) == (0, "applied"), done
    assert all("GSI1PK" in item for item in project.items())


def test_a_run_is_cancelled_from_another_shell_and_the_next_one_is_not(project: Project) -> None:
    running = under_way(project, 1_000, 100)
    project.ok("cancel", "--because", "wrong hour")
    done = running.wait(10)
    assert done.code == 143, done
    assert done.document["state"] == "stopped"
    assert "cancelled by tester" in done.document["blocked_by"]
    assert "wrong hour" in done.document["blocked_by"]
    assert not project.holds_lock()
    project.configure(segments=4)
    project.ok("upgrade", "--from-base")
    assert written(project) == 1_000, "checkpointed: none is written twice"


def test_nobody_is_asked_where_no_run_is_under_way(project: Project) -> None:
    for words in (("pause",), ("resume",), ("throttle", "--write-units", "5"), ("cancel",)):
        project.refused("no-run", *words, exit_code=1)
