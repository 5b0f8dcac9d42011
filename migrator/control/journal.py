"""What a step did to each item: before and after, for an undo and for `once`. Written in the item's own transaction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from migrator.control.body import Body, damaged
from migrator.control.layout import by_revision, journal, journal_partitions
from migrator.control.lease import Lease
from migrator.core.item import Item, Key
from migrator.core.ports import DeleteRecord, Expect, PutRecord, Record, Records


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One item of one step. Whole items, or the attributes that changed: as the step keeps them; None was absent."""

    revision: str
    step: str
    key: Key
    before: Item | None
    after: Item | None
    version: str = field(default="", compare=False)
    """Of the record: to write it again only as it was read."""

    @staticmethod
    def of(record: Record) -> JournalEntry:
        body = Body(record)
        for side in ("before", "after"):
            if body.flag(f"has_{side}") != (side in record.items):
                # To undo by half a record would delete an item, or put half of one in its place.
                raise damaged(record.address, f"has_{side} contradicts the items that it holds")
        return JournalEntry(
            revision=body.text("revision"),
            step=body.text("step"),
            key=body.item("key"),
            before=body.item("before") if body.flag("has_before") else None,
            after=body.item("after") if body.flag("has_after") else None,
            version=record.version,
        )


class Journal:
    """The journal of all revisions, written under one lease."""

    def __init__(self, records: Records, lease: Lease):
        self._records = records
        self._lease = lease

    def put_action(
        self,
        revision: str,
        step: str,
        key: Key,
        before: Item | None,
        after: Item | None,
        expect: Expect | None = None,
    ) -> PutRecord:
        """For the transaction that writes the item. By default none may be there: a step touches an item once."""
        items = {"key": key}
        if before is not None:
            items["before"] = before
        if after is not None:
            items["after"] = after
        body = {
            "revision": revision,
            "step": step,
            "has_before": before is not None,
            "has_after": after is not None,
        }
        record = Record(journal(revision, step, key), self._lease.token, body, items)
        return PutRecord(record, Expect(absent=True) if expect is None else expect)

    def get(self, revision: str, step: str, key: Key) -> JournalEntry | None:
        stored = self._records.get(journal(revision, step, key))
        return None if stored is None else JournalEntry.of(stored)

    def entries(self, revision: str, step: str) -> Iterator[JournalEntry]:
        """All records of a step, one partition after the other; removing those already given is fine."""
        prefix = by_revision(revision, step)
        for partition in journal_partitions():
            yield from map(JournalEntry.of, self._records.query(partition, prefix))

    def remove(self, revision: str, step: str, key: Key) -> None:
        self._lease.write(self.remove_action(revision, step, key))

    def remove_action(self, revision: str, step: str, key: Key) -> DeleteRecord:
        """For the transaction that takes the item's change back."""
        return DeleteRecord(journal(revision, step, key), Expect(most_token=self._lease.token))

    def clear(self, revision: str, step: str) -> None:
        """Delete a step's records: after the revision is recorded applied, and after `Lease.settle`."""
        prefix = by_revision(revision, step)
        fence = Expect(most_token=self._lease.token)
        for partition in journal_partitions():
            for record in self._records.query(partition, prefix):
                self._lease.beat_if_due()
                self._lease.write(DeleteRecord(record.address, fence))
