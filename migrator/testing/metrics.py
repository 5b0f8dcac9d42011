"""Metrics in memory: what a test says they are, and unknown otherwise."""

from __future__ import annotations

from datetime import datetime
from threading import RLock

from migrator.core.ports import BuildMetrics
from migrator.testing.hooks import Hook, Hooked


class MemoryMetrics(Hooked):
    """The Metrics port in memory. Operation for hooks: `metrics.index_build`.

    `builds[table, index]` is the newest figure.
    """

    def __init__(self, on_call: list[Hook] | None = None):
        super().__init__(RLock(), on_call)
        self.builds: dict[tuple[str, str], BuildMetrics] = {}

    def index_build(self, table: str, index: str, since: datetime) -> BuildMetrics:
        return self.call(
            "metrics.index_build",
            lambda: self.builds.get((table, index), BuildMetrics()),
            table=table,
            index=index,
            since=since,
        )
