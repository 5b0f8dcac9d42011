"""Live signals of load, and the rule that gives way to them: first slower, then a pause or a stop.

Hysteresis: from half of what is critical on a run slows down, at all of it it pauses, and it goes on only after a whole
minute below half.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from migrator.config import CriticalLoad
from migrator.core.ports import Clock, Metrics
from migrator.engine.pace import Pace
from migrator.errors import Interrupted

LOOK_SECONDS = 30.0
"""Between two looks at CloudWatch, whose figures are a minute each."""
CALM_SECONDS = 60.0
CALM_SHARE = 0.5
"""Below this share of what is critical a signal is calm."""
_WAIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Signal:
    """One measure against what is critical for it."""

    share: float
    """1 is critical."""
    text: str
    """`120 throttle events a minute on app, critical at 100`."""
    table: str


@dataclass(slots=True)
class LoadWatch:
    """Looks at the load of the tables at work, and obeys the rule. Threads share it."""

    rule: CriticalLoad
    clock: Clock
    metrics: Metrics
    pace: Pace
    tables: Mapping[str, Sequence[str]]
    """Physical table -> its indexes."""
    _events: dict[str, float] = field(default_factory=dict)
    _looked_at: float | None = None
    _eased_at: float = -LOOK_SECONDS
    _critical_at: float | None = None
    """While paused: when a signal was last not calm."""
    _why: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def obey(self, wait: Callable[[float, str], None]) -> None:
        """Return when work may go on; slower, after a pause, or by raising `critical-load` (exit 7)."""
        while (reason := self._reason_to_wait()) is not None:
            wait(_WAIT_SECONDS, reason)

    def _reason_to_wait(self) -> str | None:
        # Whoever comes while another thread looks goes by what was seen before.
        if not self._lock.acquire(blocking=False):
            return self._why or None
        try:
            now = self.clock.monotonic()
            self._look(now)
            worst = max(self._signals(), key=lambda one: one.share, default=None)
            self._judge(now, worst)
            return self._why or None
        finally:
            self._lock.release()

    def _judge(self, now: float, worst: Signal | None) -> None:
        if worst is not None and worst.share >= 1 and self.rule.action == "stop":
            raise Interrupted(
                "critical-load",
                f"critical load: {worst.text}; stopped at a checkpoint, nothing is lost",
                hint="when the load is over, run the same command again to go on; a lower budget causes less of it",
                exit_code=7,
            )
        if worst is not None and worst.share >= (1 if self._critical_at is None else CALM_SHARE):
            if self._critical_at is None:
                self.pace.ease(worst.table)
            self._critical_at = now
            self._why = f"critical load, paused: {worst.text}"
        elif self._critical_at is not None:
            if now - self._critical_at < CALM_SECONDS:
                left = CALM_SECONDS - (now - self._critical_at)
                self._why = f"critical load is over, paused until it stays so: {left:.0f} s"
                return
            self._critical_at, self._why = None, ""
        elif worst is not None and worst.share >= CALM_SHARE and now - self._eased_at >= LOOK_SECONDS:
            self._eased_at = now
            self.pace.ease(worst.table)

    def _look(self, now: float) -> None:
        if self.rule.throttle_events is None:
            return
        if self._looked_at is not None and now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        for table, indexes in self.tables.items():
            events = self.metrics.throttle_events(table, indexes)
            if events is None:
                self._events.pop(table, None)
            else:
                self._events[table] = events

    def _signals(self) -> list[Signal]:
        found = []
        if (most := self.rule.throttle_events) is not None:
            found += [
                Signal(events / most, f"{events:.0f} throttle events a minute on {table}, critical at {most:g}", table)
                for table, events in self._events.items()
            ]
        if self.rule.latency is not None and (latency := self.pace.latency()) is not None:
            text = f"write requests take {latency * 1000:.0f} ms, critical at {self.rule.latency * 1000:.0f} ms"
            found += [Signal(latency / self.rule.latency, text, table) for table in self.tables]
        return found
