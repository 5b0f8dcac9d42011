"""The outside world, as protocols: tables, items, metrics, control records, clock, randomness.

Adapters: `migrator.dynamo` (boto3) and `migrator.testing.memory`. Table names here are physical names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from migrator.core.change import Check, Outcome, Write
from migrator.core.item import Item, Key
from migrator.core.patterns.question import Question
from migrator.core.schema import Index, Table
from migrator.core.settings import Setting
from migrator.errors import MigratorError

# --- clock and randomness ---------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Time: the only way to read it or to wait."""

    def now(self) -> datetime:
        """Wall-clock time, UTC, for records and people: never compared between machines."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back and counts time spent suspended."""
        ...

    def sleep(self, seconds: float) -> None: ...


class Entropy(Protocol):
    """Randomness."""

    def nonce(self) -> str:
        """A fresh random identity, 32 hex digits."""
        ...

    def integer(self, bits: int) -> int:
        """A random integer below 2**bits."""
        ...

    def uniform(self, low: float, high: float) -> float: ...

    def shuffled(self, values: Sequence[int]) -> list[int]: ...


class Permit(Protocol):
    """The right to write: asked immediately before each request is signed."""

    def check(self) -> None:
        """Raises LeaseLost when this run may not write (any more)."""
        ...


# --- tables -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LiveIndex:
    """A global secondary index as DescribeTable shows it. `backfilling` None: it says nothing (facts §1.2)."""

    definition: Index
    status: str
    backfilling: bool | None = None
    item_count: int = 0
    size_bytes: int = 0

    @property
    def is_ready(self) -> bool:
        return self.status == "ACTIVE" and not self.backfilling


@dataclass(frozen=True, slots=True)
class Replica:
    """Another Region of a global table, with the status of each of its indexes (empty where not shown)."""

    region: str
    status: str
    indexes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveTable:
    """A table as DescribeTable shows it. Counts and sizes are up to six hours old: for display only."""

    name: str
    arn: str
    table_id: str
    status: str
    shape: Table
    indexes: Mapping[str, LiveIndex] = field(default_factory=dict)
    local_indexes: tuple[str, ...] = ()
    item_count: int = 0
    size_bytes: int = 0
    stream: str | None = None
    deletion_protection: bool = False
    replicas: tuple[Replica, ...] = ()
    multi_region_consistency: str | None = None

    @property
    def has_strong_replicas(self) -> bool:
        """Whether it is a global table without transactions (MRSC)."""
        return self.multi_region_consistency == "STRONG"


class Busy(MigratorError):
    """The table or an index is being changed by someone: a wait, not a failure (facts §1.3, §1.4)."""

    def __init__(self, message: str):
        super().__init__("resource-busy", message, hint="wait: the change in flight ends by itself")


class Tables(Protocol):
    """The control plane: one concern a call. Changes raise Busy while another is in flight."""

    def describe(self, name: str) -> LiveTable | None:
        """None where no such table exists; AccessDenied is an error, never "does not exist"."""
        ...

    def create(self, name: str, table: Table, settings: Sequence[Setting] = ()) -> None:
        """One CreateTable with all its indexes. Raises Busy where the name is being created."""
        ...

    def create_index(self, name: str, index: Index) -> None: ...

    def delete_index(self, name: str, index: str) -> None: ...

    def update_index(self, name: str, index: Index) -> None:
        """Set the throughput that `index` names: provisioned, on-demand maximum, or warm."""
        ...

    def setting(self, name: str, kind: type[Setting]) -> Setting:
        """The live value of a setting."""
        ...

    def change_setting(self, name: str, setting: Setting) -> None: ...


@dataclass(frozen=True, slots=True)
class BuildMetrics:
    """The newest CloudWatch figures of an index build; None is "unknown", never zero (facts §2)."""

    progress: float | None = None
    """Percent."""
    consumed_write: float | None = None
    """Write units a second."""
    throttled: float | None = None
    """Events in the newest period."""


class Metrics(Protocol):
    def index_build(self, table: str, index: str, since: datetime) -> BuildMetrics: ...

    def throttle_events(self, table: str, indexes: Sequence[str]) -> float | None:
        """Throttled requests of the table and these indexes together in the worst of the last minutes.

        None where that is not known; a minute without any is zero.
        """
        ...


# --- items ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Consumed:
    """Capacity units by resource: the table's name, or `table/index`."""

    read: Mapping[str, float] = field(default_factory=dict)
    write: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a scan. `next` None is the only sign of the end; a page may be empty and yet have a `next`."""

    items: Sequence[Item]
    next: Key | None
    consumed: Consumed = field(default_factory=Consumed)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcome of each write, in order, and what those that were applied consumed.

    What a lost guard consumed no answer of the service says (facts §4.1): the engine estimates it.
    """

    outcomes: Sequence[Outcome]
    consumed: Consumed = field(default_factory=Consumed)


@dataclass(frozen=True, slots=True)
class Joint:
    """What came of several writes in one transaction.

    `outcome` is Written, or why nothing was written: ChecksLost where a condition failed; the rest as for one write.
    `at` are the positions, among the writes, then the checks, then the records, that it is about: those whose
    conditions failed, that were refused, or that another request was at work on; empty where the service names none.
    """

    outcome: Outcome
    at: tuple[int, ...] = ()
    consumed: Consumed = field(default_factory=Consumed)


class Items(Protocol):
    """The data plane of application items: strongly consistent reads, guarded writes, never a blind one.

    Reads are retried by the adapter, writes never: whatever became of one is an outcome, which the engine judges. Only
    what ends the run is raised. A new adapter is one when `tests/contract` passes on it.
    """

    @property
    def most_writes(self) -> int:
        """How many writes `write` takes at a time: as many as it can have under way."""
        ...

    def get(self, table: str, key: Key) -> Item | None:
        """None where there is no such item. `key` holds the table's key attributes and nothing else."""
        ...

    def scan(
        self,
        table: str,
        *,
        segment: int = 0,
        total: int = 1,
        start: Key | None = None,
        limit: int | None = None,
    ) -> Page:
        """One page of one of `total` segments, after the key `start`; of `limit` items at the most.

        Control records that live in the table are among the items. Raises Throttled where retries did not help.
        """
        ...

    def scan_index(self, table: str, index: str, names: Sequence[str], *, start: Key | None = None) -> Page:
        """One page of a global index's entries, after the key `start`: of each the attributes `names`.

        Eventually consistent, as an index is. Control records are among the entries where its keys are the table's.
        """
        ...

    def query(self, table: str, partition: Key, *, most: int) -> Sequence[Item]:
        """Every item of one item collection, or the first `most` + 1 of them."""
        ...

    def write(self, table: str, writes: Sequence[Write], permit: Permit) -> Outcomes:
        """Each write by itself, each guarded, up to `most_writes` at a time; no two are of one item.

        One write's outcome is never another's: how they travel (in parallel, in batches) is the adapter's. `permit` is
        asked immediately before each request is signed. Raises LeaseLost, or what else ends the run (access denied,
        expired credentials), once no request of these writes is under way; ValueError for an Update with `checks`,
        which is for `transact`.
        """
        ...

    def transact(self, table: str, write: Write, records: Sequence[RecordAction], permit: Permit) -> Outcomes:
        """One write, its checks and control records in one transaction; one outcome.

        ChecksLost where a check or a record's expectation failed, GuardLost where the write's own guard did (it wins).
        """
        ...

    def get_together(self, places: Sequence[tuple[str, Key]]) -> Sequence[Item | None]:
        """Items of any tables as they were at one moment (TransactGetItems); retried on a conflict.

        Raises ValueError for more than a hundred, or one item named twice.
        """
        ...

    def together(
        self,
        writes: Sequence[tuple[str, Write]],
        checks: Sequence[Check],
        records: Sequence[RecordAction],
        permit: Permit,
    ) -> Joint:
        """Guarded writes, of any tables, and checks and control records: all of it or nothing, up to a hundred.

        `permit` is asked immediately before the request is signed, and it is sent once. Raises LeaseLost, or what else
        ends the run; ValueError for two of one item, and for an Update with `checks` of its own.
        """
        ...


class Queries(Protocol):
    """The application's own questions of application items, index or not. Retried by the adapter; never a write."""

    def ask(self, question: Question, *, start: Key | None = None, limit: int | None = None) -> Page:
        """One page of a Query, after the key `start`; of `limit` items before the filter, at the most.

        Control records are among the items where the question's key reaches them. An index that is not there, or is
        still being built, is a ServiceError.
        """
        ...


# --- control records --------------------------------------------------------------------------------------------------

Json: TypeAlias = Any
"""str, int, bool, None, and lists and dicts of these."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a control record lives. `partition` is spread; `sort` orders within it. Both without the prefix."""

    partition: str
    sort: str


@dataclass(frozen=True, slots=True)
class Record:
    """A control record: plain values in `body`, whole application items in `items` (wire form, type-exact).

    `token` is the fencing token of the run that wrote it. `version` is the nonce of its last write.
    """

    address: Address
    token: int
    body: Mapping[str, Json]
    items: Mapping[str, Item] = field(default_factory=dict)
    version: str = ""


@dataclass(frozen=True, slots=True)
class Expect:
    """What a stored record must be for an action to happen. All that is given must hold."""

    absent: bool | None = None
    """True: no record there. False: one there. None: either (and the rest is asked only of one that is there)."""
    token: int | None = None
    """The stored token is exactly this."""
    most_token: int | None = None
    """The stored token is not above this: the fence."""
    version: str | None = None
    """The stored version is exactly this."""


@dataclass(frozen=True, slots=True)
class PutRecord:
    record: Record
    expect: Expect


@dataclass(frozen=True, slots=True)
class DeleteRecord:
    address: Address
    expect: Expect


@dataclass(frozen=True, slots=True)
class CheckRecord:
    address: Address
    expect: Expect


RecordAction: TypeAlias = PutRecord | DeleteRecord | CheckRecord


class Records(Protocol):
    """The control store: consistent, paged, conditional. Absent is absent; AccessDenied is an error."""

    def get(self, address: Address) -> Record | None: ...

    def query(self, partition: str, prefix: str = "") -> Iterator[Record]:
        """The records of a partition whose sort begins with `prefix`, in order of `sort`."""
        ...

    def write(self, *actions: RecordAction) -> None:
        """All or nothing; several are one transaction. Each PutRecord gets a fresh version.

        A lost answer is resolved by reading before this returns. Raises RecordConflict where an expectation failed.
        """
        ...


__all__ = [
    "Address", "BuildMetrics", "Busy", "Check", "CheckRecord", "Clock", "Consumed", "DeleteRecord", "Entropy", "Expect",
    "Items", "Joint", "Json", "LiveIndex", "LiveTable", "Metrics", "Outcomes", "Page", "Permit", "PutRecord", "Queries",
    "Record", "RecordAction", "Records", "Replica", "Tables",
]  # fmt: skip
