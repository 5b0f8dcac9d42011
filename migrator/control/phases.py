"""The phase records: where each rewrite stands, for the tool and for every instance of the application.

`docs/phase-record.md` is their language-neutral format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from migrator.control.body import Body
from migrator.control.layout import phase, phase_partition
from migrator.control.lease import Lease
from migrator.core.ports import DeleteRecord, Expect, Json, PutRecord, Record, Records
from migrator.core.rewrite.phases import PHASES, Phase, are_adjacent
from migrator.errors import MigratorError

FORMAT = 1
READER_LEASE_MS = 60_000
"""How long an instance may rely on what it read of the phase, unless the record says otherwise."""
ATTEMPT_MS = 10_000
"""How long a request that an instance has begun may still take effect: its time-out for one attempt."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A clean comparison: what it was of. Any change of phase voids it."""

    generation: int
    at: str
    """ISO 8601, UTC."""
    pairs: int


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """Where a rewrite stands. `generation` rises with every change of phase, back and forth."""

    revision: str
    slot: str
    phase: Phase
    generation: int
    since: str
    """ISO 8601, UTC, for people."""
    waited: int = 0
    """The generation that every instance was given the time to hear of."""
    lease_ms: int = READER_LEASE_MS
    attempt_ms: int = ATTEMPT_MS
    rewrite: Mapping[str, Json] = field(default_factory=dict)
    """The rewrite in its language-neutral form."""
    verified: Verified | None = None
    strays: int = 0
    """One-sided writes that were found in this generation."""
    unknown: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """Whether every instance has had the time to hear of the phase."""
        return self.waited == self.generation

    @property
    def is_verified(self) -> bool:
        return self.verified is not None and self.verified.generation == self.generation

    def entering(self, wanted: Phase, now: str, *, moves: bool = True) -> PhaseRecord:
        """The record of the next phase. Raises `phase-skipped` for one that is not adjacent."""
        if not are_adjacent(self.phase, wanted, moves=moves):
            raise MigratorError(
                "phase-skipped", f"from {self.phase} to {wanted} is more than one phase: see `migrator status`"
            )
        return replace(self, phase=wanted, generation=self.generation + 1, since=now, verified=None, strays=0)

    @property
    def wait_seconds(self) -> float:
        """How long a change of phase takes to be known to every instance, its requests under way included."""
        return (self.lease_ms + self.attempt_ms) / 1000

    @staticmethod
    def of(record: Record) -> PhaseRecord:
        """Raises `newer-record`, `damaged-record`."""
        body = Body(record)
        version = body.integer("format", FORMAT)
        if version > FORMAT:
            raise MigratorError(
                "newer-record",
                f"the phase record of {record.address.partition} is of format {version}, by a later version",
                hint="upgrade this package to at least that version",
            )
        verified = body.mapping("verified")
        return PhaseRecord(
            revision=body.text("revision"),
            slot=body.text("slot"),
            phase=cast(Phase, body.choice("phase", PHASES)),
            generation=body.integer("generation"),
            since=body.text("since", ""),
            waited=body.integer("waited", 0),
            lease_ms=body.integer("lease_ms", READER_LEASE_MS),
            attempt_ms=body.integer("attempt_ms", ATTEMPT_MS),
            rewrite=body.mapping("rewrite"),
            verified=Verified(int(verified["generation"]), str(verified["at"]), int(verified["pairs"]))
            if {"generation", "at", "pairs"} <= verified.keys()
            else None,
            strays=body.integer("strays", 0),
            unknown={name: value for name, value in record.body.items() if name not in _KNOWN},
        )

    def body(self) -> dict[str, Json]:
        """As plain values."""
        verified = self.verified
        return {
            **self.unknown,
            "format": FORMAT,
            "revision": self.revision,
            "slot": self.slot,
            "phase": self.phase,
            "generation": self.generation,
            "since": self.since,
            "waited": self.waited,
            "lease_ms": self.lease_ms,
            "attempt_ms": self.attempt_ms,
            "rewrite": dict(self.rewrite),
            "verified": None
            if verified is None
            else {"generation": verified.generation, "at": verified.at, "pairs": verified.pairs},
            "strays": self.strays,
        }


_KNOWN = frozenset(PhaseRecord("", "", "expand", 0, "").body())


@dataclass(frozen=True, slots=True)
class Instance:
    """A running instance of the application, as it last reported itself: what it knows of the phase."""

    name: str
    generation: int
    phase: str
    seen_at: str
    """ISO 8601, UTC, by the instance's clock."""


class Phases:
    """The phase records, and the instances that acknowledged them. Each write checks that the lock is still held."""

    def __init__(self, records: Records):
        self._records = records

    def get(self, revision: str, slot: str) -> PhaseRecord | None:
        record = self._records.get(phase(revision, slot))
        return None if record is None else PhaseRecord.of(record)

    def save(self, one: PhaseRecord, lease: Lease) -> None:
        """Raises LeaseLost where the lock is no longer this run's."""
        record = Record(phase(one.revision, one.slot), lease.token, one.body())
        lease.write(PutRecord(record, Expect(most_token=lease.token)), lease.held_check())

    def remove(self, revision: str, slot: str, lease: Lease) -> None:
        lease.write(DeleteRecord(phase(revision, slot), Expect(most_token=lease.token)), lease.held_check())

    def instances(self, revision: str, slot: str) -> Iterator[Instance]:
        """Those that ever reported, oldest records included."""
        for record in self._records.query(phase_partition(revision, slot), INSTANCE_PREFIX):
            body = Body(record)
            yield Instance(
                body.text("name", ""), body.integer("generation", 0), body.text("phase", ""), body.text("seen_at", "")
            )


INSTANCE_PREFIX = "instance#"
