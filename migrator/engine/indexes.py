"""Index changes converge: create, adopt, wait or delete, always from what DescribeTable says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from migrator.control.history import index_object
from migrator.core.events import IndexPolled
from migrator.core.ports import BuildMetrics, Busy, LiveIndex, LiveTable
from migrator.core.schema import NO_MAXIMUM, Index, differences
from migrator.core.steps import CreateIndex, DeleteIndex, UpdateIndex
from migrator.core.wire_schema import index_from_json, index_to_json
from migrator.engine.indexable import refuse_unindexable
from migrator.engine.work import StepOutcome, Work
from migrator.errors import AnswerLost, MigratorError

GRACE_SECONDS = 60.0
"""How long an accepted index may stay unlisted: DescribeTable is eventually consistent (facts §1.2)."""
METRICS_WINDOW = timedelta(minutes=15)
"""How far back figures are looked for where the start of a build is not known (facts §2)."""


class Building(MigratorError):
    """The index build goes on without us (exit 5); the next run adopts it."""

    exit_code = 5

    def __init__(self, table: str, index: str, why: str):
        super().__init__(
            "index-building",
            f"index {index} of {table} is still building ({why}); the build goes on by itself",
            hint="run the same command again: it adopts the build and waits",
        )


@dataclass(frozen=True, slots=True)
class _Watch:
    """Polls one index and tells about each look."""

    work: Work
    table: str
    index: str
    began: float
    since: datetime
    """When the build began, or the start of the window where that is not known: figures before are another index's."""

    @classmethod
    def start(cls, work: Work, table: str, index: str, created_at: str = "") -> _Watch:
        since = datetime.fromisoformat(created_at) if created_at else work.clock.now() - METRICS_WINDOW
        return cls(work, table, index, work.clock.monotonic(), since)

    def look(self, live: LiveTable, *, with_metrics: bool) -> LiveIndex | None:
        found = live.indexes.get(self.index)
        metrics = BuildMetrics()
        if with_metrics:
            metrics = self.work.metrics.index_build(self.table, self.index, self.since)
        self.work.report(
            IndexPolled(
                self.table,
                self.index,
                live.status,
                None if found is None else found.status,
                None if found is None else found.backfilling,
                metrics,
                self.elapsed,
            )
        )
        return found

    @property
    def elapsed(self) -> float:
        return self.work.clock.monotonic() - self.began

    def pause(self, reason: str) -> None:
        limits = self.work.limits
        timeout = self.work.wait_timeout
        if timeout is not None and self.elapsed >= timeout:
            raise Building(self.table, self.index, f"waited {timeout:.0f} s")
        # Jittered: several runs polling one account would otherwise beat together (facts §1.4).
        self.work.wait(limits.poll_interval * self.work.entropy.uniform(0.8, 1.2), reason)


def in_motion(live: LiveTable, *, other_than: str = "") -> str | None:
    """The index of the table that is being created or deleted, if any: one at a time (facts §1.3)."""
    for name, index in live.indexes.items():
        if name != other_than and index.status in ("CREATING", "DELETING"):
            return f"index {name} is {index.status}"
    return None


def create_index(work: Work, step_id: str, step: CreateIndex) -> StepOutcome:
    """Bring the index to ready, with at most one UpdateTable of ours."""
    alias = work.schema.alias(step.table)
    table, wanted = work.name(alias), step.index
    name = index_object(alias, wanted.name)
    sent_at: float | None = None
    recorded = work.ledger.object(name)
    watch = _Watch.start(work, table, wanted.name, str((recorded or {}).get("created_at", "")))
    while True:
        live = work.live(alias)
        found = live.indexes.get(wanted.name)
        if found is None:
            if sent_at is not None:
                if work.clock.monotonic() - sent_at > GRACE_SECONDS:
                    raise MigratorError(
                        "index-vanished",
                        f"index {wanted.name} of {table} was accepted and is not listed: somebody deleted it",
                        hint="find out who, then run the same command again",
                    )
                watch.look(live, with_metrics=False)
                watch.pause(f"index {wanted.name} is not listed yet")
                continue
            busy = in_motion(live) or (None if live.status == "ACTIVE" else f"table {table} is {live.status}")
            if busy is not None:
                watch.look(live, with_metrics=False)
                watch.pause(f"{busy}: one index change at a time")
                continue
            if recorded is None or not recorded.get("intent"):
                refuse_unindexable(work, step_id, step)
                now = work.clock.now().isoformat(timespec="seconds")
                # Of an index that is built again after a drop, what it was before is kept: a resume needs it.
                previous = (recorded or {}).get("previous")
                work.ledger.note_object(name, fate="created", intent=True, previous=previous, created_at=now)
                recorded = work.ledger.object(name)
                watch = _Watch.start(work, table, wanted.name, now)
            try:
                work.lease.check()
                work.tables.create_index(table, wanted)
            except (Busy, AnswerLost) as exc:
                # Of a lost answer the table itself tells what became of it.
                watch.pause(exc.message)
                continue
            sent_at = work.clock.monotonic()
            continue
        if found.status == "DELETING":
            watch.look(live, with_metrics=False)
            watch.pause(f"index {wanted.name} is being deleted")
            continue
        _refuse_difference(live, found, wanted, table)
        if recorded is None:
            work.ledger.note_object(name, fate="adopted", intent=False, previous=index_to_json(found.definition))
            recorded = work.ledger.object(name)
        if _is_ready(live, wanted.name):
            if found.status == "ACTIVE" and (sent_at is not None or watch.elapsed > 0):
                watch.look(live, with_metrics=False)
            break
        if work.no_wait:
            raise Building(table, wanted.name, f"{found.status}, not waited for")
        watch.look(live, with_metrics=True)
        watch.pause(f"index {wanted.name} is building")
    fate = str((recorded or {}).get("fate", "adopted"))
    work.ledger.note_object(name, intent=False)
    if fate == "adopted":
        return StepOutcome(f"adopted: {wanted.name} was there already")
    return StepOutcome(f"created: ready after {watch.elapsed:.0f} s")


def _is_ready(live: LiveTable, index: str) -> bool:
    """Table ACTIVE, index listed, ACTIVE and not backfilling, in every Region (facts §1.2, §1.9)."""
    found = live.indexes.get(index)
    if found is None or live.status != "ACTIVE" or not found.is_ready:
        return False
    return all(replica.indexes.get(index, "ACTIVE") == "ACTIVE" for replica in live.replicas)


def _refuse_difference(live: LiveTable, found: LiveIndex, wanted: Index, table: str) -> None:
    lines = differences(found.definition, wanted, live.shape.key_names)
    if lines:
        raise MigratorError(
            "index-differs",
            f"index {wanted.name} of {table} exists with another definition: " + "; ".join(lines),
            hint="an index cannot be changed in place: add one under a new name, move readers, then drop the old one",
            exit_code=3,
        )


def delete_index(work: Work, step: DeleteIndex) -> StepOutcome:
    """Delete the index and wait until it has vanished. A rollback leaves adopted ones alone."""
    alias = work.schema.alias(step.table)
    table, name = work.name(alias), index_object(alias, step.index)
    recorded = work.ledger.object(name)
    if step.undoes and (recorded is None or (recorded["fate"] == "adopted" and not work.drop_adopted)):
        why = "was adopted: give --drop-adopted to delete it" if recorded else "was not made by this revision"
        return StepOutcome(f"left alone: {step.index} {why}")
    watch = _Watch.start(work, table, step.index)
    while True:
        live = work.live(alias)
        found = watch.look(live, with_metrics=False)
        if found is None:
            break
        if not step.undoes and (recorded is None or recorded.get("previous") is None):
            work.ledger.note_object(name, fate="dropped", intent=True, previous=index_to_json(found.definition))
            recorded = work.ledger.object(name)
        if found.status == "DELETING":
            watch.pause(f"index {step.index} is being deleted")
            continue
        if found.status == "CREATING" and not found.backfilling:
            # A build can be cancelled only once it backfills (facts §1.3).
            watch.pause(f"index {step.index} is in resource allocation, where it cannot be cancelled")
            continue
        busy = in_motion(live, other_than=step.index)
        if busy is not None:
            watch.pause(f"{busy}: one index change at a time")
            continue
        try:
            work.lease.check()
            work.tables.delete_index(table, step.index)
        except (Busy, AnswerLost) as exc:
            watch.pause(exc.message)
    if recorded is not None:
        work.ledger.note_object(name, intent=False)
    return StepOutcome(f"deleted after {watch.elapsed:.0f} s" if watch.elapsed else "was gone already")


def restore_index(work: Work, alias: str, index: str) -> StepOutcome:
    """Build again an index that this revision dropped, as it was; or give it back its throughput."""
    alias = work.schema.alias(alias)
    recorded = work.ledger.object(index_object(alias, index))
    if recorded is None or recorded.get("previous") is None:
        return StepOutcome(f"nothing to restore: this revision did not touch {index}")
    previous = index_from_json(recorded["previous"])
    if recorded["fate"] == "changed":
        return _restore_throughput(work, alias, previous)
    return create_index(work, "restore", CreateIndex(alias, previous, unindexable="allow"))


def _restore_throughput(work: Work, alias: str, previous: Index) -> StepOutcome:
    live = work.live(alias).indexes.get(previous.name)
    if live is None:
        return StepOutcome(f"left alone: index {previous.name} is gone")
    if previous.on_demand_maximum is None and live.definition.on_demand_maximum is not None:
        previous = replace(previous, on_demand_maximum=NO_MAXIMUM)
    # Warm throughput only ever rises (facts §1.8): asking for the lower one of before would be refused.
    return _set_throughput(work, alias, replace(previous, warm=None))


def update_index(work: Work, step: UpdateIndex) -> StepOutcome:
    """Set what the step names of an index's throughput, remembering what was."""
    alias = work.schema.alias(step.table)
    name = index_object(alias, step.index.name)
    live = work.live(alias)
    found = live.indexes.get(step.index.name)
    if found is None:
        raise MigratorError(
            "index-missing", f"table {work.name(alias)} has no index {step.index.name}", hint="see `migrator status`"
        )
    if work.ledger.object(name) is None:
        work.ledger.note_object(name, fate="changed", intent=True, previous=index_to_json(found.definition))
    outcome = _set_throughput(work, alias, step.index)
    work.ledger.note_object(name, intent=False)
    return outcome


def _set_throughput(work: Work, alias: str, wanted: Index) -> StepOutcome:
    table = work.name(alias)
    watch = _Watch.start(work, table, wanted.name)
    sent = False
    while True:
        live = work.live(alias)
        found = live.indexes.get(wanted.name)
        if found is not None and _has_throughput(found.definition, wanted) and found.status == "ACTIVE":
            return StepOutcome("changed" if sent else "already so")
        try:
            if not sent:
                work.lease.check()
                work.tables.update_index(table, wanted)
                sent = True
        except (Busy, AnswerLost) as exc:
            watch.pause(exc.message)
            continue
        watch.look(live, with_metrics=False)
        watch.pause(f"index {wanted.name} is changing its throughput")


def _has_throughput(live: Index, wanted: Index) -> bool:
    if wanted.provisioned is not None and live.provisioned != wanted.provisioned:
        return False
    if wanted.on_demand_maximum is not None and (live.on_demand_maximum or NO_MAXIMUM) != wanted.on_demand_maximum:
        return False
    return wanted.warm is None or (live.warm is not None and live.warm.covers(wanted.warm))
