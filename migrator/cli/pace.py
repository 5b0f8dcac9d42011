"""How long a scan still takes, or silence."""

from __future__ import annotations

from collections import deque

WINDOW = 60.0
"""Seconds of the past that count: budgets and throttling change the pace."""
LEAST_SECONDS = 15.0
LEAST_SHARE = 0.01


class Pace:
    """Looks at (time, items scanned) and says how many seconds are left, or None while that would be a guess."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def saw(self, now: float, scanned: int) -> None:
        if self._seen and scanned < self._seen[-1][1]:
            self._seen.clear()  # another pass began
        self._seen.append((now, scanned))
        while now - self._seen[0][0] > WINDOW and len(self._seen) > 2:
            self._seen.popleft()

    def left(self, total: int | None) -> float | None:
        """`total` is approximate and up to six hours old, so a scan may go past it: then nothing is known."""
        if not total or not self._seen:
            return None
        (began, first), (now, scanned) = self._seen[0], self._seen[-1]
        watched, done = now - began, scanned - first
        if watched < LEAST_SECONDS or done <= 0 or scanned < LEAST_SHARE * total or scanned >= total:
            return None
        return (total - scanned) * watched / done
