"""What operators ask of a run that is under way elsewhere. They write one record, which the run reads; nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from migrator.control.lock import LockView
from migrator.control.requests import Asked, RequestBook, Requests, Throttle
from migrator.errors import MigratorError, UsageError, as_text
from migrator.runner.reading import lock_state
from migrator.runner.results import ControlResult
from migrator.runner.session import Session

THROTTLE_SECONDS = 3600.0
"""How long a throttle holds where nobody says: a forgotten one expires."""


def pause(session: Session, seconds: float | None, because: str) -> ControlResult:
    """Ask the run that holds the lock to send nothing until `resume`, or for so long. It keeps the lock."""
    asked = _asked(session, seconds, because)
    return _ask(session, "paused", lambda found: replace(found, pause=asked), "migrator resume")


def resume(session: Session) -> ControlResult:
    """Take a pause back. A throttle stays."""
    return _ask(session, "resumed", lambda found: replace(found, pause=None), "migrator status")


def throttle(session: Session, write_units: str, read_units: str, seconds: float | None) -> ControlResult:
    """Ask for other budgets than the configured ones, for so long; without any, for the configured ones again."""
    if not write_units and not read_units:
        return _ask(session, "unthrottled", lambda found: replace(found, throttle=None), "migrator status")
    asked = _asked(session, THROTTLE_SECONDS if seconds is None else seconds, "")
    wanted = Throttle(asked, write_units, read_units)
    return _ask(session, "throttled", lambda found: replace(found, throttle=wanted), "migrator throttle --off")


def cancel(session: Session, because: str) -> ControlResult:
    """Ask the run to save a checkpoint, release the lock and end, as if it had got SIGTERM."""
    asked = _asked(session, None, because)
    return _ask(session, "cancelled", lambda found: replace(found, cancel=asked), "migrator lock show")


def _asked(session: Session, seconds: float | None, because: str) -> Asked:
    if seconds is not None and seconds <= 0:
        raise UsageError("usage", "--for must be longer than nothing", hint="such as --for 2h")
    caller, ports = session.caller, session.ports
    at = ports.clock.now().isoformat(timespec="seconds")
    return Asked(
        ports.entropy.nonce(), as_text(caller.name), as_text(caller.host), at, seconds, as_text(because.strip())
    )


def _ask(session: Session, state: str, change: Callable[[Requests], Requests], then: str) -> ControlResult:
    view = session.lock.show() if session.control_table_exists else LockView(None)
    if view.record is None or view.record.released:
        raise MigratorError(
            "no-run",
            "no run holds the lock of this environment: there is nobody to ask, and nothing was recorded",
            hint="see `migrator lock show`; a budget for the next run stands in the configuration: limits.write_units",
        )
    asked = RequestBook(session.records).change(view.record.holder.owner, change)
    return ControlResult(state=state, next=then, lock=lock_state(view, asked.texts))
