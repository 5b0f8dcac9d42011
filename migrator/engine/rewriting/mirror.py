"""The mirror: follows the streams of both sides and reconciles what they say has changed, for applications that cannot.

A record is a hint of which keys changed. So redelivery, another order and echoes of its own writes do no harm, and
nothing is stamped into items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from migrator.control.layout import is_control_key, phase
from migrator.control.mirrors import Mirrors, MirrorState, ShardState
from migrator.control.phases import PhaseRecord
from migrator.core.events import Counts, Remark
from migrator.core.ports import CheckRecord, Expect, RecordAction, Records
from migrator.core.rewrite.phases import rules
from migrator.core.rewrite.reconcile import Seen, Verdict, reconcile
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.streams import ChangeRecord, Shard, StreamInfo, Streams, Trimmed
from migrator.engine.rewriting.hints import jobs_of_changes
from migrator.engine.rewriting.pairs import Job
from migrator.engine.rewriting.passes import Rewriting
from migrator.errors import MigratorError

IDLE_SECONDS = 0.5
"""Between two rounds that found nothing."""
SHARDS_SECONDS = 10.0
"""How often the shards are listed anew; after the end of one, at once."""
STATE_SECONDS = 2.0
PROBE = "probe#"
"""What the rest of a probe's partition key begins with, after the prefix of control records."""


@dataclass(slots=True)
class Mirror:
    """One worker on the streams of a rewrite's tables, under a lock of its own."""

    rewriting: Rewriting
    records: Records
    streams: Streams
    mirrors: Mirrors
    worker: str
    prefix: str
    """Of control records: probes have it too."""
    _state: MirrorState = field(default_factory=MirrorState)
    _shards: dict[tuple[str, str], ShardState] = field(default_factory=dict)
    _positions: dict[tuple[str, str], str] = field(default_factory=dict)
    _listed: dict[str, tuple[float, Sequence[Shard]]] = field(default_factory=dict)
    _unquiet: dict[str, set[str]] = field(default_factory=dict)
    """Probe's table -> shards that were not yet read to their end since it was met."""
    _saved_at: float = -1e9
    counts: Counts = field(default_factory=Counts)

    def run(self) -> str:
        """Follow until the rewrite is over; what came of it. Raises Interrupted, LeaseLost and what ends a run."""
        work = self.rewriting.work
        revision, slot = work.revision, self.rewriting.slot
        self._state = replace(self.mirrors.state(revision, slot) or MirrorState(), worker=self.worker)
        self._shards = self.mirrors.shards(revision, slot)
        while True:
            work.heed()
            work.lease.beat_if_due()
            stored = self.records.get(phase(revision, slot))
            record = None if stored is None else PhaseRecord.of(stored)
            if stored is None or record is None or record.phase == "done":
                return "the rewrite is over" if record is not None else "there is no rewrite to mirror (any more)"
            read = self._round(record, stored.version)
            self._tell(record, is_due=not read)
            if not read:
                work.wait(IDLE_SECONDS, "the mirror waits for changes")

    # --- one round over the shards

    def _round(self, record: PhaseRecord, version: str) -> int:
        """Read every shard once; how many records there were."""
        read = 0
        for table in self.rewriting.rewrite.tables:
            info = self._stream(table)
            for shard in self._readable(table, info):
                read += self._read(table, info, shard, record, version)
        return read

    def _stream(self, table: str) -> StreamInfo:
        info = self.streams.stream(table)
        needs_images = not self.rewriting.rewrite.is_static
        if info is None or (needs_images and info.view not in ("NEW_AND_OLD_IMAGES", "OLD_IMAGE")):
            has = "no stream" if info is None else f"a stream of {info.view}"
            view = "NEW_AND_OLD_IMAGES"
            raise MigratorError(
                "mirror-stream",
                f"table {table} has {has}: a mirror needs to be told of its changes"
                + (", with the item as it was before" if needs_images else ""),
                hint=f'SetStream("{view}", table=…) in a revision of its own, or in the tool that manages the table',
                exit_code=2,
            )
        return info

    def _readable(self, table: str, info: StreamInfo) -> list[Shard]:
        """Shards that are not done, each after the end of its parent."""
        now = self.rewriting.work.clock.monotonic()
        listed = self._listed.get(table)
        if listed is None or now - listed[0] >= SHARDS_SECONDS:
            listed = (now, self.streams.shards(info.arn))
            self._listed[table] = listed
        there = {shard.id for shard in listed[1]}
        return [
            shard
            for shard in listed[1]
            if not self._at(table, shard.id).done and (shard.parent not in there or self._at(table, shard.parent).done)
        ]

    def _at(self, table: str, shard: str) -> ShardState:
        return self._shards.get((table, shard)) or ShardState(table, shard)

    def _read(self, table: str, info: StreamInfo, shard: Shard, record: PhaseRecord, version: str) -> int:
        place, known = (table, shard.id), self._at(table, shard.id)
        try:
            position = self._positions.get(place) or self.streams.position(info.arn, shard.id, known.sequence or None)
            page = self.streams.read(info.arn, position)
        except Trimmed as exc:
            # Its oldest record that is left is where it goes on; what was missed only a comparison can tell.
            self._state = replace(self._state, lost=record.generation)
            self.rewriting.work.report(
                Remark(f"{exc.message}: changes were missed until both sides are compared", "warning")
            )
            self._positions[place] = self.streams.position(info.arn, shard.id)
            return 1
        except MigratorError as exc:
            if exc.code != "stream-position-expired":
                raise
            self._positions.pop(place, None)
            return 1
        if not self._settle(table, page.records, record, version):
            return 1
        after = replace(known, sequence=page.records[-1].sequence if page.records else known.sequence)
        if page.position is None:
            after = replace(after, done=True)
            self._positions.pop(place, None)
            # Its children may be there, and not be listed yet.
            self._listed.pop(table, None)
        else:
            self._positions[place] = page.position
        if after != known:
            work = self.rewriting.work
            self.mirrors.save_shard(work.revision, self.rewriting.slot, after, work.lease)
            self._shards[place] = after
        self._note(table, shard.id, page.records, is_over=page.position is None)
        return len(page.records)

    def _settle(self, table: str, records: Sequence[ChangeRecord], record: PhaseRecord, version: str) -> bool:
        """Reconcile the pairs that the records concern. False where the phase changed: they are to be read again."""
        rewrite, work = self.rewriting.rewrite, self.rewriting.work
        asked = rules(record.phase, moves=rewrite.moves)
        if not asked.writes_twin or not records:
            return True
        own = [one for one in records if not is_control_key(one.key, partition_name(rewrite, table), self.prefix)]
        jobs = jobs_of_changes(rewrite, asked.authority, table, own)

        def decide(job: Job, seen: Seen) -> Verdict:
            return reconcile(job.route, job.authority, job.key, seen, job.hints, creates=asked.creates_twin)

        def check() -> RecordAction:
            # Nothing is mirrored by the rules of a phase that is not this one any more.
            return CheckRecord(phase(work.revision, self.rewriting.slot), Expect(absent=False, version=version))

        try:
            outcome = self.rewriting.pairs(check, decide).settle(jobs)
        except MigratorError as exc:
            if exc.code != "checkpoint-lost":
                raise
            return False
        self.counts += outcome.counts
        for failure in outcome.failures:
            work.report(Remark(f"not mirrored: {failure.code}: {failure.reason}", "warning"))
        return True

    # --- what it says of itself

    def _note(self, table: str, shard: str, records: Sequence[ChangeRecord], *, is_over: bool) -> None:
        """Remember probes, and which shards were read to their end since."""
        place = f"{table}\0{shard}"
        if not records or is_over:
            for left in self._unquiet.values():
                left.discard(place)
        name = partition_name(self.rewriting.rewrite, table)
        for one in records:
            text = str(one.key[name].get("S", ""))
            if not text.startswith(self.prefix + PROBE):
                continue
            nonce = text.removeprefix(self.prefix + PROBE)
            self._state = replace(self._state, probes={**self._state.probes, table: nonce})
            tables = self.rewriting.rewrite.tables
            self._unquiet[table] = {f"{each}\0{left.id}" for each in tables for left in self._all(each)}
        for probed, left in list(self._unquiet.items()):
            if not left:
                del self._unquiet[probed]
                quiet = {**self._state.quiet, probed: self._state.probes[probed]}
                self._state = replace(self._state, quiet=quiet)
                self._saved_at = -1e9

    def _all(self, table: str) -> list[Shard]:
        """Shards that are not read to their end, children that cannot be read yet included."""
        return [shard for shard in self.streams.shards(self._stream(table).arn) if not self._at(table, shard.id).done]

    def _tell(self, record: PhaseRecord, *, is_due: bool) -> None:
        work = self.rewriting.work
        now = work.clock.monotonic()
        if not is_due and now - self._saved_at < STATE_SECONDS:
            return
        if now - self._saved_at < STATE_SECONDS and self._state.generation == record.generation:
            return
        self._saved_at = now
        self._state = replace(
            self._state, generation=record.generation, at=self.rewriting.now(), mirrored=self.counts.written
        )
        self.mirrors.save_state(work.revision, self.rewriting.slot, self._state, work.lease)


def partition_name(rewrite: Rewrite, table: str) -> str:
    """The partition key of one of the rewrite's tables."""
    for route in rewrite.routes:
        for side in ("old", "new"):
            if route.table(side) == table:
                return route.names(side)[0]
    raise ValueError(f"{table} is no table of the rewrite")
