"""Journals that only kept `once`: they go when the revision is recorded applied, and no late request can arrive."""

from __future__ import annotations

from migrator.control.journal import Journal
from migrator.control.lease import Lease
from migrator.core.steps import TransformItems
from migrator.engine.work import SLICE, Ledger
from migrator.runner.planned import Planned
from migrator.runner.session import Session

KEPT = "journal_kept"
"""In a step's state: its journal is to be deleted now that the revision is applied."""


def unswept(session: Session) -> tuple[str, ...]:
    """Applied revisions whose journals, kept for `once` only, are still to be deleted."""
    return tuple(
        revision
        for revision, entry in sorted(session.entries.items())
        if entry.status == "applied" and any(state.get(KEPT) for state in entry.steps.values())
    )


def forgettable(planned: Planned) -> tuple[str, ...]:
    """Steps whose journal keeps `once` and no way back."""
    return tuple(
        step_id
        for step_id, step in planned.way_up
        if isinstance(step, TransformItems) and step.transform.once and step.undo == "none"
    )


def sweep(session: Session, lease: Lease) -> None:
    """Forget the journals that an earlier run kept for `once` only and had no time to delete."""
    for revision in unswept(session):
        forget(session, lease, Ledger(session.history, lease, session.entries[revision]))


def forget(session: Session, lease: Lease, ledger: Ledger) -> None:
    """Delete the journals that only kept `once`, now that the revision is recorded applied."""
    kept = [step_id for step_id, state in ledger.entry.steps.items() if state.get(KEPT)]
    if not kept:
        return
    # A request that a lost holder signed must still find the journal record that stops it.
    settle(session, lease)
    journal = Journal(session.records, lease)
    for step_id in kept:
        journal.clear(ledger.entry.revision, step_id)
    steps = ledger.entry.steps
    ledger.save(steps={**steps, **{one: {**steps[one], KEPT: False} for one in kept}})


def settle(session: Session, lease: Lease) -> None:
    """Wait: requests that a lost holder signed, for items as for indexes, arrive until their signatures are old."""
    lease.settle(session.settings.limits.settle_time, wait=lambda seconds: pause(session, seconds))


def pause(session: Session, seconds: float) -> None:
    """Sleep in slices, and stop where that is asked for."""
    clock = session.ports.clock
    end = clock.monotonic() + seconds
    while (left := end - clock.monotonic()) > 0:
        session.stop.raise_if_asked()
        if session.orders is not None:
            session.orders.look()
        clock.sleep(min(SLICE, left))
