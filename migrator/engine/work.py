"""What every step works with: the ports, the budgets, the lease, the record of the revision, and the wish to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from migrator.config import Limits
from migrator.control.checkpoints import Checkpoints
from migrator.control.failures import Failures
from migrator.control.history import Entry, History
from migrator.control.journal import Journal
from migrator.control.lease import Lease
from migrator.control.mirrors import Mirrors
from migrator.control.phases import Phases
from migrator.core.events import Counts, Report, Waiting
from migrator.core.exports import Exports
from migrator.core.item import Item, Key
from migrator.core.ports import Clock, Entropy, Items, LiveTable, Metrics, Tables
from migrator.core.schema import Index, Schema
from migrator.engine.crew import Crew
from migrator.engine.orders import Orders
from migrator.engine.pace import Pace
from migrator.engine.pacing.load import LoadWatch
from migrator.errors import Interrupted, MigratorError

SLICE = 0.25
"""Seconds between two looks at the wish to stop, while waiting."""


@dataclass(slots=True)
class Stop:
    """The wish to stop at the next checkpoint: set by a signal handler, read by every loop."""

    number: int = 0
    _asked: threading.Event = field(default_factory=threading.Event)

    def ask(self, number: int) -> None:
        if not self._asked.is_set():
            self.number = number
            self._asked.set()

    def raise_if_asked(self) -> None:
        """Raises Interrupted: only where everything so far is in a checkpoint."""
        if self._asked.is_set():
            name = signal.Signals(self.number).name
            raise Interrupted(
                "interrupted",
                f"stopped by {name} at a checkpoint; nothing is lost",
                hint="run the same command again to go on",
                exit_code=128 + self.number,
            )


@dataclass(slots=True)
class Ledger:
    """The history entry of the revision at work: what is done, created, adopted. Every change is saved at once."""

    history: History
    lease: Lease
    entry: Entry

    def save(self, **changes: Any) -> None:
        self.entry = replace(self.entry, **changes)
        self.history.save(self.entry, self.lease)

    def step(self, step: str) -> dict[str, Any]:
        return dict(self.entry.steps.get(step, {}))

    def note_step(self, step: str, **state: Any) -> None:
        self.save(steps={**self.entry.steps, step: {**self.step(step), **state}})

    def object(self, name: str) -> dict[str, Any] | None:
        found = self.entry.objects.get(name)
        return None if found is None else dict(found)

    def note_object(self, name: str, **state: Any) -> None:
        self.save(objects={**self.entry.objects, name: {**(self.object(name) or {}), **state}})


@dataclass(slots=True)
class Reader:
    """Consistent reads for lookups, by alias: the `ReadItems` of `core.view`."""

    items: Items
    names: Mapping[str, str]
    schema: Schema

    def get(self, alias: str, key: Key) -> Item | None:
        return self.items.get(self.physical(alias), key)

    def collection(self, alias: str, partition: Key, most: int) -> Sequence[Item]:
        return self.items.query(self.physical(alias), partition, most=most)

    def key_names(self, alias: str) -> tuple[str, ...]:
        return self.schema.table(alias).key_names

    def physical(self, alias: str) -> str:
        return self.names[self.schema.alias(alias)]


@dataclass(slots=True)
class Work:
    """One revision being applied, completed or taken back."""

    tables: Tables
    items: Items
    metrics: Metrics
    clock: Clock
    entropy: Entropy
    names: Mapping[str, str]
    schema: Schema
    """The shape that the step at work finds."""
    after: Schema
    """The shape after all its operations: what index keys demand of values."""
    limits: Limits
    lease: Lease
    ledger: Ledger
    checkpoints: Checkpoints
    failures: Failures
    journal: Journal
    phases: Phases
    control_prefixes: Mapping[str, str]
    """Physical table -> the partition-key prefix of control records that live in it."""
    report: Report
    stop: Stop
    pace: Pace
    created_tables: frozenset[str] = frozenset()
    """Aliases of tables that this run created before it took the lock."""
    no_wait: bool = False
    wait_timeout: float | None = None
    drop_adopted: bool = False
    orders: Orders | None = None
    """What operators ask of this run from elsewhere."""
    load: LoadWatch | None = None
    crew: Crew | None = None
    """Who works on segments in this process's stead."""
    mirrors: Mirrors | None = None
    """What mirrors of rewrites say of themselves."""
    exports: Exports | None = None
    """What is read in place of the scans of one table."""

    @property
    def revision(self) -> str:
        return self.ledger.entry.revision

    def name(self, alias: str) -> str:
        return self.names[self.schema.alias(alias)]

    def exports_of(self, alias: str) -> Exports | None:
        """What is read in place of scans of this table; None where it is scanned."""
        return self.exports if self.exports is not None and self.exports.table == self.name(alias) else None

    def indexes_of(self, table: str) -> Mapping[str, Index]:
        """The indexes that a physical table has once the revision is through."""
        alias = next((alias for alias, name in self.names.items() if name == table), None)
        return self.after.table(alias).indexes if alias is not None and alias in self.after.tables else {}

    def reader(self) -> Reader:
        return Reader(self.items, self.names, self.schema)

    def live(self, alias: str) -> LiveTable:
        """The table as it is. Raises `table-missing`."""
        live = self.tables.describe(self.name(alias))
        if live is None:
            raise MigratorError(
                "table-missing",
                f"table {self.name(alias)} ({self.schema.alias(alias)}) does not exist",
                hint="check the environment and region with `migrator status`, or add a CreateTable",
            )
        return live

    def heed(self) -> None:
        """Stop or hold where a signal, an operator or the load of the table asks for it. Asked before every batch."""
        self.stop.raise_if_asked()
        if self.orders is not None:
            self.orders.obey(self._hold)
        if self.load is not None:
            self.load.obey(self.wait)

    def wait(self, seconds: float, reason: str) -> None:
        """Sleep, say why, keep the lease, and stop or hold where that is asked for."""
        self._hold(seconds, reason)
        if self.orders is not None:
            self.orders.obey(self._hold)

    def _hold(self, seconds: float, reason: str) -> None:
        self.report(Waiting(reason, seconds))
        end = self.clock.monotonic() + seconds
        while (left := end - self.clock.monotonic()) > 0:
            self.stop.raise_if_asked()
            self.lease.beat_if_due()
            if self.orders is not None:
                self.orders.look()
            self.clock.sleep(min(SLICE, left))
        self.stop.raise_if_asked()


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What came of a step: `done`, or `incomplete` with the keys that explain it."""

    text: str
    counts: Counts = field(default_factory=Counts)
    is_complete: bool = True
    examples: tuple[str, ...] = ()
    question: str = ""
    """What to ask when it is incomplete."""
