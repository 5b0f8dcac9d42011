"""What the tables of an environment have: what a budget that is a share is a share of."""

from __future__ import annotations

from migrator.control.requests import Throttle
from migrator.core.ports import LiveTable
from migrator.core.schema import Throughput
from migrator.engine.pacing import budgets as pacing
from migrator.runner.session import Session

ON_DEMAND_READ, ON_DEMAND_WRITE = 12_000, 4_000
"""What a new on-demand table takes at once (facts §4.5): what a share is a share of where nothing else is known."""


def budgets(session: Session, throttle: Throttle | None = None) -> tuple[dict[str, float], dict[str, float]]:
    """(reads, writes): units a second by resource; empty where no budget is set. An operator's throttle wins."""
    return pacing.budgets(session.settings.limits, capacities(session), throttle)


def capacities(session: Session) -> dict[str, Throughput]:
    """The capacity of each live table and index."""
    found: dict[str, Throughput] = {}
    for live in session.live.values():
        found |= capacities_of(live)
    return found


def capacities_of(live: LiveTable) -> dict[str, Throughput]:
    """What the table and each of its indexes take, as far as DescribeTable says; what a new on-demand table does."""
    default = Throughput(ON_DEMAND_READ, ON_DEMAND_WRITE)
    found = {live.name: live.shape.provisioned or default}
    for name, index in live.indexes.items():
        definition = index.definition
        found[f"{live.name}/{name}"] = definition.provisioned or definition.on_demand_maximum or default
    return found
