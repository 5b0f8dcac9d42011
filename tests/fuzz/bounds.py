"""How many inputs a claim is tried on: few each time, many with `--deep`; and the count of all that were tried."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, settings

DEEPER = 25
"""How many times as many inputs `--deep` tries."""

tried: Counter[str] = Counter()
"""Kind of input -> how many were tried in this process."""


class Depth:
    """Set before the test modules are imported, by `conftest.py`."""

    is_deep = False


def bounded(inputs: int) -> settings:
    """Settings for a claim that is tried on so many inputs: the same ones each time, others on each `--deep` run."""
    return settings(
        max_examples=inputs * (DEEPER if Depth.is_deep else 1),
        derandomize=not Depth.is_deep,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
