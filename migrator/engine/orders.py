"""How a run obeys what operators ask of it: looked at every two seconds, wherever the run waits or begins a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from migrator.control.requests import Asked, Requests, Throttle, without
from migrator.core.events import Remark, Report
from migrator.core.ports import Clock
from migrator.errors import Interrupted, MigratorError

LOOK_SECONDS = 2.0
_HOLD_SECONDS = 1.0
CANCELLED = 143
"""The exit code of a cancelled run: that of one that was told to end by SIGTERM."""


@dataclass(slots=True)
class Orders:
    """What is asked of this run, as last read. Threads share it.

    A length of time counts from when this run first saw the request, on its own monotonic clock.
    """

    read: Callable[[], Requests]
    clock: Clock
    report: Report
    check: Callable[[], None]
    """Raises where the lease is lost: a paused run must not go on believing that it holds it."""
    on_throttle: Callable[[Throttle | None], None] = lambda _: None
    _now: Requests = field(default_factory=lambda: Requests(""))
    _first_seen: dict[str, float] = field(default_factory=dict)
    _looked_at: float | None = None
    _is_unreadable: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def throttle(self) -> Throttle | None:
        return self._now.throttle

    def follow(self, on_throttle: Callable[[Throttle | None], None]) -> None:
        """Tell of each other throttle from now on, and of the present one at once."""
        self.on_throttle = on_throttle
        if self._now.throttle is not None:
            on_throttle(self._now.throttle)

    def look(self) -> None:
        """Read what is asked, if it is time to. Raises `cancelled` where the run is to end."""
        # Whoever comes while another thread reads goes by what was read before.
        if self._lock.acquire(blocking=False):
            try:
                now = self.clock.monotonic()
                if self._looked_at is None or now - self._looked_at >= LOOK_SECONDS:
                    self._looked_at = now
                    self._take(self._read(), now)
            finally:
                self._lock.release()
        if (cancel := self._now.cancel) is not None:
            raise Interrupted(
                "cancelled",
                f"cancelled by {cancel.who}{_because(cancel)}; stopped at a checkpoint, nothing is lost",
                hint="run the same command again to go on",
                exit_code=CANCELLED,
            )

    def obey(self, hold: Callable[[float, str], None]) -> None:
        """Look, and return when work may go on. `hold` sleeps, says why, and looks meanwhile."""
        self.look()
        while (pause := self._now.pause) is not None:
            self.check()
            hold(_HOLD_SECONDS, f"paused by {pause.who} {pause.since}{_because(pause)}; `migrator resume` goes on")
            self.look()

    def _read(self) -> Requests:
        try:
            found = self.read()
        except MigratorError as exc:
            # A wish that cannot be read is no reason to fail; what was known of before stays so.
            if not self._is_unreadable:
                self._is_unreadable = True
                self.report(Remark(f"what operators ask of this run cannot be read: {exc.message}", "warning"))
            return self._now
        self._is_unreadable = False
        return found

    def _take(self, found: Requests, now: float) -> None:
        throttled = None if found.throttle is None else found.throttle.asked
        asked = [one for one in (found.pause, throttled) if one is not None]
        self._first_seen = {one.nonce: self._first_seen.get(one.nonce, now) for one in asked}
        over = {
            one.nonce for one in asked if one.seconds is not None and now - self._first_seen[one.nonce] >= one.seconds
        }
        before, self._now = self._now, without(found, frozenset(over))
        for text in self._now.texts:
            if text not in before.texts:
                self.report(Remark(f"this run is {text}"))
        for text in before.texts:
            if text not in self._now.texts:
                self.report(Remark(f"this run is no longer {text}"))
        if before.throttle != self._now.throttle:
            self.on_throttle(self._now.throttle)


def _because(asked: Asked) -> str:
    return f": {asked.because}" if asked.because else ""
