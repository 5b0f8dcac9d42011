"""How far a data step came, segment by segment; and the fence that keeps a frozen worker out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeAlias, TypeVar, cast, get_args

from migrator.control.body import Body, as_read, counts_body, damaged
from migrator.control.layout import (
    ATTEMPT_PREFIX,
    SEGMENT_PREFIX,
    attempt_at,
    checkpoint,
    checkpoint_head,
    checkpoints,
)
from migrator.control.lease import Lease
from migrator.core.events import Counts
from migrator.core.item import Key
from migrator.core.ports import Address, CheckRecord, Clock, DeleteRecord, Expect, PutRecord, Record, Records
from migrator.errors import LeaseLost, MigratorError, RecordConflict

T = TypeVar("T")
Stage: TypeAlias = Literal["before", "pass", "check", "undo"]
AnyStage: TypeAlias = Literal["before", "pass", "check", "undo", "export", "export-check"]
"""Those of every data step, and those of one that reads an export."""
EXPORT_STAGES: tuple[AnyStage, ...] = ("export", "export-check")

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
    stage: AnyStage = "pass"
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
        self._attempts: dict[Address, str] = {}
        """Of each segment that this worker attempts: the version of the record that says so."""

    def claim(
        self,
        revision: str,
        step: str,
        total: int,
        content_hash: str,
        table_id: str,
        *,
        stage: AnyStage = "pass",
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
        self._end_attempts(revision, step)
        claimed = self._raise_tokens(revision, step, head.total, stage)
        return Claim(claimed, resumed=True, changed=head.content_hash != content_hash)

    def restart(
        self, revision: str, step: str, total: int, content_hash: str, table_id: str, *, stage: AnyStage = "pass"
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
        put = self._put(checkpoint, Expect(absent=False, token=self._lease.token))
        attempt = self._attempt_check(checkpoint)
        try:
            self._lease.write(*([put] if attempt is None else [put, attempt]))
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
        attempt = self._attempt_check(checkpoint)
        if attempt is not None:
            # It was made while the segment was this run's, and a later run's claim deletes it.
            return attempt
        return CheckRecord(self._address(checkpoint), Expect(absent=False, token=self._lease.token))

    # --- several attempts at one segment, of which only the last may write ---

    def attempt(self, at: Checkpoint) -> tuple[Checkpoint, int]:
        """Make a segment that the run has claimed this worker's own: an earlier attempt, maybe alive, fails from here.

        Returns where it stands, and which attempt this is, from 1. Raises LeaseLost where another run has claimed it.
        """
        address = attempt_at(at.revision, at.step, at.segment)
        stored = self._records.get(address)
        epoch = 1 + (Body(stored).integer("epoch") if stored is not None else 0)
        mine = CheckRecord(self._address(at), Expect(absent=False, token=self._lease.token))
        record = Record(address, self._lease.token, {"epoch": epoch})
        try:
            self._lease.write(PutRecord(record, as_read(stored, self._lease.token)), mine)
        except RecordConflict as exc:
            raise self._not_as_left(at) from exc
        written = self._records.get(address)
        if written is None or Body(written).integer("epoch") != epoch:
            raise self._not_as_left(at)
        self._attempts[self._address(at)] = written.version
        return self.held(at), epoch

    def confirm_attempts(self) -> None:
        """Raises LeaseLost where a later attempt has taken one of this worker's segments over."""
        for address, version in self._attempts.items():
            stored = self._records.get(_attempt_of(address))
            if stored is None or stored.version != version:
                raise LeaseLost(
                    "segment-taken",
                    f"another attempt works on {address.partition} {address.sort}; this one sends nothing further",
                    hint="nothing: the other attempt goes on",
                )

    def _attempt_check(self, checkpoint: Checkpoint) -> CheckRecord | None:
        address = self._address(checkpoint)
        version = self._attempts.get(address)
        return None if version is None else CheckRecord(_attempt_of(address), Expect(absent=False, version=version))

    def _end_attempts(self, revision: str, step: str) -> None:
        """Of a run before: none of its workers may write by what it was given then."""
        stored = self._records.query(checkpoints(revision, step), ATTEMPT_PREFIX)
        fence = Expect(most_token=self._lease.token)
        for batch in _batches(record.address for record in stored):
            self._lease.beat_if_due()
            self._lease.write(*(DeleteRecord(address, fence) for address in batch))

    def standing(self, revision: str, step: str) -> Iterator[Checkpoint]:
        """Where the segments of a step stand, as they were saved last: for a person."""
        head = self._records.get(checkpoint_head(revision, step))
        total = _Head.of(head).total if head is not None else 0
        for record in self._records.query(checkpoints(revision, step), SEGMENT_PREFIX):
            number = int(record.address.sort.removeprefix(SEGMENT_PREFIX))
            yield self._of(revision, step, number, total, "pass", record)

    def clear(self, revision: str, step: str) -> None:
        """Delete the step's checkpoints. The head goes first: without it, no remains count as progress."""
        self._lease.write(DeleteRecord(checkpoint_head(revision, step), Expect(most_token=self._lease.token)))
        self._delete_segments(revision, step)

    # --- how ----------------------------------------------------------------------------------------------------------

    def _delete_segments(self, revision: str, step: str, beyond: int = 0) -> None:
        first = checkpoint(revision, step, beyond).sort
        addresses = [record.address for record in self._records.query(checkpoints(revision, step))]
        gone = [
            address
            for address in addresses
            if address.sort.startswith(ATTEMPT_PREFIX)
            or (address.sort.startswith(SEGMENT_PREFIX) and address.sort >= first)
        ]
        fence = Expect(most_token=self._lease.token)
        for batch in _batches(gone):
            self._lease.beat_if_due()
            self._lease.write(*(DeleteRecord(address, fence) for address in batch))

    def _begin(self, revision: str, step: str, head: _Head, stage: AnyStage) -> tuple[Checkpoint, ...]:
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

    def _raise_tokens(self, revision: str, step: str, total: int, stage: AnyStage) -> tuple[Checkpoint, ...]:
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

    def _raise_token(self, revision: str, step: str, number: int, total: int, stage: AnyStage) -> Checkpoint:
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

    def _of(
        self, revision: str, step: str, number: int, total: int, stage: AnyStage, record: Record | None
    ) -> Checkpoint:
        if record is None:
            return Checkpoint(revision, step, number, total, stage)
        body = Body(record)
        return Checkpoint(
            revision,
            step,
            number,
            total,
            stage=cast(AnyStage, body.choice("stage", get_args(AnyStage))),
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


def _attempt_of(address: Address) -> Address:
    """Of the address of a segment's checkpoint."""
    return Address(address.partition, address.sort.replace(SEGMENT_PREFIX, ATTEMPT_PREFIX, 1))


def _batches(values: Iterable[T]) -> Iterator[Sequence[T]]:
    left = iter(values)
    while batch := tuple(islice(left, _TOGETHER)):
        yield batch
