"""What an estimate says, as values. Every figure is approximate; `Amount.error` says how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with the half-width of its 95 % interval.

    `error` 0: counted, not sampled. `value` None: not known.
    """

    value: float | None
    error: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        if self.value is None or other.value is None:
            return UNKNOWN
        # Of one sample: what is off in one is off in the other, so errors add up.
        return Amount(self.value + other.value, self.error + other.error)

    def times(self, factor: float) -> Amount:
        return Amount(None if self.value is None else self.value * factor, self.error * factor)


UNKNOWN = Amount(None)
NOTHING = Amount(0.0)


def total(amounts: list[Amount]) -> Amount:
    """Their sum; unknown where one of them is."""
    found = NOTHING
    for amount in amounts:
        found += amount
    return found


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """Items by what will come of them."""

    scanned: Amount = NOTHING
    matched: Amount = NOTHING
    """Selected by `where`: the sum of those below."""
    changed: Amount = NOTHING
    unchanged: Amount = NOTHING
    skipped: Amount = NOTHING
    failed: Amount = NOTHING


@dataclass(frozen=True, slots=True)
class Problem:
    """Items in the way, by reason. `seen` are those that were really read."""

    code: str
    seen: int
    items: Amount
    key: str
    """Of one that was read."""
    reason: str
    attribute: str = ""
    """Of an index key: which attribute holds the value."""


@dataclass(frozen=True, slots=True)
class Units:
    """Capacity units of a table, or of `table/index`."""

    resource: str
    units: Amount
    amplification: float | None = None
    """Of an index: its units for each unit of the table, in this step."""


@dataclass(frozen=True, slots=True)
class TopKey:
    key: str
    share: float
    """Of the units of all keys; 0 to 1."""


@dataclass(frozen=True, slots=True)
class Spread:
    """About so many keys have from `least` to `most` entries."""

    least: int
    most: int
    keys: int


@dataclass(frozen=True, slots=True)
class KeySpread:
    """How entries spread over the partition key of an index, among the items that were read."""

    index: str
    attributes: tuple[str, ...]
    entries: int
    distinct: int
    hottest_share: float
    top: tuple[TopKey, ...]
    histogram: tuple[Spread, ...]
    rate: float
    """Write units a second that the index is held to."""
    hottest_rate: float
    """Of these, what goes to the hottest key."""
    is_hot: bool
    """Whether one key would get more than a partition takes (1,000 write units a second)."""
    safe_rate: float
    """Up to this rate of the whole index it would not."""
    is_exact: bool


@dataclass(frozen=True, slots=True)
class IndexForecast:
    """An index after its build."""

    name: str
    entries: Amount
    size_bytes: Amount
    """Of the entries, with what storage adds to each."""
    sparse: Amount
    """Items that lack a key attribute and stay out, which is no fault."""
    unindexable: Amount
    problems: tuple[Problem, ...]
    units_per_write: float | None
    """What a write that changes an entry costs on top of the table, on average; twice that where its key changes."""
    share_of_items: float | None
    """How much of the table is in it; 0 to 1."""
    constraints: tuple[str, ...]
    """What writers will no longer be allowed to store once it exists, an attribute each."""


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds at the given pace."""

    seconds: Amount
    bound_by: str
    """What it waits for: a budget, a capacity, the client, the service's index build."""


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """Units of this tool's own records: journals and the checks that fence them, history, checkpoints, the lock."""

    reads: Amount = NOTHING
    writes: Amount = NOTHING

    def __add__(self, other: Bookkeeping) -> Bookkeeping:
        return Bookkeeping(self.reads + other.reads, self.writes + other.writes)


@dataclass(frozen=True, slots=True)
class StepEstimate:
    """Of one step; all figures are approximate."""

    items: ItemCounts | None = None
    reads: tuple[Units, ...] = ()
    writes: tuple[Units, ...] = ()
    bookkeeping: Bookkeeping = Bookkeeping()
    failures: tuple[Problem, ...] = ()
    index: IndexForecast | None = None
    keys: tuple[KeySpread, ...] = ()
    stream_records: Amount | None = None
    """None: the table has no stream."""
    duration: Duration | None = None
    cost: Amount | None = None
    """None: no price, or capacity that is paid for anyway."""
    storage_per_month: Amount | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PriceNote:
    """Which prices were used."""

    currency: str
    date: str
    region: str
    """Whose prices they are; another than the table's where the file has none for that."""
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """What the run may take, and whether it will not be enough."""

    seconds: float
    source: str
    """`--job-limit` or `wait_timeout`."""
    needed: Amount
    exceeded: bool
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Of the whole plan."""

    kind: Literal["full", "sampled"]
    looked_at: int
    """Items that were read."""
    of_items: int | None
    """Of so many, as far as that is known."""
    read_units: float
    """What this look itself consumed."""
    reads: tuple[Units, ...] = ()
    writes: tuple[Units, ...] = ()
    bookkeeping: Bookkeeping = Bookkeeping()
    """Of all steps, of each revision and of the run itself: it does not grow with the table but for journals."""
    duration: Amount = NOTHING
    limit: TimeLimit | None = None
    cost: Amount | None = None
    storage_per_month: Amount | None = None
    prices: PriceNote | None = None
    stream_records: Amount | None = None
    unknown: tuple[str, ...] = field(default=())
