"""A pass whose segments others work on: they meet the same table as the run itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from migrator.core.schema import Schema, Table
from migrator.engine.passes import pass_of
from migrator.engine.segments import Pass
from migrator.engine.work import Work
from migrator.operations import Backfill
from tests.simulation.world import SHAPE, Site, chain, migration, person


@dataclass
class Beside:
    """A crew whose worker is this process: another pass of the same step, as a worker makes it."""

    work_of_run: Work
    segments: list[int]

    def work(self, of: Pass, segments: Sequence[int], total: int) -> None:
        schema = Schema({"app": Table("app", SHAPE.partition_key, SHAPE.sort_key)}, "app")
        (step,) = BACKFILL.plan(schema).apply
        worker = pass_of(self.work_of_run, of.step, step, of.stage, of.content_hash)
        worker.enlist(of.take)
        for number in segments:
            worker.work_on(number, total)
            self.segments.append(number)


BACKFILL = Backfill(set={"label": "L#{name}"})


def test_a_worker_takes_no_control_record_for_an_item() -> None:
    site = Site(chain(migration("001", BACKFILL))).with_table(*(person(number) for number in range(6)))
    # As they lie in the table: in memory they have a store of their own.
    site.put({"PK": f"{site.control.key_prefix}lock", "SK": "lock"})
    worked: list[int] = []

    def crew(work: Work, *_: Any) -> Beside:
        return Beside(work, worked)

    runner = site.runner()
    runner.session.ports = replace(runner.session.ports, crew=crew)
    assert runner.upgrade(from_base=True, workers=2).exit_code == 0
    assert worked
    assert site.kept("failures") == []
    assert site.history["001"].counts.written == 6
