"""kill -9 anywhere: the next run continues, and no item is changed twice."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.e2e.project import Item, Project, Running, tasks

LEASE = "5s"
PAGE = 500
"""Items that the tool reads at once in the beginning: what a re-run may look at again, a segment."""
SEGMENTS = 4
CATCHABLE = 250
"""Write units a second: no transport is through with the items before a test can kill it."""


@pytest.mark.parametrize(
    ("count", "kills"),
    [
        pytest.param(1_200, 8, id="1200 items"),
        pytest.param(3_000, 20, id="3000 items", marks=pytest.mark.deep),
        pytest.param(10_000, 300, id="10000 items", marks=[pytest.mark.deep, pytest.mark.timeout(3600)]),
    ],
)
def test_a_backfill_killed_at_random_moments_ends_applied_with_each_item_changed_once(
    project: Project, count: int, kills: int
) -> None:
    chance = random.Random(count)
    project.configure(lease=LEASE, segments=SEGMENTS, write_units=CATCHABLE)
    project.migration("0001", 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),')
    project.put(tasks(count))
    before = project.items()
    for attempt in range(kills):
        _kill_somewhere(project, chance, count // kills)
        if attempt == kills // 2:
            shown = project.ok("lock", "show", "-o", "json").document
            assert shown["lock"]["held"], shown

    done = project.ok("upgrade", "--from-base", timeout=300)
    assert "applied" in done.out
    _owns_each(project, before)
    # The guard sees to it that a second write of one item is refused or never sent: each key succeeds once at the wire.
    times = Counter(key for one in project.sent(lambda one: one.writes_items) for key in one.keys)
    assert set(times) == {(item["PK"]["S"], item["SK"]["S"]) for item in before}
    assert set(times.values()) == {1}
    assert not project.holds_lock()


def test_a_run_after_a_kill_starts_near_where_the_last_checkpoint_stood(project: Project) -> None:
    count = 2_500
    project.configure(lease=LEASE, segments=1, write_units=CATCHABLE)
    project.migration("0001", 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),')
    project.put(tasks(count))
    running = project.start("upgrade", "--from-base")
    # A checkpoint is saved every few seconds.
    project.until(lambda: _checkpointed(project) >= PAGE, 60, "a checkpoint")
    saved = _checkpointed(project)
    running.kill()
    running.wait()
    with project.recording() as sent:
        project.ok("upgrade", "--from-base")
    starts = [one.body for one in sent if one.operation == "Scan" and one.body.get("Segment") is not None]
    assert starts
    assert starts[0].get("ExclusiveStartKey"), "the first page is not read again"
    assert saved
    assert sum(len(one.keys) for one in sent if one.writes_items) <= count - saved


def test_the_lock_of_a_killed_run_is_taken_over_after_a_lease_of_silence(project: Project) -> None:
    project.configure(lease="6s", write_units=CATCHABLE)
    project.migration("0001", 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),')
    project.put(tasks(1_000))
    running = _killed_while_writing(project)
    lock = project.ok("lock", "show", "--observe", "1s", "-o", "json").document["lock"]
    assert lock["held"]
    assert lock["name"] == "tester"
    assert lock["lease_seconds"] == 6
    assert lock["silent_seconds"] >= 0.9
    with project.recording() as sent:
        second = project.start("upgrade", "--from-base", app="second")
        assert second.wait().code == 0, second.err
    mine = [one for one in sent if one.app == second.app]
    looked = next(one for one in mine if one.operation == "GetItem")
    changed = next(one for one in mine if one.changes and not one.error)
    assert changed.at - looked.at >= 6, "not before a whole lease passed without a beat"
    assert running.app != second.app


def test_lock_release_of_the_dead_owner_lets_the_next_run_begin_at_once(project: Project) -> None:
    project.configure(lease="60s", write_units=CATCHABLE)
    project.migration("0001", 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),')
    project.put(tasks(1_000))
    _killed_while_writing(project)
    owner = project.ok("lock", "show", "-o", "json").document["lock"]["owner"]
    project.refused("lock-owner-differs", "lock", "release", "--owner", "0123", exit_code=1)
    project.ok("lock", "release", "--owner", owner)
    assert project.ok("upgrade", "--from-base").seconds < 45


def _kill_somewhere(project: Project, chance: random.Random, most_writes: int) -> None:
    """Begin a run and kill it: mostly among its writes, sometimes while it starts and takes the lock."""
    written = _changed(project)
    running = project.start("upgrade", "--from-base")
    if chance.random() < 0.2:
        requests = chance.randrange(40)
        project.until(lambda: _requests(project, running) > requests or not running.is_alive)
    else:
        target = written + chance.randint(1, most_writes)
        project.until(lambda: _changed(project) >= target or not running.is_alive, 60)
    assert running.is_alive, running.wait()
    running.kill()
    assert running.wait().code == -9


def _killed_while_writing(project: Project) -> Running:
    running = project.start("upgrade", "--from-base", app="first")
    project.until(lambda: _changed(project) > 50)
    running.kill()
    running.wait()
    return running


def _changed(project: Project) -> int:
    return project.written()


def _requests(project: Project, running: Running) -> int:
    return len(project.sent(lambda one: one.app == running.app))


def _checkpointed(project: Project) -> int:
    """Items that the checkpoint of the write pass's only segment has behind it."""
    counts = project.record("checkpoints#0001#0.apply.0:pass", "segment#0000000").get("counts", {}).get("M", {})
    return int(counts.get("scanned", {"N": "0"})["N"])


def _owns_each(project: Project, before: list[Item]) -> None:
    wanted = {
        (one["PK"]["S"], one["SK"]["S"]): {**one, "GSI1PK": {"S": f"OWNER#{one['owner']['S']}"}} for one in before
    }
    assert {(one["PK"]["S"], one["SK"]["S"]): one for one in project.items()} == wanted
