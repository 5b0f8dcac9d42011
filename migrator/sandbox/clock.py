"""The sandbox's clock: index builds last by it, so a test may turn it by hand."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds that only grow; the zero is of no meaning."""

    def now(self) -> float: ...


class WallClock:
    """Real time."""

    def now(self) -> float:
        return time.monotonic()  # noqa: TID251 - this is the sandbox's clock port


class ManualClock:
    """Time that stands still until a test advances it."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> float:
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass; refuses to turn back."""
        if seconds < 0:
            raise ValueError("time does not run backwards")
        with self._lock:
            self._now += seconds


def pause(seconds: float) -> None:
    """Wait in real time."""
    time.sleep(seconds)  # noqa: TID251 - the sandbox's own clock
