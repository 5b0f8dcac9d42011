"""Limits of a run, and the words they are written in: durations ("75s", "1h30m") and budgets (500, "25%")."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.ASCII)
_DURATION = re.compile(rf"(?:{_PART.pattern}\s*)+", re.ASCII)

LONGEST = 366 * 86_400.0
"""Seconds. No wait of a run is longer, and no clock overflows on the way."""


@dataclass(frozen=True, slots=True)
class Units:
    """Capacity units a second."""

    per_second: float

    def __str__(self) -> str:
        return f"{self.per_second:g} units/s"


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the capacity that the table or index has; 0 < `fraction` <= 1."""

    fraction: float

    def __str__(self) -> str:
        return f"{self.fraction * 100:g}%"


Budget: TypeAlias = Units | Share


@dataclass(frozen=True, slots=True)
class CriticalLoad:
    """When a run gives way to the table's other users altogether: at any of these, whoever causes it."""

    throttle_events: float | None = None
    """Throttled requests a minute on a table and its indexes together, as CloudWatch counts them."""
    latency: float | None = None
    """Seconds: the median of the run's own latest write requests."""
    action: Literal["pause", "stop"] = "pause"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use, and how long it waits. All durations are seconds."""

    write_units: Budget | None = None
    """None: no budget of its own; a run then gives way only to throttling."""
    read_units: Budget | None = None
    max_failures: int = 100
    """Failed items after which a step stops at a checkpoint."""
    lock_timeout: float | None = None
    """None: the holder's own lease and a little more, so that a dead run is taken over."""
    lease: float = 60.0
    wait_timeout: float | None = None
    """How long to wait for an index build; None: to its end."""
    poll_interval: float = 10.0
    settle_time: float = 900.0
    """After a takeover: until requests signed before it can no longer arrive."""
    reader_lease: float = 60.0
    """How long an instance of the application may rely on what it read of a rewrite's phase."""
    attempt_time: float = 10.0
    """How long one request of an instance may take: a change of phase waits for both."""
    workers: int = 4
    segments: int | None = None
    """None: by the size of the table."""
    critical_load: CriticalLoad | None = None
    """None: a run slows down for the refusals that it meets itself, and looks at nothing else."""


def parse_duration(value: str | float) -> float:
    """Seconds of "75s", "50m", "2h", "1h30m", "500ms", "1d", or of a plain number. Raises ValueError."""
    text = value.strip() if isinstance(value, str) else ""
    if _DURATION.fullmatch(text):
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    else:
        seconds = _finite(value, 'a duration such as "75s", "50m" or "2h"')
    if seconds < 0:
        raise ValueError(f"a duration is not negative, as {value!r} is")
    if seconds > LONGEST:
        raise ValueError("a duration is at most 366d")
    return seconds


def parse_budget(value: str | float) -> Budget:
    """Units a second of a number, a share of "25%". Raises ValueError."""
    if isinstance(value, str) and value.strip().endswith("%"):
        percent = _finite(value.strip()[:-1], 'a share such as "25%"')
        if not 0 < percent <= 100:
            raise ValueError(f"a share is above 0% and at most 100%, unlike {value!r}")
        return Share(percent / 100)
    units = _finite(value, 'units a second such as 500, or a share such as "25%"')
    if units <= 0:
        raise ValueError(f"a budget is above 0, unlike {value!r}")
    return Units(units)


def _finite(value: str | float, wanted: str) -> float:
    """The number; TOML knows `inf` and `nan`, and a bool is an int to Python: neither is meant."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (ValueError, TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"expected {wanted}, not {value!r}")
    return number
