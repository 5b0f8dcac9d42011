"""Items that a step could not change: kept with their reason until a retry succeeds or an operator skips them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from migrator.control.body import Body, as_read
from migrator.control.layout import by_revision, failure, failure_partitions, failures_head
from migrator.control.lease import Lease
from migrator.core.item import Key, key_text
from migrator.core.ports import Clock, DeleteRecord, Expect, PutRecord, Record, Records
from migrator.errors import MigratorError, RecordConflict

_TRIES = 5
"""Of a change that finds its record changed between reading and writing."""


@dataclass(frozen=True, slots=True)
class FailedItemRecord:
    """One failed item. `skipped_because` is the operator's reason, "" while it is pending."""

    revision: str
    step: str
    key: Key
    code: str
    reason: str
    attempts: int = 1
    at: str = ""
    """Of the last attempt, ISO 8601, for people."""
    skipped_because: str = ""

    @staticmethod
    def of(record: Record) -> FailedItemRecord:
        body = Body(record)
        return FailedItemRecord(
            revision=body.text("revision"),
            step=body.text("step"),
            key=body.item("key"),
            code=body.text("code"),
            reason=body.text("reason"),
            attempts=body.integer("attempts", 1),
            at=body.text("at", ""),
            skipped_because=body.text("skipped_because", ""),
        )

    def put(self, token: int, expect: Expect) -> PutRecord:
        body = {
            "revision": self.revision,
            "step": self.step,
            "code": self.code,
            "reason": self.reason,
            "attempts": self.attempts,
            "at": self.at,
            "skipped_because": self.skipped_because,
        }
        address = failure(self.revision, self.step, self.key)
        return PutRecord(Record(address, token, body, {"key": self.key}), expect)


class Failures:
    """The failed items of all revisions. A revision that never had one costs one read to know so."""

    def __init__(self, records: Records, clock: Clock):
        self._records = records
        self._clock = clock
        self._headed: set[str] = set()

    def all(self, revision: str, step: str | None = None) -> Iterator[FailedItemRecord]:
        """Failed items, skipped ones included, in no order that means anything."""
        if self._records.get(failures_head(revision)) is None:
            return
        prefix = by_revision(revision, step)
        for partition in failure_partitions():
            yield from map(FailedItemRecord.of, self._records.query(partition, prefix))

    def pending(self, revision: str, step: str | None = None) -> Iterator[FailedItemRecord]:
        """Failed items that nobody skipped: while there is one, the revision is incomplete."""
        return (failed for failed in self.all(revision, step) if not failed.skipped_because)

    def count(self, revision: str, step: str | None = None) -> int:
        """How many are pending."""
        return sum(1 for _ in self.pending(revision, step))

    def get(self, revision: str, step: str, key: Key) -> FailedItemRecord | None:
        stored = self._records.get(failure(revision, step, key))
        return None if stored is None else FailedItemRecord.of(stored)

    def record(self, revision: str, step: str, key: Key, code: str, reason: str, lease: Lease) -> FailedItemRecord:
        """Keep a failed attempt, durably, before the page it stands on is checkpointed. Skipped items stay skipped."""
        self._put_head(revision, lease)
        at = self._clock.now().isoformat(timespec="seconds")
        new = FailedItemRecord(revision, step, key, code, reason, at=at)

        def after(before: FailedItemRecord | None) -> FailedItemRecord:
            if before is None:
                return new
            return replace(new, attempts=before.attempts + 1, skipped_because=before.skipped_because)

        return self._change(new, after, lease)

    def skip(self, revision: str, step: str, key: Key, because: str, lease: Lease) -> FailedItemRecord:
        """Leave an item as it is, for a reason that is kept. Raises `no-such-failed-item`."""
        if not because.strip():
            raise MigratorError("reason-missing", "an item is skipped for a reason", hint='give --because "…"')
        missing = MigratorError(
            "no-such-failed-item",
            f"{key_text(key)} is no failed item of {revision} step {step}",
            hint="see `migrator failed list`",
        )

        def after(before: FailedItemRecord | None) -> FailedItemRecord:
            if before is None:
                raise missing
            return replace(before, skipped_because=because)

        return self._change(FailedItemRecord(revision, step, key, "", ""), after, lease)

    def resolve(self, revision: str, step: str, key: Key, lease: Lease) -> None:
        """The item is as the step wants it: forget that it failed."""
        lease.write(DeleteRecord(failure(revision, step, key), Expect(most_token=lease.token)))

    def clear(self, revision: str, lease: Lease) -> None:
        """Forget all failed items of a revision."""
        for failed in list(self.all(revision)):
            lease.beat_if_due()
            self.resolve(failed.revision, failed.step, failed.key, lease)
        # Last: without its head no failed item is found.
        self._headed.discard(revision)
        lease.write(DeleteRecord(failures_head(revision), Expect(most_token=lease.token)))

    def _put_head(self, revision: str, lease: Lease) -> None:
        """Before the first failed item, so that none is there without it."""
        if revision not in self._headed:
            head = Record(failures_head(revision), lease.token, {"revision": revision})
            lease.write(PutRecord(head, Expect(most_token=lease.token)), lease.held_check())
            self._headed.add(revision)

    def _change(
        self,
        which: FailedItemRecord,
        after: Callable[[FailedItemRecord | None], FailedItemRecord],
        lease: Lease,
    ) -> FailedItemRecord:
        address = failure(which.revision, which.step, which.key)
        wanted: FailedItemRecord | None = None
        for left in reversed(range(_TRIES)):
            stored = self._records.get(address)
            before = None if stored is None else FailedItemRecord.of(stored)
            if stored is not None and before is not None and stored.token == lease.token and before == wanted:
                # The answer to our own write was lost.
                return before
            wanted = after(before)
            try:
                put = wanted.put(lease.token, as_read(stored, lease.token))
                # A record that is not there carries no token to be held against: the lock itself is.
                lease.write(*((put, lease.held_check()) if stored is None else (put,)))
            except RecordConflict:
                if not left:
                    raise
            else:
                return wanted
        raise AssertionError("unreachable")
