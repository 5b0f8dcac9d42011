"""All ports in memory, and a world of them that share one clock, one store and one list of hooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from migrator.testing.clock import SeededEntropy, VirtualClock
from migrator.testing.hooks import Answer, Call, Crash, CrashAt, Hook, Once, raising
from migrator.testing.items import MemoryItems
from migrator.testing.metrics import MemoryMetrics
from migrator.testing.queries import MemoryQueries
from migrator.testing.records import MemoryRecords
from migrator.testing.tables import Durations, MemoryTables


class Always:
    """A Permit that always allows."""

    def check(self) -> None:
        return


class World:
    """The ports of one process. `as_another` gives another process the same world, with hooks of its own.

    `keys` gives the tables to start with: name -> key names (no indexes; for those, `tables.add`).
    """

    def __init__(
        self,
        keys: Mapping[str, Sequence[str]] | None = None,
        *,
        seed: int = 0,
        durations: Durations | None = None,
        page_bytes: int = 1_048_576,
    ):
        self.on_call: list[Hook] = []
        self.clock = VirtualClock()
        self.entropy = SeededEntropy(seed)
        self.records = MemoryRecords(self.entropy, on_call=self.on_call)
        self.tables = MemoryTables(
            self.clock,
            durations=durations,
            on_create=self._created,
            lock=self.records.lock,
            on_call=self.on_call,
        )
        self.items = MemoryItems(
            keys or {},
            self.records,
            indexes=self.tables.indexes_of,
            page_bytes=page_bytes,
            on_call=self.on_call,
        )
        self.queries = MemoryQueries(self.items, self.tables.indexes_of, self.on_call)
        self.metrics = MemoryMetrics(self.on_call)

    def _created(self, name: str, key_names: Sequence[str]) -> None:
        self.items.add_table(name, key_names)

    def as_another(self, clock: VirtualClock | None = None) -> World:
        other = World()
        other.clock = self.clock if clock is None else clock
        other.entropy = self.entropy
        other.records = self.records.as_another(other.on_call)
        other.tables = self.tables.as_another(other.on_call)
        other.items = self.items.as_another(other.records, other.on_call)
        other.queries = MemoryQueries(other.items, other.tables.indexes_of, other.on_call)
        other.metrics.builds = self.metrics.builds
        other.metrics.throttles = self.metrics.throttles
        return other


__all__ = [
    "Always", "Answer", "Call", "Crash", "CrashAt", "Durations", "Hook", "MemoryItems", "MemoryMetrics",
    "MemoryQueries", "MemoryRecords", "MemoryTables", "Once", "SeededEntropy", "VirtualClock", "World", "raising",
]  # fmt: skip
