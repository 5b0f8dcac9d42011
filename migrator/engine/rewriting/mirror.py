"""The mirror: follows the streams of both sides and reconciles what they say has changed, for applications that cannot.

A record is a hint of which keys changed. So redelivery, another order and echoes of its own writes do no harm, and
nothing is stamped into items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from migrator.control.layout import is_control_key, phase
from migrator.control.mirrors import Mirrors, MirrorState
from migrator.control.phases import PhaseRecord
from migrator.core.events import Counts, Remark
from migrator.core.ports import CheckRecord, Expect, RecordAction, Records
from migrator.core.rewrite.hints import Job, jobs_of_changes, partition_name, probe_of, view_suffices
from migrator.core.rewrite.phases import rules
from migrator.core.rewrite.reconcile import Seen, Verdict, reconcile
from migrator.core.streams import ChangeRecord, Shard, StreamInfo, Streams, Trimmed
from migrator.engine.rewriting.passes import Rewriting
from migrator.engine.rewriting.shards import Lineage, Unread
from migrator.errors import AnswerLost, MigratorError, Throttled

IDLE_SECONDS = 0.5
"""Between two rounds that found nothing."""
STATE_SECONDS = 2.0
RETAINED_SECONDS = 23 * 3600.0
"""A stream keeps a day: whoever did not read for almost as long may have missed some of it."""


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
    counts: Counts = field(default_factory=Counts)
    state: MirrorState = field(default_factory=MirrorState)
    _lineages: dict[str, Lineage] = field(default_factory=dict)
    _unread: dict[str, Unread] = field(default_factory=dict)
    """Probe's table -> what was not yet read to its end since it was met."""
    _lags: dict[tuple[str, str], float] = field(default_factory=dict)
    _saved_at: float = -1e9
    _read_at: datetime | None = None

    def run(self) -> str:
        """Follow until the rewrite is over; what came of it. Raises Interrupted, LeaseLost and what ends a run."""
        self.begin()
        while True:
            read = self.step()
            if isinstance(read, str):
                return read
            if not read:
                self.rewriting.work.wait(IDLE_SECONDS, "the mirror waits for changes")

    def begin(self) -> None:
        """Go on where the last worker was."""
        work, slot = self.rewriting.work, self.rewriting.slot
        self.state = replace(self.mirrors.state(work.revision, slot) or MirrorState(), worker=self.worker)
        self._lineages = {table: Lineage(table, self.streams) for table in self.rewriting.rewrite.tables}
        for (table, shard), one in self.mirrors.shards(work.revision, slot).items():
            if table in self._lineages:
                self._lineages[table].states[shard] = one
        if self.state.at:
            self._read_at = datetime.fromisoformat(self.state.at)

    def step(self) -> int | str:
        """One look at every shard: how many records there were, or that the rewrite is over."""
        work, slot = self.rewriting.work, self.rewriting.slot
        work.stop.raise_if_asked()
        work.lease.beat_if_due()
        stored = self.records.get(phase(work.revision, slot))
        record = None if stored is None else PhaseRecord.of(stored)
        if stored is None or record is None or record.phase == "done":
            return "the rewrite is over" if record is not None else "there is no rewrite to mirror (any more)"
        self._look_at_the_clock(record)
        read = 0
        for lineage in self._lineages.values():
            read += self._round(lineage, record, stored.version)
        self._tell(record, is_due=not read)
        return read

    # --- one round over the shards of a table

    def _round(self, lineage: Lineage, record: PhaseRecord, version: str) -> int:
        info = self._stream(lineage.table)
        shards = lineage.readable(info, self.rewriting.work.clock.monotonic())
        missed = lineage.missed()
        if missed:
            self._lose(record, f"shards of {lineage.table} are gone before they were read: {', '.join(missed)}")
        for unread in self._unread.values():
            unread.listed(lineage)
        return sum(self._read(lineage, shard, record, version) for shard in shards)

    def _stream(self, table: str) -> StreamInfo:
        info = self.streams.stream(table)
        if info is None or not view_suffices(self.rewriting.rewrite, info.view):
            needs_images = not view_suffices(self.rewriting.rewrite, "KEYS_ONLY")
            has = "no stream" if info is None else f"a stream of {info.view}"
            raise MigratorError(
                "mirror-stream",
                f"table {table} has {has}: a mirror needs to be told of its changes"
                + (", with the item as it was before" if needs_images else ""),
                hint='SetStream("NEW_AND_OLD_IMAGES", table=…) in a revision of its own, or in the tool that manages '
                "the table",
                exit_code=2,
            )
        return info

    def _read(self, lineage: Lineage, shard: Shard, record: PhaseRecord, version: str) -> int:
        known = lineage.at(shard.id)
        try:
            position = lineage.positions.get(shard.id) or self.streams.position(
                lineage.info.arn, shard.id, known.sequence or None
            )
            page = self.streams.read(lineage.info.arn, position)
        except Trimmed as exc:
            # Its oldest record that is left is where it goes on; what was missed only a comparison can tell.
            self._lose(record, exc.message)
            lineage.positions[shard.id] = self.streams.position(lineage.info.arn, shard.id)
            return 1
        except MigratorError as exc:
            if exc.code != "stream-position-expired":
                raise
            lineage.positions.pop(shard.id, None)
            return 1
        if not self._settle(lineage.table, page.records, record, version):
            return 1
        after = replace(known, sequence=page.records[-1].sequence) if page.records else known
        if page.position is None:
            after = replace(after, done=True)
            lineage.positions.pop(shard.id, None)
            # Its children may be there, and not be listed yet.
            lineage.list_again()
        else:
            lineage.positions[shard.id] = page.position
        if after != lineage.states.get(shard.id):
            work = self.rewriting.work
            self.mirrors.save_shard(work.revision, self.rewriting.slot, after, work.lease)
            lineage.states[shard.id] = after
        self._note(lineage, shard.id, page.records)
        return len(page.records)

    def _settle(self, table: str, records: Sequence[ChangeRecord], record: PhaseRecord, version: str) -> bool:
        """Reconcile the pairs that the records concern. False where they are to be read again: the phase changed, or
        the service refused for too long."""
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
        except (Throttled, AnswerLost) as exc:
            # A mirror that gives up leaves twins behind: it is at it again, for as long as it takes.
            work.report(Remark(f"changes of {table} are not mirrored yet: {exc.message}", "warning"))
            return False
        except MigratorError as exc:
            if exc.code != "checkpoint-lost":
                raise
            return False
        self.counts += outcome.counts
        for failure in outcome.failures:
            work.report(Remark(f"not mirrored: {failure.code}: {failure.reason}", "warning"))
        return True

    # --- what was missed

    def _look_at_the_clock(self, record: PhaseRecord) -> None:
        now = self.rewriting.work.clock.now()
        before, self._read_at = self._read_at, now
        if before is not None and (now - before).total_seconds() > RETAINED_SECONDS:
            self._lose(record, f"no mirror has read the streams since {before.isoformat(timespec='seconds')}")

    def _lose(self, record: PhaseRecord, what: str) -> None:
        """Said, and recorded at once: before the records that follow are read, and nothing tells any more."""
        self.state = replace(self.state, lost=record.generation)
        self.rewriting.work.report(Remark(f"{what}: changes were missed until both sides are compared", "warning"))
        self._save()

    # --- what it says of itself

    def _note(self, lineage: Lineage, shard: str, records: Sequence[ChangeRecord]) -> None:
        """Remember how far behind it is, probes, and which shards were read to their end since."""
        table = lineage.table
        self._lags.pop((table, shard), None)
        if records:
            age = self.rewriting.work.clock.now().timestamp() - records[-1].at
            self._lags[table, shard] = max(0.0, age)
        for unread in self._unread.values():
            if not lineage.at(shard).done:
                unread.page(table, shard, is_empty=not records)
        name = partition_name(self.rewriting.rewrite, table)
        for nonce in filter(None, (probe_of(one, name, self.prefix) for one in records)):
            self.state = replace(self.state, probes={**self.state.probes, table: nonce})
            for each in self._lineages.values():
                each.list_again()
                each.readable(self._stream(each.table), self.rewriting.work.clock.monotonic())
            self._unread[table] = Unread(
                {(each.table, left): 0 for each in self._lineages.values() for left in each.open()}
            )

    def _quiet(self) -> None:
        for probed in [probed for probed, unread in self._unread.items() if not unread.left]:
            del self._unread[probed]
            self.state = replace(self.state, quiet={**self.state.quiet, probed: self.state.probes[probed]})
            self._saved_at = -1e9

    def _tell(self, record: PhaseRecord, *, is_due: bool) -> None:
        self._quiet()
        since = self.rewriting.work.clock.monotonic() - self._saved_at
        if since < STATE_SECONDS and (not is_due or self.state.generation == record.generation):
            return
        self._save(generation=record.generation)

    def _save(self, *, generation: int | None = None) -> None:
        """`generation` is acknowledged: everything from here on is read by its rules."""
        work = self.rewriting.work
        self._saved_at = work.clock.monotonic()
        self.state = replace(
            self.state,
            generation=self.state.generation if generation is None else generation,
            at=self.rewriting.now(),
            mirrored=self.counts.written,
            lag_ms=round(1000 * max(self._lags.values(), default=0.0)),
        )
        self.mirrors.save_state(work.revision, self.rewriting.slot, self.state, work.lease)
