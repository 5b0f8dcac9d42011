"""What budgets come to, in units a second for each table and index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from migrator.config import Budget, Limits, Share, parse_budget
from migrator.control.requests import Throttle
from migrator.core.schema import Throughput

Capacities: TypeAlias = Mapping[str, Throughput]
"""What each table, and each index as `table/index`, has: what a share is a share of."""


def budgets(
    limits: Limits, capacities: Capacities, throttle: Throttle | None = None
) -> tuple[dict[str, float], dict[str, float]]:
    """(reads, writes): units a second by resource; empty where no budget is set. An operator's throttle wins.

    Raises ValueError for a throttle that is no budget.
    """
    read_units, write_units = limits.read_units, limits.write_units
    if throttle is not None:
        read_units = parse_budget(throttle.read_units) if throttle.read_units else read_units
        write_units = parse_budget(throttle.write_units) if throttle.write_units else write_units
    reads: dict[str, float] = {}
    writes: dict[str, float] = {}
    for resource, capacity in capacities.items():
        if read_units is not None:
            reads[resource] = _units(read_units, capacity.read)
        if write_units is not None:
            writes[resource] = _units(write_units, capacity.write)
    return reads, writes


def _units(budget: Budget, capacity: int) -> float:
    return max(1.0, budget.fraction * capacity if isinstance(budget, Share) else budget.per_second)
