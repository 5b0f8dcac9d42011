"""Items that the service itself deletes: one side of a pair may go before the other, and nobody wrote anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from migrator.core.item import Item
from migrator.core.ports import Clock
from migrator.core.rewrite.reconcile import Seen
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.settings import TimeToLive
from migrator.engine.work import Work


@dataclass(frozen=True, slots=True)
class Expiry:
    """The time-to-live attributes of a rewrite's tables, by name."""

    clock: Clock
    attributes: Mapping[str, str]

    @staticmethod
    def of(work: Work, rewrite: Rewrite) -> Expiry:
        found: dict[str, str] = {}
        for table in rewrite.tables:
            setting = work.tables.setting(table, TimeToLive)
            if isinstance(setting, TimeToLive) and setting.attribute is not None:
                found[table] = setting.attribute
        return Expiry(work.clock, found)

    def explains(self, seen: Seen) -> bool:
        """Whether of a pair as it was read one alone is there, past its time: the service deleted the other."""
        standing = [(table, item) for table, item in _items(seen) if item is not None]
        return len(standing) == 1 and self._is_expired(*standing[0])

    def _is_expired(self, table: str, item: Item) -> bool:
        value = item.get(self.attributes[table], {}) if table in self.attributes else {}
        return "N" in value and float(value["N"]) <= self.clock.now().timestamp()


def _items(seen: Seen) -> list[tuple[str, Item | None]]:
    """Of each place that was read, the table and the item."""
    return [(place.partition("\0")[0], item) for place, item in seen.items.items()]
