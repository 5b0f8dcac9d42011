"""The lock: one run at a time, taken over after a whole lease of silence on the waiter's own clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from migrator.control.holder import Holder, LockRecord
from migrator.control.layout import RUN, LockPlace
from migrator.control.lease import Lease, beat_put
from migrator.core.events import Report, Waiting
from migrator.core.ports import Clock, Entropy, Expect, Record, Records
from migrator.errors import AnswerLost, LockHeld, MigratorError, RecordConflict, Throttled

PATIENCE_SECONDS = 15.0
"""How much longer than the holder's lease a run waits by default: it takes over by itself after a crash."""

_TOKEN_BITS = 48
_REPORT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class LockView:
    """The lock as seen. `silent_seconds`: for how long no beat was seen, None where nobody watched."""

    record: LockRecord | None
    silent_seconds: float | None = None

    @property
    def is_held(self) -> bool:
        return self.record is not None and not self.record.released

    @property
    def holder(self) -> str:
        """Who holds it, for a person; "" when nobody does."""
        return "" if self.record is None or self.record.released else self.record.holder.text

    @property
    def silence(self) -> str:
        """`no beat for 12 s of 60 s`, "" for a lock that nobody holds."""
        if self.record is None or self.record.released:
            return ""
        if self.silent_seconds is None:
            return f"its lease is {self.record.lease_seconds:.0f} s"
        return f"no beat for {self.silent_seconds:.0f} s of {self.record.lease_seconds:.0f} s"


@dataclass(slots=True)
class _Watch:
    """What was seen of a held lock, and since when it did not change, on my clock."""

    token: int
    beat: str
    since: float

    @staticmethod
    def on(lock: LockRecord, beat: Record | None, now: float, before: _Watch | None) -> _Watch:
        """The watch before, unless lock or beat changed: then one that begins now."""
        seen = _Watch(lock.token, beat.version if beat is not None else "", now)
        return before if before is not None and (before.token, before.beat) == (seen.token, seen.beat) else seen


class Lock:
    """The lock of an environment. `scope` names it in messages; `lease_seconds` is the lease this run will hold."""

    def __init__(
        self,
        records: Records,
        clock: Clock,
        entropy: Entropy,
        holder: Holder,
        lease_seconds: float,
        report: Report,
        *,
        scope: str = "",
        place: LockPlace = RUN,
    ):
        self._records = records
        self._clock = clock
        self._entropy = entropy
        self._holder = holder
        self._lease_seconds = round(lease_seconds * 1000) / 1000
        self._report = report
        self._scope = scope
        self._place = place

    # --- acquire ------------------------------------------------------------------------------------------------------

    def acquire(self, timeout: float | None = None, *, wait: Callable[[float], None] | None = None) -> Lease:
        """The lock, free or taken over after a lease of silence. Raises LockHeld after `timeout` seconds.

        Without a timeout it waits for the lease written in the lock, and a little more. `wait` sleeps between looks,
        and may raise to end the attempt.
        """
        sent: list[float] = []
        try:
            return self._acquire(timeout, sent, wait or self._clock.sleep)
        except BaseException:
            # Whatever ends the attempt, a request of it may have been applied unseen.
            if sent:
                self._give_up()
            raise

    def _acquire(self, timeout: float | None, sent: list[float], wait: Callable[[float], None]) -> Lease:
        begun = self._clock.monotonic()
        watch: _Watch | None = None
        reported = begun - _REPORT_SECONDS
        while True:
            stored, beat = self._read()
            now = self._clock.monotonic()
            if sent and stored is not None and stored.holder.owner == self._holder.owner and not stored.released:
                lease = self._mine(stored, sent[0])
                if lease is not None:
                    return lease
                continue
            if stored is None or stored.released:
                watch, lease_seconds, silent = None, self._lease_seconds, 0.0
            else:
                watch = _Watch.on(stored, beat, now, watch)
                lease_seconds, silent = stored.lease_seconds, now - watch.since
            if watch is None or silent >= lease_seconds:
                lease = self._take(stored, beat, sent)
                if lease is not None:
                    return lease
            left = begun + (lease_seconds + PATIENCE_SECONDS if timeout is None else timeout) - now
            if left <= 0:
                raise self._held(stored, silent if watch is not None and now > begun else None)
            if watch is not None and now - reported >= _REPORT_SECONDS:
                reported = now
                view = LockView(stored, silent)
                self._report(Waiting(f"the lock is held by {view.holder}; {view.silence}", left))
            pause = min(2.0, self._lease_seconds / 20) * self._entropy.uniform(0.8, 1.2)
            until_silent = lease_seconds - silent if silent < lease_seconds else pause
            # Never less than moves any clock: a remainder of rounding would be waited for without end.
            wait(max(0.001, min(left, pause, until_silent)))

    def _read(self) -> tuple[LockRecord | None, Record | None]:
        # The lock first: a beat read after it is never older than what the lock says.
        stored = self._records.get(self._place.lock)
        return (None if stored is None else LockRecord.of(stored, self._place)), self._records.get(self._place.beat)

    def _take(self, stored: LockRecord | None, beat: Record | None, sent: list[float]) -> Lease | None:
        """Try to become the holder, on condition that lock and beat are as seen. None where they are not (any more)."""
        if stored is None:
            token = 1 + max(self._entropy.integer(_TOKEN_BITS), 0 if beat is None else beat.token)
            as_seen = Expect(absent=True)
        else:
            token = stored.token + 1
            as_seen = Expect(absent=False, token=stored.token)
        mine = LockRecord(
            token=token,
            holder=self._holder,
            lease_seconds=self._lease_seconds,
            acquired_at=self._clock.now().isoformat(timespec="seconds"),
            unclean=stored is not None and (stored.unclean or not stored.released),
            place=self._place,
        )
        if stored is None or stored.released:
            same_beat = Expect(most_token=token)
        else:
            same_beat = Expect(absent=True) if beat is None else Expect(absent=False, version=beat.version)
        sent[:] = [self._clock.monotonic()]
        try:
            self._records.write(mine.put(as_seen), beat_put(self._place, token, self._holder.owner, same_beat))
        except (RecordConflict, Throttled):
            return None
        except AnswerLost:
            # A lock that carries my nonce is mine, whatever became of the answer.
            found = self._records.get(self._place.lock)
            if found is None or LockRecord.of(found, self._place) != mine:
                return None
        return Lease(self._records, self._clock, self._report, mine, sent[0])

    def _mine(self, stored: LockRecord, sent: float) -> Lease | None:
        """The lease of an acquire that arrived late, or None after giving it back because it is too old."""
        lease = Lease(self._records, self._clock, self._report, stored, sent)
        if lease.beat():
            return lease
        self._release_nonce(stored)
        return None

    def _give_up(self) -> None:
        try:
            stored = self._records.get(self._place.lock)
            lock = None if stored is None else LockRecord.of(stored, self._place)
            if lock is not None and lock.holder.owner == self._holder.owner and not lock.released:
                self._release_nonce(lock)
        except MigratorError:
            # It expires by itself: nobody beats for it. The error that ends the attempt is the one to tell.
            return

    def _release_nonce(self, lock: LockRecord) -> None:
        gone = replace(lock, token=lock.token + 1, released=True)
        try:
            self._records.write(gone.put(Expect(absent=False, token=lock.token)))
        except RecordConflict:
            return

    def _held(self, stored: LockRecord | None, silent: float | None) -> LockHeld:
        place = f"`{self._scope}`" if self._scope else "this environment"
        if stored is None or stored.released:
            return LockHeld(
                "lock-contended",
                f"{place}: other runs took the lock first, each time it was free",
                hint="run the same command again",
            )
        since = _shown(stored.acquired_at, self._clock.now())
        wait = round(stored.lease_seconds * 2)
        return LockHeld(
            "lock-held",
            f"{place} is locked by {stored.holder.text} since {since}; {LockView(stored, silent).silence}",
            hint=f"wait with --lock-timeout {wait}, or `migrator lock release --owner {stored.holder.owner}` "
            "if that run is dead",
        )

    # --- look, and break ----------------------------------------------------------------------------------------------

    def show(self, watch_seconds: float = 0.0) -> LockView:
        """The lock as it is; with `watch_seconds`, for how long of them at the end no beat was seen. Writes nothing."""
        stored, beat = self._read()
        if watch_seconds <= 0 or stored is None or stored.released:
            return LockView(stored)
        begun = since = self._clock.monotonic()
        while (left := begun + watch_seconds - self._clock.monotonic()) > 0:
            self._clock.sleep(min(left, 1.0))
            before = (stored, beat and beat.version)
            stored, beat = self._read()
            if before != (stored, beat and beat.version):
                since = self._clock.monotonic()
            if stored is None or stored.released:
                return LockView(stored)
        return LockView(stored, self._clock.monotonic() - since)

    def break_lock(self, owner: str) -> LockRecord:
        """Release the lock of a run that is dead, by its nonce; what it was before.

        The next holder knows that it was no clean release.
        """
        stored, _ = self._read()
        if stored is None or stored.released:
            raise MigratorError("lock-not-held", "nobody holds the lock; there is nothing to release")
        if stored.holder.owner != owner:
            raise MigratorError(
                "lock-owner-differs",
                f"the lock is held by {stored.holder.text} with owner {stored.holder.owner}, not by {owner}",
                hint="look again with `migrator lock show`: another run may hold it by now",
            )
        broken = replace(stored, token=stored.token + 1, released=True, unclean=True)
        try:
            self._records.write(
                broken.put(Expect(absent=False, token=stored.token)),
                beat_put(self._place, broken.token, owner, Expect(most_token=broken.token)),
            )
        except (RecordConflict, AnswerLost) as exc:
            if self._read()[0] != broken:
                raise MigratorError(
                    "lock-changed",
                    "the lock changed while it was being released; nothing was released",
                    hint="look again with `migrator lock show`",
                ) from exc
        return stored


def _shown(acquired_at: str, now: datetime) -> str:
    """A moment for a person: without the date when it is today's. A moment that cannot be read is shown as stored."""
    try:
        moment = datetime.fromisoformat(acquired_at).astimezone(UTC)
    except ValueError:
        return acquired_at or "an unknown time"
    return moment.strftime("%H:%M:%S UTC" if moment.date() == now.date() else "%Y-%m-%d %H:%M:%S UTC")
