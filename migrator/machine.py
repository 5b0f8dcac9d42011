"""The machine's clocks and randomness: what the ports of time and chance are in a process that really runs."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime


class SystemClock:
    """The machine's clocks; the monotonic one counts time spent suspended."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        # CLOCK_MONOTONIC stops while a machine sleeps; a lease does not.
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return time.clock_gettime(clock)

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class SystemEntropy:
    """Randomness of the operating system for identities, of a generator for jitter and order."""

    def __init__(self) -> None:
        self._random = random.Random(secrets.randbits(64))  # noqa: S311 - jitter and order only

    def nonce(self) -> str:
        return secrets.token_hex(16)

    def integer(self, bits: int) -> int:
        return secrets.randbits(bits)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def shuffled(self, values: Sequence[int]) -> list[int]:
        return self._random.sample(list(values), len(values))
