"""The rule for CloudWatch: before it is asked, the builds in flight publish their progress (facts §2)."""

from __future__ import annotations

from migrator.sandbox.engine import Engine
from migrator.sandbox.index_keys import faults, indexes_of
from migrator.sandbox.layer import Proceed
from migrator.sandbox.life import Build, Lives
from migrator.sandbox.wire import Reply, Request


class BuildMetrics:
    """A point a question, stamped with real time; the service has one in five minutes.

    The engine keeps the points and answers in whatever protocol and statistic was asked. A table that never
    had a build has no points, and a finished build publishes no more.
    """

    def __init__(self, engine: Engine, lives: Lives) -> None:
        self._engine = engine
        self._lives = lives
        self._told: dict[tuple[str, str, str, Build], float] = {}
        """The progress last published of each build, in per cent, by account, region and table."""

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        if request.service == "monitoring":
            for table, build in self._lives.builds(request).items():
                place = (request.account, request.region, table, build)
                progress = build.progress(self._lives.clock.now())
                self._publish(table, build, progress, since=self._told.get(place, 0.0))
                self._told[place] = progress
        return await proceed(request)

    def _publish(self, table: str, build: Build, progress: float, since: float) -> None:
        written = (progress - since) / 100 * self._entry_units(table, build.index)
        dimensions = {"TableName": table, "GlobalSecondaryIndexName": build.index}
        for name, value in (
            ("OnlineIndexPercentageProgress", round(progress, 1)),
            ("OnlineIndexConsumedWriteCapacity", round(written, 1)),
            ("OnlineIndexThrottleEvents", 0.0),
        ):
            self._engine.record_metric(name, value, dimensions)

    def _entry_units(self, name: str, index_name: str) -> float:
        """Write units of all entries that the finished index will hold."""
        table = self._engine.table(name)
        index = next((i for i in indexes_of(table or {}) if i["IndexName"] == index_name), None)
        if table is None or index is None:
            return 0.0
        keys = {element["AttributeName"] for element in index["KeySchema"]}
        entries = (
            self._engine.index_entry(table, index_name, item)
            for _, item in self._engine.items(table)
            if keys <= item.keys() and not any(faults(table, index, item))
        )
        return float(sum(-(-self._engine.size(entry) // 1024) for entry in entries))
