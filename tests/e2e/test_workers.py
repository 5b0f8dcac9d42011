"""`upgrade --workers N`: several processes do what one does, whatever becomes of one of them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.e2e.project import Item, Project, Running, tasks

OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'
FUNCTION = 'Backfill(transform=label, once=True, undo="journal"),'
CODE = """
def label(item):
    print("seen", item["SK"])
    return {"name": item["name"] + "!"}
"""


def written(project: Project) -> int:
    return project.written()


def children(running: Running) -> list[int]:
    """The worker processes of a run; not the process that watches over what they share."""
    listed = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()
    return [int(pid) for pid in listed if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]


def by_key(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


def test_two_processes_bring_about_what_one_does_with_the_same_counts(project: Project) -> None:
    project.configure(segments=8)
    project.migration("0001", OWNERS)
    project.migration("0002", FUNCTION, down="0001", code=CODE)
    project.put(tasks(600))
    done = project.ok("upgrade", "--from-base", "--workers", "2", "-o", "json")
    counts = [one["counts"] for one in done.document["outcomes"]]
    assert [(one["scanned"], one["written"], one["failed"]) for one in counts] == [(600, 600, 0), (600, 600, 0)]
    assert all(one["write_units"] != "0.0" for one in counts)
    items = project.items()
    assert all(item["GSI1PK"]["S"] == f"OWNER#{item['owner']['S']}" for item in items)
    assert all(item["name"]["S"].endswith("!") and item["name"]["S"].count("!") == 1 for item in items)
    assert project.ok("upgrade", "--workers", "2", "-o", "json").document["state"] == "up-to-date"
    project.ok("downgrade", "base")
    assert all("GSI1PK" not in item and "!" not in item["name"]["S"] for item in project.items())


def test_a_worker_that_is_killed_leaves_its_segments_to_the_others(project: Project) -> None:
    project.configure(segments=8, write_units=200)
    project.migration("0001", FUNCTION, code=CODE)
    project.put(tasks(900))
    running = project.start("upgrade", "--from-base", "--workers", "2", "-o", "json")
    project.until(lambda: written(project) > 100)
    os.kill(children(running)[0], signal.SIGKILL)
    done = running.wait()
    assert (done.code, done.document["state"]) == (0, "applied"), done
    assert "another one continues its segments" in done.err
    items = project.items()
    assert len(items) == 900
    assert all(item["name"]["S"].count("!") == 1 for item in items), "each exactly once"


def test_a_signal_reaches_every_worker_and_the_next_run_continues(project: Project) -> None:
    project.configure(segments=8, write_units=200)
    project.migration("0001", OWNERS)
    project.put(tasks(1_500))
    running = project.start("upgrade", "--from-base", "--workers", "2", "-o", "json")
    project.until(lambda: written(project) > 100)
    workers = children(running)
    assert len(workers) == 2
    running.kill(signal.SIGTERM)
    done = running.wait(20)
    assert done.code == 143, done
    assert not project.holds_lock()
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    project.configure(segments=8)
    project.ok("upgrade", "--from-base", "--workers", "2")
    assert written(project) == 1_500, "checkpointed: none is written twice"


def test_workers_end_with_a_run_that_is_killed(project: Project) -> None:
    project.configure(segments=8, write_units=100, lease="3s")
    project.migration("0001", OWNERS)
    project.put(tasks(1_000))
    running = project.start("upgrade", "--from-base", "--workers", "2")
    project.until(lambda: written(project) > 100)
    workers = children(running)
    running.kill(signal.SIGKILL)
    running.wait()
    project.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), 10, "the end of the workers")
    project.configure(segments=8, lease="3s")
    project.ok("upgrade", "--from-base", "--workers", "2")
    assert all("GSI1PK" in item for item in project.items())
