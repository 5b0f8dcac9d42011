"""How far a data step came, segment by segment; and the fence that keeps a frozen worker out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeAlias, TypeVar, cast, get_args

from migrator.control.body import Body, as_read, counts_body, damaged
from migrator.control.layout import SEGMENT_PREFIX, checkpoint, checkpoint_head, checkpoints
from migrator.control.lease import Lease
from migrator.core.events import Counts
from migrator.core.item import Key
from migrator.core.ports import Address, CheckRecord, Clock, DeleteRecord, Expect, PutRecord, Record, Records
from migrator.errors import MigratorError, RecordConflict

T = TypeVar("T")
Stage: TypeAlias = Literal["before", "pass", "check", "undo"]

_TOGETHER = 25
"""Records claimed in one transaction."""

_TRIES = 5
"""Of a claim that finds its record saved between reading and writing."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a segment stands: every item before `next` is confirmed, unchanged, gone or recorded as failed."""

    revision: str
    step: str
    segment: int
    total: int
    stage: Stage = "pass"
    next: Key | None = None
    """The start of the next page; None at the beginning, and when `done`."""
    done: bool = False
    counts: Counts = field(default_factory=Counts)


@dataclass(frozen=True, slots=True)
class Claim:
    """The segments of a step, now this run's own.

    `changed`: they were saved for another content of the step. An idempotent step starts again with `restart`; a `once`
    step is refused.
    """

    checkpoints: tuple[Checkpoint, ...]
    resumed: bool
    changed: bool


@dataclass(frozen=True, slots=True)
class _Head:
    total: int
    content_hash: str
    table_id: str

    @staticmethod
    def of(record: Record) -> _Head:
        body = Body(record)
        head = _Head(body.integer("total"), body.text("content_hash"), body.text("table_id"))
        if head.total < 1:
            raise damaged(record.address, f"total is {head.total}")
        return head


class Checkpoints:
    """Checkpoints under one lease: each is written only while no later holder has claimed it."""

    def __init__(self, records: Records, clock: Clock, lease: Lease):
        self._records = records
        self._clock = clock
        self._lease = lease

    def claim(
        self,
        revision: str,
        step: str,
        total: int,
        content_hash: str,
        table_id: str,
        *,
        stage: Stage = "pass",
    ) -> Claim:
        """Make the step's segments this run's own, before it reads any data: an earlier holder's writes fail from here.

        Segments of an unfinished run are taken as they are, with the number of segments they had; fresh ones begin in
        `stage`. Raises `restored-table` where they were saved for another table.
        """
        stored = self._records.get(checkpoint_head(revision, step))
        if stored is None:
            return Claim(self._begin(revision, step, _Head(total, content_hash, table_id), stage), False, False)
        head = _Head.of(stored)
        if head.table_id != table_id:
            raise MigratorError(
                "restored-table",
                f"the checkpoints of {revision} step {step} were saved for TableId {head.table_id}, not {table_id}",
                hint="if the history holds for the table that stands there now: `migrator repair --restored`",
            )
        self._put_head(revision, step, head)
        claimed = self._raise_tokens(revision, step, head.total, stage)
        return Claim(claimed, resumed=True, changed=head.content_hash != content_hash)

    def restart(
        self, revision: str, step: str, total: int, content_hash: str, table_id: str, *, stage: Stage = "pass"
    ) -> Claim:
        """Forget what was saved and begin the step again."""
        self.clear(revision, step)
        return Claim(self._begin(revision, step, _Head(total, content_hash, table_id), stage), False, False)

    def held(self, at: Checkpoint) -> Checkpoint:
        """Where a segment that this run has claimed stands, read anew. Raises LeaseLost where another claimed it."""
        stored = self._records.get(self._address(at))
        if stored is None or stored.token != self._lease.token:
            self._lease.confirm()
            raise self._not_as_left(at)
        return self._of(at.revision, at.step, at.segment, at.total, at.stage, stored)

    def save(self, checkpoint: Checkpoint) -> None:
        """Raises LeaseLost where another run has claimed the segment."""
        try:
            self._lease.write(self._put(checkpoint, Expect(absent=False, token=self._lease.token)))
        except RecordConflict as exc:
            raise self._not_as_left(checkpoint) from exc

    @staticmethod
    def _not_as_left(checkpoint: Checkpoint) -> MigratorError:
        return MigratorError(
            "checkpoint-lost",
            f"the checkpoint of segment {checkpoint.segment} of {checkpoint.revision} step {checkpoint.step} "
            "is not as this run left it",
            hint="run the same command again: it claims the segments anew",
        )

    def segment_check(self, checkpoint: Checkpoint) -> CheckRecord:
        """For a data write's transaction: the segment is still this run's."""
        address = self._address(checkpoint)
        return CheckRecord(address, Expect(absent=False, token=self._lease.token))

    def clear(self, revision: str, step: str) -> None:
        """Delete the step's checkpoints. The head goes first: without it, no remains count as progress."""
        self._lease.write(DeleteRecord(checkpoint_head(revision, step), Expect(most_token=self._lease.token)))
        self._delete_segments(revision, step)

    # --- how ----------------------------------------------------------------------------------------------------------

    def _delete_segments(self, revision: str, step: str, beyond: int = 0) -> None:
        first = checkpoint(revision, step, beyond).sort
        stored = self._records.query(checkpoints(revision, step), SEGMENT_PREFIX)
        fence = Expect(most_token=self._lease.token)
        for batch in _batches(record.address for record in stored if record.address.sort >= first):
            self._lease.beat_if_due()
            self._lease.write(*(DeleteRecord(address, fence) for address in batch))

    def _begin(self, revision: str, step: str, head: _Head, stage: Stage) -> tuple[Checkpoint, ...]:
        # Segments first: a head says that all of them are there. None is left over whose token a frozen worker knows.
        self._delete_segments(revision, step, beyond=head.total)
        fresh = tuple(Checkpoint(revision, step, segment, head.total, stage) for segment in range(head.total))
        for batch in _batches(fresh):
            self._lease.beat_if_due()
            puts = (self._put(one, Expect(most_token=self._lease.token)) for one in batch)
            # What is not there carries no token that could hold back a frozen worker's write: the lock itself does.
            self._lease.write(*puts, self._lease.held_check())
        self._put_head(revision, step, head)
        return fresh

    def _put_head(self, revision: str, step: str, head: _Head) -> None:
        body = {"total": head.total, "content_hash": head.content_hash, "table_id": head.table_id}
        record = Record(checkpoint_head(revision, step), self._lease.token, body)
        self._lease.write(PutRecord(record, Expect(most_token=self._lease.token)), self._lease.held_check())

    def _raise_tokens(self, revision: str, step: str, total: int, stage: Stage) -> tuple[Checkpoint, ...]:
        claimed: dict[int, Checkpoint] = {}
        stored = {
            record.address.sort: record for record in self._records.query(checkpoints(revision, step), SEGMENT_PREFIX)
        }
        for batch in _batches(range(total)):
            self._lease.beat_if_due()
            seen = [(number, stored.get(checkpoint(revision, step, number).sort)) for number in batch]
            read = {number: self._of(revision, step, number, total, stage, record) for number, record in seen}
            try:
                self._lease.write(
                    *(self._put(read[number], as_read(record, self._lease.token)) for number, record in seen),
                    self._lease.held_check(),
                )
            except RecordConflict:
                # The earlier holder saved meanwhile, or our own lost answer stands there: one by one, as it is now.
                read = {number: self._raise_token(revision, step, number, total, stage) for number in batch}
            claimed.update(read)
        return tuple(claimed[number] for number in range(total))

    def _raise_token(self, revision: str, step: str, number: int, total: int, stage: Stage) -> Checkpoint:
        for left in reversed(range(_TRIES)):
            stored = self._records.get(checkpoint(revision, step, number))
            found = self._of(revision, step, number, total, stage, stored)
            if stored is not None and stored.token == self._lease.token:
                return found
            try:
                self._lease.write(self._put(found, as_read(stored, self._lease.token)), self._lease.held_check())
            except RecordConflict:
                if not left:
                    raise
            else:
                return found
        raise AssertionError("unreachable")

    def _of(self, revision: str, step: str, number: int, total: int, stage: Stage, record: Record | None) -> Checkpoint:
        if record is None:
            return Checkpoint(revision, step, number, total, stage)
        body = Body(record)
        return Checkpoint(
            revision,
            step,
            number,
            total,
            stage=cast(Stage, body.choice("stage", get_args(Stage))),
            next=body.item("next") if body.flag("has_next") else None,
            done=body.flag("done"),
            counts=body.counts(),
        )

    def _put(self, one: Checkpoint, expect: Expect) -> PutRecord:
        body = {
            "stage": one.stage,
            "done": one.done,
            "has_next": one.next is not None,
            "counts": counts_body(one.counts),
            "saved_at": self._clock.now().isoformat(timespec="seconds"),
        }
        items = {} if one.next is None else {"next": one.next}
        return PutRecord(Record(self._address(one), self._lease.token, body, items), expect)

    @staticmethod
    def _address(one: Checkpoint) -> Address:
        return checkpoint(one.revision, one.step, one.segment)


def _batches(values: Iterable[T]) -> Iterator[Sequence[T]]:
    left = iter(values)
    while batch := tuple(islice(left, _TOGETHER)):
        yield batch
