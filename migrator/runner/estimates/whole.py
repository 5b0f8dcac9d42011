"""The estimate of a plan: its steps, their sums, and whether the run fits into what it may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from migrator.core.item import Item
from migrator.engine.segments import segments_of
from migrator.runner.estimates.assemble import step_estimate
from migrator.runner.estimates.bookkeeping import of_runs
from migrator.runner.estimates.figures import (
    NOTHING,
    Amount,
    Bookkeeping,
    Estimate,
    StepEstimate,
    TimeLimit,
    Units,
    total,
)
from migrator.runner.estimates.look import Look, StepKey
from migrator.runner.estimates.stages import Indexing
from migrator.runner.estimates.terms import Terms
from migrator.runner.planned import Planned
from migrator.runner.session import Session


@dataclass(frozen=True, slots=True)
class Estimates:
    """What `describe` puts into the plan."""

    whole: Estimate
    steps: Mapping[StepKey, StepEstimate]
    samples: Mapping[StepKey, tuple[Mapping[str, Any], ...]]
    findings: Mapping[str, Mapping[str, int]]
    items: Mapping[str, Sequence[Item]]
    """By alias, some of the items that were read."""


def estimates(session: Session, planned: Sequence[Planned], look: Look, terms: Terms) -> Estimates:
    """The figures of a look, on these terms."""
    steps: dict[StepKey, StepEstimate] = {}
    builds: list[Amount] = []
    for table in look.tables.values():
        segments = 1 if table.live is None else segments_of(table.live, session.settings.limits)
        for key, stage in table.stages.items():
            steps[key] = step_estimate(
                look, table, stage, terms, segments, _position(planned, key), session.settings.limits
            )
            duration = steps[key].duration
            if isinstance(stage, Indexing) and duration is not None:
                builds.append(duration.seconds)
    known = [one.duration.seconds for one in steps.values() if one.duration is not None]
    costs = [one.cost for one in steps.values()]
    storages = [one.storage_per_month for one in steps.values() if one.storage_per_month is not None]
    streams = [one.stream_records for one in steps.values() if one.stream_records is not None]
    needed = total(known)
    run = of_runs(planned, _unbound(session))
    own = Bookkeeping(Amount(run.reads), Amount(run.writes))
    for one in steps.values():
        own += one.bookkeeping
    wholes = [table.sample.whole for table in look.tables.values() if table.reads_items]
    of_items = None if None in wholes else sum(whole or 0 for whole in wholes)
    whole = Estimate(
        kind="full" if look.full else "sampled",
        looked_at=sum(table.looked_at for table in look.tables.values()),
        of_items=of_items,
        read_units=sum(table.read_units for table in look.tables.values()),
        reads=_sums(steps, "reads"),
        writes=_sums(steps, "writes"),
        bookkeeping=own,
        duration=needed,
        limit=_limit(terms, needed, builds),
        cost=None if not costs or None in costs else total([one for one in costs if one is not None]),
        storage_per_month=total(storages) if storages else None,
        prices=terms.note,
        stream_records=total(streams) if streams else None,
        unknown=_unknown(look, terms, steps),
    )
    samples = {key: tuple(one for _, one in stage.shown) for key, stage in look.stages.items()}
    items = {alias: table.kept for alias, table in look.tables.items() if table.reads_items}
    return Estimates(whole, steps, samples, look.findings(), items)


def _position(planned: Sequence[Planned], key: StepKey) -> int:
    """Of a step among those of its revision, from 1."""
    (one,) = [each for each in planned if each.migration.revision == key[0]]
    ids = [step_id for step_id, _ in one.way_up]
    return ids.index(key[1]) + 1


def _unbound(session: Session) -> int:
    """Tables that the history is not bound to yet."""
    bound = session.identity.bound() if session.control_table_exists else {}
    return len(session.live.keys() - bound.keys())


def _sums(steps: Mapping[StepKey, StepEstimate], field: str) -> tuple[Units, ...]:
    found: dict[str, Amount] = {}
    for one in steps.values():
        parts: tuple[Units, ...] = getattr(one, field)
        for part in parts:
            found[part.resource] = found.get(part.resource, NOTHING) + part.units
    return tuple(Units(resource, units) for resource, units in sorted(found.items()))


def _limit(terms: Terms, needed: Amount, builds: list[Amount]) -> TimeLimit | None:
    """The job's own limit holds the whole run; `wait_timeout` holds the wait for one index."""
    if terms.job_limit is not None:
        exceeded = (needed.value or 0.0) > terms.job_limit
        advice = "the run stops at a checkpoint when the job is ended, and the next one continues: plan for several"
        return TimeLimit(terms.job_limit, "--job-limit", needed, exceeded, advice if exceeded else "")
    if terms.wait_timeout is not None and builds:
        longest = max(builds, key=lambda one: one.value or 0.0)
        exceeded = (longest.value or 0.0) > terms.wait_timeout
        advice = "the run ends with exit code 5 while the build goes on: run it again, it adopts the build"
        return TimeLimit(terms.wait_timeout, "wait_timeout", longest, exceeded, advice if exceeded else "")
    return None


def _unknown(look: Look, terms: Terms, steps: Mapping[StepKey, StepEstimate]) -> tuple[str, ...]:
    read = [table for table in look.tables.values() if table.reads_items]
    found = [f"what writers do meanwhile: figures are of {'now' if look.full else 'a sample of now'}"] if read else []
    if not look.full and any(not table.sample.is_complete for table in read):
        found.append("how many items there are: DescribeTable's count is up to six hours old (`--full` counts them)")
    found += [
        f"how many items {table.table} has: DescribeTable says none yet, so nothing is scaled up"
        for table in read
        if table.sample.whole is None
    ]
    for (revision, step), one in steps.items():
        found += [f"{revision} step {step}: {what}" for what in one.unknown]
    if any(one.writes or one.reads for one in steps.values()):
        found.append("conflicts with live writers, throttling and retries: each costs units on top")
    if terms.note.note:
        found.append(f"prices: {terms.note.note}")
    return tuple(dict.fromkeys(found))
