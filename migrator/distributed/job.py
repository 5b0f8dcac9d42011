"""What a worker must know to work on segments of a pass. It travels by pickle, so it holds values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from migrator.config import Settings
from migrator.control.checkpoints import AnyStage
from migrator.control.holder import LockRecord
from migrator.core.exports import Exports
from migrator.core.graph import Graph
from migrator.core.plan import Migration
from migrator.core.schema import Schema
from migrator.core.steps import Step
from migrator.engine.pacing.budgets import Capacities
from migrator.errors import MigratorError


@dataclass(frozen=True, slots=True)
class ControlPlace:
    """Where control records live, and what their partition keys begin with."""

    table: str
    """Physical."""
    partition_name: str
    sort_name: str
    prefix: str


@dataclass(frozen=True, slots=True)
class SegmentJob:
    """One pass of one step, of which a worker gets some segments."""

    settings: Settings
    revision: str
    content_hash: str
    """Of the migration as the holder loaded it: a worker that loads another text refuses to work."""
    step_id: str
    stage: AnyStage
    alias: str
    total: int
    """Segments of the whole pass."""
    names: Mapping[str, str]
    """Alias -> physical table."""
    before: Schema
    after: Schema
    control: ControlPlace
    lock: LockRecord
    """The lock as the run holds it: its token fences every record, its nonce says whose requests count."""
    capacities: Capacities
    share: float
    """Of each budget, for this worker."""
    exports: Exports | None = None
    """What the pass reads in place of the table: folders of this machine."""


def step_of(job: SegmentJob, graph: Graph) -> Step:
    """The job's step, from the files as this process loads them. Raises `other-files` where those differ."""
    if job.revision not in graph or graph[job.revision].content_hash != job.content_hash:
        raise MigratorError(
            "other-files",
            f"a worker loaded another text of revision {job.revision} than the run did; it wrote nothing",
            hint="give every worker the same files, or wait until the edit is finished, and run the same command again",
            exit_code=3,
        )
    return _step(graph[job.revision], job.before, job.step_id)


def _step(migration: Migration, schema: Schema, step_id: str) -> Step:
    number, way, position = step_id.split(".")
    for place, operation in enumerate(migration.operations):
        plan = operation.plan(schema)
        if place == int(number):
            return plan.on(way)[int(position)]
        schema = plan.after
    raise ValueError(f"{migration.path} has no step {step_id}")
