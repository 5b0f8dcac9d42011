"""Who holds the lock, and the lock record."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.control.body import Body, damaged
from migrator.control.layout import RUN, LockPlace
from migrator.core.ports import Expect, PutRecord, Record


@dataclass(frozen=True, slots=True)
class Holder:
    """A run: `owner` is its random nonce, the rest is for people."""

    owner: str
    name: str
    host: str = ""
    run: str = ""

    @property
    def text(self) -> str:
        """`ci-7 (run 41, host runner-3)`."""
        details = [f"{word} {value}" for word, value in (("run", self.run), ("host", self.host)) if value]
        return self.name + (f" ({', '.join(details)})" if details else "")


@dataclass(frozen=True, slots=True)
class LockRecord:
    """The lock as stored. It is never deleted and its token only rises."""

    token: int
    holder: Holder
    lease_seconds: float
    acquired_at: str
    """ISO 8601 by the holder's wall clock: shown, never compared."""
    released: bool = False
    unclean: bool = False
    """Some earlier holder did not release it, and nobody has yet waited until its last requests cannot arrive."""
    place: LockPlace = RUN

    @staticmethod
    def of(record: Record, place: LockPlace = RUN) -> LockRecord:
        body = Body(record)
        lease = body.integer("lease_ms") / 1000
        if lease <= 0:
            raise damaged(record.address, f"lease_ms is {lease * 1000:g}")
        return LockRecord(
            token=record.token,
            holder=Holder(body.text("owner"), body.text("name", ""), body.text("host", ""), body.text("run", "")),
            lease_seconds=lease,
            acquired_at=body.text("acquired_at", ""),
            released=body.flag("released", False),
            unclean=body.flag("unclean", False),
            place=place,
        )

    def put(self, expect: Expect) -> PutRecord:
        body = {
            "owner": self.holder.owner,
            "name": self.holder.name,
            "host": self.holder.host,
            "run": self.holder.run,
            "lease_ms": round(self.lease_seconds * 1000),
            "acquired_at": self.acquired_at,
            "released": self.released,
            "unclean": self.unclean,
        }
        return PutRecord(Record(self.place.lock, self.token, body), expect)
