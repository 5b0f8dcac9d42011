"""mirror run and mirror status: the worker that keeps twins for an application which cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from migrator.control.holder import Holder
from migrator.control.layout import mirror
from migrator.control.lock import Lock
from migrator.control.mirrors import Mirrors
from migrator.core.rewrite.steps import SLOT, PrepareRewrite
from migrator.engine.rewriting import Rewriting
from migrator.engine.rewriting.mirror import Mirror
from migrator.engine.work import Ledger
from migrator.errors import MigratorError, UsageError
from migrator.runner import guards
from migrator.runner.planned import Planned
from migrator.runner.results import MirrorResult
from migrator.runner.running import Options, Run
from migrator.runner.session import Session
from migrator.runner.stages import one_of, planned_of
from migrator.runner.sweeping import pause


def run(session: Session, revision: str | None, options: Options) -> MirrorResult:
    """Follow the streams of a rewrite's tables until the rewrite is over or a signal comes.

    One worker at a time, by a lock of its own: a second one takes over when the first has died.
    """
    with opened(session, revision, options) as worker:
        outcome = worker.run()
        return MirrorResult(
            state="over",
            next="migrator status",
            where=session.where,
            revision=worker.rewriting.work.revision,
            outcome=outcome,
            counts=worker.counts,
        )


@contextmanager
def opened(session: Session, revision: str | None, options: Options) -> Iterator[Mirror]:
    """A worker that holds the mirror's lock."""
    planned, step = _mirrored(session, revision)
    found = planned.migration.revision
    streams = session.ports.streams
    if streams is None:
        raise MigratorError("mirror-stream", "there are no streams to be had here")
    caller, ports = session.caller, session.ports
    holder = Holder(ports.entropy.nonce(), caller.name, caller.host, caller.run)
    lock = Lock(
        session.records,
        ports.clock,
        ports.entropy,
        holder,
        session.settings.limits.lease,
        session.report,
        scope=f"the mirror of {found}",
        place=mirror(found, SLOT),
    )
    lease = lock.acquire(options.lock_timeout, wait=lambda seconds: pause(session, seconds))
    if session.heartbeat:
        lease.start_beating()
    try:
        ledger = Ledger(session.history, lease, session.entries[found])
        work = Run(session, lease, options).work_on(planned.before, planned.after, ledger)
        work.schema = planned.schema_at("0.apply.0")
        rewriting = Rewriting.of(work, "mirror", step.rewrite, step.slot, planned.migration.content_hash)
        mirrors = Mirrors(session.records)
        yield Mirror(rewriting, session.records, streams, mirrors, holder.text, session.place.prefix)
    finally:
        lease.release()


def status(session: Session, revision: str | None) -> MirrorResult:
    """What the mirror says of itself."""
    planned, _ = _mirrored(session, revision)
    found = planned.migration.revision
    state = Mirrors(session.records).state(found, SLOT)
    record = session.phases.get(found, SLOT)
    if state is None:
        return MirrorResult(
            state="none", next=f"migrator mirror run {found}", where=session.where, revision=found, outcome="never ran"
        )
    follows = record is not None and state.generation == record.generation
    return MirrorResult(
        state="following" if follows else "behind",
        next="" if follows else f"migrator mirror run {found}",
        where=session.where,
        revision=found,
        outcome=f"{state.mirrored} twins written" + ("; changes were gone before they were read" * (state.lost > 0)),
        worker=state.worker,
        at=state.at,
        lag_ms=state.lag_ms,
        generation=state.generation,
    )


def _mirrored(session: Session, revision: str | None) -> tuple[Planned, PrepareRewrite]:
    guards.refuse_restored(session)
    candidates = [one for one in [*session.gated, *sorted(session.unfinished)] if _step(session, one) is not None]
    found = one_of(session, revision, candidates, "nothing-to-mirror", "mirrored")
    planned = planned_of(session, found)
    step = _step(session, found)
    if step is None or found not in candidates:
        raise MigratorError(
            "nothing-to-mirror",
            f"revision {found} is {session.entries[found].status}, or has no rewrite: there is nothing to mirror",
            hint="see `migrator status`",
        )
    if step.rewrite.application != "mirror":
        raise UsageError(
            "nothing-to-mirror",
            f'revision {found} says application="{step.rewrite.application}": a mirror would write beside it',
            hint='application="mirror" in the migration, before it is begun',
        )
    return planned, step


def _step(session: Session, revision: str) -> PrepareRewrite | None:
    if revision not in session.graph:
        return None
    steps = planned_of(session, revision).way_up
    return next((step for _, step in steps if isinstance(step, PrepareRewrite)), None)
