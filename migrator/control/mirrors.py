"""How far a mirror has read each shard, and what it acknowledges: for those who wait for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from migrator.control.body import Body
from migrator.control.layout import mirror_partition
from migrator.control.lease import Lease
from migrator.core.ports import Address, DeleteRecord, Expect, Json, PutRecord, Record, Records

_SHARD = "shard#"
_MET = "met#"


@dataclass(frozen=True, slots=True)
class ShardState:
    """How far a shard was read: every record up to `sequence` is mirrored."""

    table: str
    shard: str
    stream: str
    """The stream's ARN: one that was disabled and enabled again is another, and has records of its own."""
    sequence: str = ""
    """"" for none yet."""
    done: bool = False
    """Closed, and read to its end."""


@dataclass(frozen=True, slots=True)
class MirrorState:
    """What a mirror says of itself."""

    worker: str = ""
    generation: int = 0
    """Of the phase that it follows."""
    at: str = ""
    """When it last said so: ISO 8601, UTC, by its clock."""
    lag_ms: int = 0
    """How old the last record was when it was read, of the shard that is furthest behind; 0 where it waits for more."""
    probes: Mapping[str, str] = field(default_factory=dict)
    """Table -> the newest probe that it met in that table's stream."""
    quiet: Mapping[str, str] = field(default_factory=dict)
    """Table -> the newest probe after which every shard of every stream was read to its end."""
    lost: int = 0
    """The newest generation in which it found records gone before they were read; 0 for never."""
    mirrored: int = 0
    """Twins written."""


class Mirrors:
    """The records of the mirrors of rewrites. What a mirror writes is fenced by the token of its lock."""

    def __init__(self, records: Records):
        self._records = records

    def state(self, revision: str, slot: str) -> MirrorState | None:
        record = self._records.get(_state(revision, slot))
        if record is None:
            return None
        body = Body(record)
        return MirrorState(
            body.text("worker", ""),
            body.integer("generation", 0),
            body.text("at", ""),
            body.integer("lag_ms", 0),
            {name: str(value) for name, value in body.mapping("probes").items()},
            {name: str(value) for name, value in body.mapping("quiet").items()},
            body.integer("lost", 0),
            body.integer("mirrored", 0),
        )

    def save_state(self, revision: str, slot: str, state: MirrorState, lease: Lease) -> None:
        """Raises LeaseLost where another worker has taken over."""
        body: dict[str, Json] = {
            "worker": state.worker,
            "generation": state.generation,
            "at": state.at,
            "lag_ms": state.lag_ms,
            "probes": dict(state.probes),
            "quiet": dict(state.quiet),
            "lost": state.lost,
            "mirrored": state.mirrored,
        }
        record = Record(_state(revision, slot), lease.token, body)
        lease.write(PutRecord(record, Expect(most_token=lease.token)))

    def shards(self, revision: str, slot: str) -> dict[tuple[str, str], ShardState]:
        """By table and shard."""
        found = {}
        for record in self._records.query(mirror_partition(revision, slot), _SHARD):
            body = Body(record)
            one = ShardState(
                body.text("table"),
                body.text("shard"),
                body.text("stream", ""),
                body.text("sequence", ""),
                body.flag("done", False),
            )
            found[one.table, one.shard] = one
        return found

    # --- functions: they hold no lock, and there are many of them at once

    def met(self, revision: str, slot: str, nonce: str) -> dict[str, int]:
        """Table -> the generation by whose rules a function was at work when it met the probe there."""
        found = {}
        for record in self._records.query(mirror_partition(revision, slot), f"{_MET}{nonce}#"):
            body = Body(record)
            found[body.text("table")] = body.integer("generation")
        return found

    def forget_met(self, revision: str, slot: str, nonce: str, tables: Iterable[str], lease: Lease) -> None:
        for table in tables:
            lease.write(DeleteRecord(met_at(revision, slot, nonce, table), Expect(most_token=lease.token)))

    # --- the worker's

    def save_shard(self, revision: str, slot: str, one: ShardState, lease: Lease) -> None:
        body: dict[str, Json] = {
            "table": one.table,
            "shard": one.shard,
            "stream": one.stream,
            "sequence": one.sequence,
            "done": one.done,
        }
        address = Address(mirror_partition(revision, slot), f"{_SHARD}{one.table}#{one.shard}")
        lease.write(PutRecord(Record(address, lease.token, body), Expect(most_token=lease.token)))


def met_at(revision: str, slot: str, nonce: str, table: str) -> Address:
    """Where a function says that it met a probe: a record for each, so that none writes over another's."""
    return Address(mirror_partition(revision, slot), f"{_MET}{nonce}#{table}")


def met_record(revision: str, slot: str, nonce: str, table: str, generation: int, at: str) -> Record:
    return Record(met_at(revision, slot, nonce, table), 0, {"table": table, "generation": generation, "at": at})


def _state(revision: str, slot: str) -> Address:
    return Address(mirror_partition(revision, slot), "state")
