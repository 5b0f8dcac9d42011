"""One budget: a token bucket that may go into debt, whose rate rises additively and falls by a factor (AIMD)."""

from __future__ import annotations

import math
from dataclasses import dataclass

NO_LIMIT = float("inf")

_LEAST_SHARE = 1 / 64
_LEAST_UNITS = 25.0
"""Without a budget no throttling slows a resource below this: partitions take 40 times as much (facts §4.5)."""
_HALF_LIFE = 5.0
"""Seconds over which what was seen lately is halved."""
_KNEE_SHARE = 0.9
"""Of the rate at which the service last refused: up to there the way back is quick, around it slow."""
_QUICK_SECONDS, _SLOW_SECONDS, _SEARCH_SECONDS = 40.0, 120.0, 10.0
"""In how many seconds a rate would rise by that knee, and by itself once it is well past it."""
_START_DOUBLES = 1.0
"""Seconds in which a rate that was never refused doubles."""
_PRESSED_SECONDS = 2.0
_ONE_DECREASE = 1.0
"""Seconds in which any number of refusals count once: they answer what was sent at one rate."""


@dataclass(slots=True)
class Bucket:
    """Units a second for one resource in one direction; `limit` infinite is no budget of its own."""

    limit: float
    level: float = 0.0
    at: float = 0.0
    rate: float = NO_LIMIT
    """The present rate: at most `limit`, lower after throttling."""
    seen: float = 0.0
    """Units lately, decaying: what the service really took."""
    began: float | None = None
    """When the first units were spent: an average over less than a half-life counts for what it covers."""
    throttled_at: float = -NO_LIMIT
    knee: float | None = None
    """The rate at which the run last had to give way; None: it never had."""
    pressed_at: float = -NO_LIMIT
    """When the rate last held something up: one that holds nothing up is not raised."""

    def refill(self, now: float) -> None:
        elapsed = max(0.0, now - self.at)
        self.at = now
        if self.rate < self.limit and now - self.throttled_at > _ONE_DECREASE:
            self._rise(now, elapsed)
        self.level += elapsed * min(self.rate, 1e12)
        if self.level < 0:
            self.pressed_at = now
        # Time that was not used is no credit for a burst.
        self.level = min(0.0, self.level)
        self.seen *= 0.5 ** (elapsed / _HALF_LIFE)

    def _rise(self, now: float, elapsed: float) -> None:
        if now - self.pressed_at > _PRESSED_SECONDS:
            return
        if self.knee is None:
            self.rate = min(self.limit, self.rate * 2 ** (elapsed / _START_DOUBLES))
            return
        if self.rate > self.knee * (2 - _KNEE_SHARE):
            # Well past what was refused once: the limit moved, and is looked for anew.
            step = self.rate / _SEARCH_SECONDS
        else:
            step = self.knee / (_SLOW_SECONDS if self.rate >= _KNEE_SHARE * self.knee else _QUICK_SECONDS)
        if self.limit != NO_LIMIT:
            step = max(step, self.limit / _SLOW_SECONDS)
        self.rate = min(self.limit, self.rate + elapsed * step)

    def lately(self, now: float) -> float:
        """Units a second over the last seconds."""
        age = 0.0 if self.began is None else max(0.5, now - self.began)
        weight = _HALF_LIFE / math.log(2) * (1 - 0.5 ** (age / _HALF_LIFE))
        return self.seen / weight if weight else 0.0

    def spend(self, units: float) -> None:
        self.began = self.at if self.began is None else self.began
        self.level -= units
        self.seen += units

    def slow(self, now: float, factor: float) -> None:
        """Leave `factor` of the rate, at most once a second."""
        if now - self.throttled_at < _ONE_DECREASE:
            return
        self.throttled_at = now
        lately = self.lately(now)
        # A rate that was not used says nothing about what the service takes.
        present = lately if self.rate > self.limit or self.rate > 2 * lately > 0 else self.rate
        self.knee = present
        floor = _LEAST_UNITS if self.limit == NO_LIMIT else self.limit * _LEAST_SHARE
        self.rate = max(floor, present * factor)

    def set_limit(self, limit: float, first: float) -> None:
        """Another budget from now on; `first` is the rate to start from where there is none."""
        if limit == self.limit:
            return
        was_at_limit = self.rate >= self.limit
        self.limit = limit
        if limit == NO_LIMIT:
            self.rate = first if was_at_limit and self.knee is None else self.rate
        elif was_at_limit or self.rate > limit:
            self.rate = limit
        # A debt of the old rate is not waited for at the new one for minutes.
        self.level = max(self.level, -min(self.rate, 1e12))

    @property
    def debt_seconds(self) -> float:
        return 0.0 if self.level >= 0 or self.rate == NO_LIMIT else -self.level / self.rate
