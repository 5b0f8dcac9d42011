"""What the configured budgets come to, in units a second for each table and index."""

from __future__ import annotations

from migrator.config import Budget, Share
from migrator.core.ports import LiveTable
from migrator.core.schema import Throughput
from migrator.runner.session import Session

ON_DEMAND_READ, ON_DEMAND_WRITE = 12_000, 4_000
"""What a new on-demand table takes at once (facts §4.5): what a share is a share of where nothing else is known."""


def budgets(session: Session) -> tuple[dict[str, float], dict[str, float]]:
    """(reads, writes): units a second by resource; empty where no budget is set."""
    limits = session.settings.limits
    reads: dict[str, float] = {}
    writes: dict[str, float] = {}
    for live in session.live.values():
        for resource, capacity in capacities(live).items():
            if limits.read_units is not None:
                reads[resource] = _units(limits.read_units, capacity.read)
            if limits.write_units is not None:
                writes[resource] = _units(limits.write_units, capacity.write)
    return reads, writes


def capacities(live: LiveTable) -> dict[str, Throughput]:
    """What the table and each of its indexes take, as far as DescribeTable says; what a new on-demand table does."""
    default = Throughput(ON_DEMAND_READ, ON_DEMAND_WRITE)
    found = {live.name: live.shape.provisioned or default}
    for name, index in live.indexes.items():
        definition = index.definition
        found[f"{live.name}/{name}"] = definition.provisioned or definition.on_demand_maximum or default
    return found


def _units(budget: Budget, capacity: int) -> float:
    return max(1.0, budget.fraction * capacity if isinstance(budget, Share) else budget.per_second)
