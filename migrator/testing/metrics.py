"""Metrics in memory: what a test says they are, and unknown otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from threading import RLock

from migrator.core.ports import BuildMetrics
from migrator.testing.hooks import Hook, Hooked


class MemoryMetrics(Hooked):
    """The Metrics port in memory. Operations for hooks: `metrics.index_build`, `metrics.throttle_events`.

    `builds[table, index]` is the newest figure, `throttles[table]` the throttled requests of the last minute.
    """

    def __init__(self, on_call: list[Hook] | None = None):
        super().__init__(RLock(), on_call)
        self.builds: dict[tuple[str, str], BuildMetrics] = {}
        self.throttles: dict[str, float | None] = {}

    def index_build(self, table: str, index: str, since: datetime) -> BuildMetrics:
        return self.call(
            "metrics.index_build",
            lambda: self.builds.get((table, index), BuildMetrics()),
            table=table,
            index=index,
            since=since,
        )

    def throttle_events(self, table: str, indexes: Sequence[str]) -> float | None:
        return self.call(
            "metrics.throttle_events",
            lambda: self.throttles.get(table, 0.0),
            table=table,
            indexes=indexes,
        )
