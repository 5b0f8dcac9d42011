"""A table that takes so many units a second, and an application beside the run: on the virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from migrator.core.change import Write
from migrator.core.item import Key, fingerprint
from migrator.errors import Throttled
from migrator.testing.memory import Call, VirtualClock

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/"


@dataclass
class Capacity:
    """A token bucket that holds `burst` seconds of what is provisioned: it refuses, it does not go into debt."""

    clock: VirtualClock
    units: float
    burst: float = 1.0
    _level: float = 0.0
    _at: float = 0.0

    def __post_init__(self) -> None:
        self._level, self._at = self.units * self.burst, self.clock.true_seconds

    def takes(self, units: float) -> bool:
        now = self.clock.true_seconds
        self._level = min(self.units * self.burst, self._level + (now - self._at) * self.units)
        self._at = now
        if self._level < units:
            return False
        self._level -= units
        return True


@dataclass
class TableModel:
    """A hook for the runs on a table: each write takes a moment, and a unit of the table's and of its key's capacity.

    `keys`: what the partition of a key takes, by its fingerprint.
    """

    clock: VirtualClock
    table: str
    capacity: Capacity
    latency: float = 0.002
    keys: Mapping[str, Capacity] = field(default_factory=dict)
    partition: Callable[[Key], str] = lambda key: fingerprint({"PK": key["PK"]})
    refused: int = 0
    refused_by_key: int = 0
    taken: int = 0
    application_refused: int = 0
    application_taken: int = 0

    def __call__(self, call: Call) -> None:
        if call.operation != "items.write" or call.moment != "before":
            return
        write: Write = call.arguments["write"]
        self.clock.sleep(self.latency)
        key = self.keys.get(self.partition(write.key))
        if key is not None and not key.takes(1):
            self.refused_by_key += 1
            raise Throttled("hot", (("TableWriteKeyRangeThroughputExceeded", ARN + self.table),))
        if not self.capacity.takes(1):
            self.refused += 1
            raise Throttled("slow down", (("TableWriteProvisionedThroughputExceeded", ARN + self.table),))
        self.taken += 1

    def application(self, units_per_second: float, every: float = 0.05) -> None:
        """An application that writes evenly, from now on."""
        owed = 0.0

        def write() -> None:
            nonlocal owed
            owed += units_per_second * every
            while owed >= 1:
                owed -= 1
                if self.capacity.takes(1):
                    self.application_taken += 1
                else:
                    self.application_refused += 1
            self.clock.at(every, write)

        self.clock.at(every, write)
