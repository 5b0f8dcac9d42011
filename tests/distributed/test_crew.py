"""A crew of workers brings about what one process does, whoever dies, fails or is stopped."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from migrator import AddIndex, Backfill, DeleteItems
from migrator.config import Limits
from migrator.core.events import Remark, SegmentProgress
from migrator.core.graph import Graph
from migrator.testing.memory import Call, Hook
from tests.distributed.crews import Crews
from tests.simulation.world import Site, chain, migration, person, quick_world

LIMITS = Limits(workers=2, segments=8, lease=60.0, poll_interval=10.0, settle_time=900.0)


def exclaim(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"name": item["name"] + "!"}


def site(*operations: Any, items: int = 120, **limits: Any) -> Site:
    found = operations or (Backfill(set={"label": "L#{name}"}),)
    made = Site(
        chain(*(migration(f"{number:03}", one) for number, one in enumerate(found, 1))),
        world=quick_world(page_bytes=500),
        limits=replace(LIMITS, **limits),
    ).with_table()
    made.put(*(person(number) for number in range(items)))
    return made


def outcome(result: Any) -> list[tuple[int, int, int]]:
    return [(one.counts.scanned, one.counts.written, one.counts.failed) for one in result.outcomes]


@pytest.mark.parametrize(
    "operations",
    [
        (Backfill(set={"label": "L#{name}"}),),
        (Backfill(transform=exclaim, once=True, undo="journal"),),
        (DeleteItems({"team": "t1"}),),
        (Backfill(set={"label": "L#{name}"}), Backfill(set={"other": "{label}"})),
        (AddIndex("by-team", partition_key="team"), Backfill(set={"label": "L#{name}"})),
    ],
    ids=["template", "once", "deletion", "two revisions", "an index"],
)
def test_a_crew_brings_about_what_one_process_does_with_the_same_counts(operations: tuple[Any, ...]) -> None:
    alone, together = site(*operations), site(*operations)
    one = alone.runner().upgrade(from_base=True, yes=True)
    crews = Crews(together)
    many = crews.runner().upgrade(from_base=True, yes=True, workers=2)
    assert (one.state, many.state) == ("applied", "applied")
    assert outcome(one) == outcome(many)
    assert together.items == alone.items
    assert crews.played


def test_a_removal_of_what_a_step_wrote_is_divided_too() -> None:
    at = site()
    Crews(at).upgrade()
    before = [{name: value for name, value in item.items() if name != "label"} for item in at.items]
    runner = Crews(at).runner()
    assert runner.downgrade("base").state == "downgraded"
    assert at.items == before


def test_progress_adds_up_over_the_workers() -> None:
    at = site()
    Crews(at).upgrade()
    last = [event for event in at.events if isinstance(event, SegmentProgress) and event.stage == "pass"][-1]
    assert (last.counts.scanned, last.segments_done, last.segments_total) == (120, 8, 8)


def test_a_job_holds_values_that_travel_and_its_part_of_the_budget() -> None:
    at = site()
    crews = Crews(at, processes=4)
    crews.upgrade()
    assert {job.stage for job in crews.jobs} == {"before", "pass", "check"}
    assert all(job.share == 0.25 for job in crews.jobs)
    assert crews.jobs[0].lock.holder.owner


def dying(crews: Crews, after: int) -> Hook:
    """Worker 0's first life ends at a write of an item."""
    left = [after]

    def hook(call: Call) -> None:
        if call.operation in ("items.write", "items.transact") and call.moment == "after":
            left[0] -= 1
            if left[0] == 0:
                crews.played[0].kill()

    return hook


def test_the_segments_of_a_worker_that_died_are_gone_on_with_by_another() -> None:
    at = site(Backfill(transform=exclaim, once=True, undo="journal"))
    crews = Crews(at)
    crews.hooks[0] = (dying(crews, 5),)
    result = crews.upgrade()
    (counts,) = [one.counts for one in result.outcomes]
    # What it wrote after its last checkpoint is found done by the other one.
    assert (result.state, counts.scanned, counts.written + counts.unchanged) == ("applied", 120, 120)
    assert all(item["name"].count("!") == 1 for item in at.items)
    assert any("another one continues its segments" in one.message for one in at.events if isinstance(one, Remark))


def test_workers_that_die_again_and_again_stop_the_run_at_a_checkpoint() -> None:
    at = site()
    crews = Crews(at)

    def every_life(number: int) -> Any:
        played, ours = original(number)
        crews.hooks[number] = ()
        played.kill()
        return played, ours

    original, crews.start = crews.start, every_life  # type: ignore[method-assign]
    result = crews.upgrade()
    assert result.exit_code == 1
    assert "worker-lost" in result.outcomes[-1].error
    assert at.runner().lock_show().state == "free"
    assert at.runner().upgrade(from_base=True).state == "applied"


def test_a_worker_that_loads_another_text_refuses_and_nothing_is_written() -> None:
    at = site()
    edited = migration("001", Backfill(set={"label": "M#{name}"}), content="2")
    result = Crews(at, graph=Graph((edited,))).upgrade()
    assert result.exit_code == 3
    assert "other-files" in result.outcomes[-1].error
    assert not any("label" in item for item in at.items)


def test_failed_items_of_all_workers_count_together() -> None:
    at = site(Backfill(set={"label": "{nick}"}), max_failures=20)
    result = Crews(at).upgrade()
    assert result.exit_code == 6
    assert "too-many-failures" in result.outcomes[-1].error
    assert 20 <= len(at.kept("failures#")) < 120


def test_a_signal_reaches_the_workers_and_the_next_run_goes_on() -> None:
    at = site(Backfill(transform=exclaim, once=True, undo="journal"))
    crews = Crews(at)
    runner = crews.runner()
    left = [10]

    def signalling(call: Call) -> None:
        if call.operation == "items.transact" and call.moment == "after":
            left[0] -= 1
            if left[0] == 0:
                runner.stop(signal.SIGTERM)

    crews.hooks[0] = crews.hooks[1] = (signalling,)
    result = runner.upgrade(from_base=True, workers=2)
    assert result.exit_code in (0, 143)
    assert at.runner().lock_show().state == "free"
    Crews(at).upgrade()
    assert all(item["name"].count("!") == 1 for item in at.items)


def test_a_worker_whose_run_lost_the_lock_sends_nothing_further() -> None:
    at = site()
    crews = Crews(at)
    left = [10]

    def breaking(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "after":
            left[0] -= 1
            if left[0] == 0:
                at.runner().lock_release(at.runner().lock_show().lock.owner)
                at.runner().upgrade()

    crews.hooks[0] = crews.hooks[1] = (breaking,)
    result = crews.upgrade()
    assert result.exit_code in (1, 4)
    assert at.history["001"].status == "applied"
