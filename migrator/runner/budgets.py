"""What the configured budgets come to, in units a second for each table and index."""

from __future__ import annotations

from migrator.config import Budget, Share, parse_budget
from migrator.control.requests import Throttle
from migrator.core.ports import LiveTable
from migrator.core.schema import Throughput
from migrator.runner.session import Session

ON_DEMAND_READ, ON_DEMAND_WRITE = 12_000, 4_000
"""What a new on-demand table takes at once (facts §4.5): what a share is a share of where nothing else is known."""


def budgets(session: Session, throttle: Throttle | None = None) -> tuple[dict[str, float], dict[str, float]]:
    """(reads, writes): units a second by resource; empty where no budget is set. An operator's throttle wins."""
    limits = session.settings.limits
    read_units, write_units = limits.read_units, limits.write_units
    if throttle is not None:
        read_units = parse_budget(throttle.read_units) if throttle.read_units else read_units
        write_units = parse_budget(throttle.write_units) if throttle.write_units else write_units
    reads: dict[str, float] = {}
    writes: dict[str, float] = {}
    for live in session.live.values():
        for resource, capacity in _capacities(live).items():
            if read_units is not None:
                reads[resource] = _units(read_units, capacity.read)
            if write_units is not None:
                writes[resource] = _units(write_units, capacity.write)
    return reads, writes


def _capacities(live: LiveTable) -> dict[str, Throughput]:
    default = Throughput(ON_DEMAND_READ, ON_DEMAND_WRITE)
    found = {live.name: live.shape.provisioned or default}
    for name, index in live.indexes.items():
        definition = index.definition
        found[f"{live.name}/{name}"] = definition.provisioned or definition.on_demand_maximum or default
    return found


def _units(budget: Budget, capacity: int) -> float:
    return max(1.0, budget.fraction * capacity if isinstance(budget, Share) else budget.per_second)
