"""The right to write, as long as it is renewed: counted from when a good renewal was sent, given up at two thirds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Event, Lock, Thread

from migrator.control.holder import LockRecord
from migrator.control.layout import LockPlace
from migrator.core.events import Remark, Report, Waiting
from migrator.core.ports import CheckRecord, Clock, Expect, PutRecord, Record, RecordAction, Records
from migrator.errors import AnswerLost, LeaseLost, MigratorError, RecordConflict, ServiceError, Throttled

SETTLE_SECONDS = 900.0
"""After this long no request signed before a takeover can arrive any more: signatures are valid for 15 minutes."""

_ATTEMPTS = 6
"""Tries of one control write that is throttled or whose answer is lost."""


def beat_put(place: LockPlace, token: int, owner: str, expect: Expect) -> PutRecord:
    """A beat: what changes is the record's version."""
    return PutRecord(Record(place.beat, token, {"owner": owner}), expect)


class Lease:
    """A held lock; a Permit. Safe to use from several threads.

    It is renewed at a third of its length, by `beat_if_due` or by a thread (`start_beating`). `check` raises LeaseLost
    from two thirds on after the last good renewal was sent, and for ever after it did so once.
    """

    def __init__(self, records: Records, clock: Clock, report: Report, lock: LockRecord, sent: float):
        self._records = records
        self._clock = clock
        self._report = report
        self._lock = lock
        self._acquired = sent
        self._sent = sent
        self._retry_at = 0.0
        self._lost: LeaseLost | None = None
        self._state = Lock()
        self._one_beat = Lock()
        self._stop = Event()
        self._thread: Thread | None = None

    @property
    def token(self) -> int:
        return self._lock.token

    @property
    def owner(self) -> str:
        """The nonce of this run."""
        return self._lock.holder.owner

    @property
    def lock(self) -> LockRecord:
        """The lock as this run holds it: what a worker needs to be lent the lease."""
        return self._lock

    @property
    def renewed_at(self) -> float:
        """When the last good renewal was sent, on the monotonic clock."""
        with self._state:
            return self._sent

    @property
    def lease_seconds(self) -> float:
        return self._lock.lease_seconds

    @property
    def is_unclean(self) -> bool:
        """Whether requests of an earlier holder may still arrive: see `settle`."""
        return self._lock.unclean

    # --- may I write? -------------------------------------------------------------------------------------------------

    def check(self) -> None:
        with self._state:
            if self._lost is None:
                silent = self._clock.monotonic() - self._sent
                if silent >= self.lease_seconds * 2 / 3:
                    self._lost = LeaseLost(
                        "lease-lost",
                        f"the lock could not be renewed for {silent:.0f} s of its {self.lease_seconds:.0f} s: "
                        "another run may take it over, so nothing further is sent",
                        hint="run the same command again: it continues from the last checkpoint",
                    )
            if self._lost is not None:
                raise LeaseLost(self._lost.code, self._lost.message, hint=self._lost.hint)

    def held_check(self) -> CheckRecord:
        """For rare writes: in one transaction with them, that the lock is still mine."""
        return CheckRecord(self._lock.place.lock, Expect(absent=False, token=self.token))

    def write(self, *actions: RecordAction) -> None:
        """Write control records that may be written twice: the lease is checked before each try.

        Throttling and lost answers are tried again, a few times. Raises RecordConflict where an expectation failed
        although the lock is mine, LeaseLost where it is not.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            self.check()
            try:
                self._records.write(*actions)
            except (Throttled, AnswerLost):
                if attempt == _ATTEMPTS:
                    raise
                self._clock.sleep(self.lease_seconds / 240 * 2 ** (attempt - 1))
            except RecordConflict:
                self._raise_if_taken()
                raise
            else:
                return

    def confirm(self) -> None:
        """Look whether the lock is still mine, where something looks as if it were not. Raises LeaseLost."""
        self.check()
        self._raise_if_taken()

    def _raise_if_taken(self) -> None:
        stored = self._records.get(self._lock.place.lock)
        if stored is None or stored.token != self.token:
            self._lose(stored)
            self.check()

    # --- renewal ------------------------------------------------------------------------------------------------------

    def beat_if_due(self) -> None:
        """Renew at a third of the lease; after a failed try, soon again."""
        now = self._clock.monotonic()
        with self._state:
            due = self._lost is None and now - self._sent >= self.lease_seconds / 3 and now >= self._retry_at
        if due:
            self.beat()

    def beat(self) -> bool:
        """Renew now. False where that failed (throttled, answer lost), another thread is at it or the lease is lost."""
        # Whoever comes second does not wait: a worker is not to hang on a slow renewal.
        if not self._one_beat.acquire(blocking=False):
            return False
        try:
            return self._renew()
        finally:
            self._one_beat.release()

    def _renew(self) -> bool:
        if self.is_lost:
            return False
        sent = self._clock.monotonic()
        try:
            self._records.write(
                beat_put(self._lock.place, self.token, self._lock.holder.owner, Expect(most_token=self.token))
            )
        except RecordConflict:
            self._look_at_beat(sent)
            return False
        except MigratorError:
            self._retry(sent)
            return False
        with self._state:
            self._sent = max(self._sent, sent)
            return self._lost is None

    @property
    def is_lost(self) -> bool:
        try:
            self.check()
        except LeaseLost:
            return True
        return False

    def _look_at_beat(self, sent: float) -> None:
        # Only a higher token says that someone else holds the lock: any other conflict is tried again.
        try:
            stored = self._records.get(self._lock.place.beat)
            taken = stored is not None and stored.token > self.token
            lock = self._records.get(self._lock.place.lock) if taken else None
        except MigratorError:
            self._retry(sent)
            return
        if taken:
            self._lose(lock)
        else:
            self._retry(sent)

    def _retry(self, sent: float) -> None:
        with self._state:
            self._retry_at = sent + self.lease_seconds / 12

    def _lose(self, stored: Record | None) -> None:
        who = ""
        if stored is not None:
            # A damaged lock record is no reason to keep writing: the name is for the message only.
            with suppress(MigratorError):
                lock = LockRecord.of(stored, self._lock.place)
                who = " and released it" if lock.released else f": {lock.holder.text} holds it"
        with self._state:
            self._lost = self._lost or LeaseLost(
                "lease-lost",
                f"another run took the lock from this one{who}; nothing further is sent",
                hint="see `migrator lock show`; run the same command again once that run is done",
            )

    def start_beating(self) -> None:
        """Renew from a thread of its own until `stop`, `release` or loss."""
        if self._thread is None:
            self._stop.clear()
            self._thread = Thread(target=self._keep_beating, name="migrator-beat", daemon=True)
            self._thread.start()

    def _keep_beating(self) -> None:
        while not self._stop.wait(self.lease_seconds / 24) and not self.is_lost:
            self.beat_if_due()

    def stop(self) -> None:
        """End the thread; the lease then lasts until two thirds after its last renewal."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    # --- the end, and the beginning after an unclean one --------------------------------------------------------------

    def release(self) -> bool:
        """Give the lock back, once no request of this run is under way any more. Whether this call gave it back.

        A lost lease is left to expire: its successor has to know that it was no clean end. So is one that the service
        does not let go of now.
        """
        self.stop()
        if self.is_lost:
            return False
        gone = replace(self._lock, token=self.token + 1, released=True)
        try:
            self.write(gone.put(Expect(absent=False, token=self.token)))
        except LeaseLost:
            # Of a lost answer the second try finds what the first one did.
            stored = self._records.get(self._lock.place.lock)
            if stored is None or LockRecord.of(stored, self._lock.place) != gone:
                return False
        except ServiceError as error:
            length = f"{self.lease_seconds:.0f} s"
            self._report(Remark(f"the lock could not be released, it expires in {length}: {error.message}", "warning"))
            return False
        finally:
            self._close()
        return True

    def _close(self) -> None:
        with self._state:
            self._lost = LeaseLost("lease-released", "this run has given up its lock; nothing further is sent")

    def settle(self, seconds: float = SETTLE_SECONDS, *, wait: Callable[[float], None] | None = None) -> None:
        """Wait until no request from before the last unclean takeover can arrive: `seconds` after this run acquired.

        Returns at once after a clean release. Once waited for, it is so for the runs that follow too. `wait` sleeps a
        few seconds at a time, and may raise to end the waiting.
        """
        if not self.is_unclean:
            return
        while (left := self._acquired + seconds - self._clock.monotonic()) > 0:
            self.check()
            self.beat_if_due()
            self._report(Waiting("requests of the run that held the lock before may still arrive", left))
            (wait or self._clock.sleep)(min(left, self.lease_seconds / 6))
        self.beat_if_due()
        settled = replace(self._lock, unclean=False)
        self.write(settled.put(Expect(absent=False, token=self.token)))
        self._lock = settled
