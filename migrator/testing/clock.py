"""Time and randomness under the test's control."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from threading import RLock

_START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class _Timeline:
    """True time in seconds, and what is due when."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.seconds = 0.0
        self.due: list[tuple[float, int, Callable[[], None]]] = []
        self.order = count()


class VirtualClock:
    """A clock that moves only when told: `sleep` and `advance` move it and run what is due on the way.

    `as_seen_by` gives the same time with other clock settings, as another machine has them.
    """

    def __init__(self, start: datetime = _START, monotonic: float = 1000.0):
        self._timeline = _Timeline()
        self._start = start
        self._origin = monotonic

    def as_seen_by(self, wall: timedelta = timedelta(), monotonic: float = 0.0) -> VirtualClock:
        """The same true time on a machine whose wall clock is off by `wall`, the monotonic one by seconds."""
        other = VirtualClock(self._start + wall, self._origin + monotonic)
        other._timeline = self._timeline
        return other

    @property
    def true_seconds(self) -> float:
        """Seconds since the clock was made, the same for every machine."""
        return self._timeline.seconds

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._timeline.seconds)

    def monotonic(self) -> float:
        return self._origin + self._timeline.seconds

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def at(self, delay: float, callback: Callable[[], None]) -> None:
        """Run `callback` once, `delay` seconds from now."""
        with self._timeline.lock:
            heappush(self._timeline.due, (self._timeline.seconds + delay, next(self._timeline.order), callback))

    def advance(self, seconds: float) -> None:
        """Let time pass; callbacks run at their moment, outside the lock, in the calling thread."""
        target = self._timeline.seconds + max(0.0, seconds)
        while True:
            with self._timeline.lock:
                if not self._timeline.due or self._timeline.due[0][0] > target:
                    self._timeline.seconds = max(self._timeline.seconds, target)
                    return
                moment, _, callback = heappop(self._timeline.due)
                self._timeline.seconds = max(self._timeline.seconds, moment)
            callback()

    def suspend(self, seconds: float) -> None:
        """The machine sleeps: time passes, and what was due meanwhile runs late, after it."""
        with self._timeline.lock:
            self._timeline.seconds += seconds
        self.advance(0)


class SeededEntropy:
    """The same randomness for the same seed."""

    def __init__(self, seed: int = 0):
        self._random = random.Random(seed)  # noqa: S311 - no secret: it has to be repeatable
        self._lock = RLock()

    def nonce(self) -> str:
        with self._lock:
            return f"{self._random.getrandbits(128):032x}"

    def integer(self, bits: int) -> int:
        with self._lock:
            return self._random.getrandbits(bits)

    def uniform(self, low: float, high: float) -> float:
        with self._lock:
            return self._random.uniform(low, high)

    def shuffled(self, values: Sequence[int]) -> list[int]:
        with self._lock:
            return self._random.sample(values, len(values))
