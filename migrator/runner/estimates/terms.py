"""On what terms a plan would run: the pace of each resource, the prices, and how long the run may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from migrator.config import Prices, RegionPrices
from migrator.config.read import is_loopback
from migrator.core.schema import Index
from migrator.runner.budgets import ON_DEMAND_WRITE, budgets, capacities_of
from migrator.runner.estimates.figures import Amount, Duration, PriceNote, Units
from migrator.runner.session import Session

CLIENT_READS = 10_000.0
"""Items a second that one process reads and decides on, about."""
CLIENT_WRITES = 1_000.0
"""Items a second that one process writes one by one, about."""
BUILD_SECONDS = 540.0
"""What an index build takes at the least on the service, even of an empty table: 8.5 to 16 minutes (facts §1.2)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Units a second of a resource, and what sets them."""

    rate: float
    why: str


@dataclass(frozen=True, slots=True)
class Terms:
    reads: Mapping[str, Pace]
    writes: Mapping[str, Pace]
    build_seconds: float
    prices: Prices
    region: str
    provisioned: frozenset[str]
    """Tables whose capacity is paid for anyway."""
    job_limit: float | None = None
    wait_timeout: float | None = None

    # --- time

    def write_pace(self, resource: str, index: Index) -> Pace:
        """What an index takes: as it stands; of one that is yet to be built, what its definition says."""
        return self.writes.get(resource) or built_pace(index)

    def build(self, units: Amount, index: Index) -> Duration:
        """The service's own build, which no budget of ours holds: it writes the entries, and takes minutes for none."""
        if units.value is None:
            return Duration(units, "the index build, of which nothing is known")
        pace = built_pace(index)
        writing = units.times(1 / pace.rate)
        if (writing.value or 0.0) < self.build_seconds:
            return Duration(Amount(self.build_seconds), "the service's index build, minutes even for no entry")
        return Duration(writing, pace.why)

    def passes(self, reads: list[Units], writes: list[Units], scanned: Amount, changed: Amount) -> Duration:
        """Reading and writing go on together: the slowest of them counts."""
        ways = [
            *((one.units.times(1 / pace.rate), pace.why) for one in reads if (pace := self.reads.get(one.resource))),
            *((one.units.times(1 / pace.rate), pace.why) for one in writes if (pace := self.writes.get(one.resource))),
            (scanned.times(1 / CLIENT_READS), "one process that reads"),
            (changed.times(1 / CLIENT_WRITES), "one process that writes"),
        ]
        seconds, why = max(ways, key=lambda way: way[0].value or 0.0)
        return Duration(seconds, why)

    # --- money

    @property
    def charges(self) -> RegionPrices:
        return self.prices.of(self.region)

    def requests(self, table: str, reads: Amount, writes: Amount) -> Amount | None:
        """On demand; None where capacity is provisioned, or an amount unknown."""
        if table in self.provisioned or reads.value is None or writes.value is None:
            return None
        charges = self.charges
        return Amount(
            charges.requests(reads.value, writes.value),
            charges.requests(reads.error, writes.error),
        )

    def storage(self, size: Amount) -> Amount | None:
        if size.value is None:
            return None
        return Amount(self.charges.storage(size.value), self.charges.storage(size.error))

    @property
    def note(self) -> PriceNote:
        prices, charges = self.prices, self.charges
        note = ""
        if charges.region != self.region:
            note = f"the file has no prices of {self.region or 'this Region'}: those of {charges.region} stand in"
        return PriceNote(prices.currency, prices.date, charges.region, prices.source, note)


def terms_of(session: Session, prices: Prices, job_limit: float | None = None) -> Terms:
    """The session's terms: its budgets, else what each table takes."""
    reads, writes = budgets(session)
    read_paces: dict[str, Pace] = {}
    write_paces: dict[str, Pace] = {}
    for live in session.live.values():
        mode = "provisioned capacity" if live.shape.provisioned else "what a new on-demand table takes at once"
        for resource, capacity in capacities_of(live).items():
            read_paces[resource] = Pace(capacity.read, mode)
            write_paces[resource] = Pace(capacity.write, mode)
    read_paces |= {resource: Pace(rate, "the read budget") for resource, rate in reads.items()}
    write_paces |= {resource: Pace(rate, "the write budget") for resource, rate in writes.items()}
    return Terms(
        read_paces,
        write_paces,
        # An emulator builds at once.
        0.0 if is_loopback(session.caller.endpoint) else BUILD_SECONDS,
        prices,
        session.caller.region,
        frozenset(live.name for live in session.live.values() if live.shape.billing_mode == "PROVISIONED"),
        job_limit,
        session.settings.limits.wait_timeout,
    )


def built_pace(index: Index) -> Pace:
    """What a new index takes at once."""
    if index.provisioned is not None:
        return Pace(index.provisioned.write, "provisioned capacity of the index")
    if index.on_demand_maximum is not None and index.on_demand_maximum.write > 0:
        return Pace(index.on_demand_maximum.write, "on-demand maximum of the index")
    if index.warm is not None:
        return Pace(index.warm.write, "warm throughput of the index")
    return Pace(ON_DEMAND_WRITE, "what a new on-demand index takes at once")


def share_of(part: Amount, whole: Amount) -> float | None:
    """0 to 1; None where one of them is not known, or there is nothing."""
    if part.value is None or not whole.value:
        return None
    return min(1.0, part.value / whole.value)
