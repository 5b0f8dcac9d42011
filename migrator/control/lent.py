"""The lease of a run, lent to a worker: good for as long as the holder says that it renewed it."""

from __future__ import annotations

from collections.abc import Callable

from migrator.control.holder import LockRecord
from migrator.control.layout import BEAT, LOCK
from migrator.control.lease import Lease
from migrator.core.events import Report
from migrator.core.ports import Clock, Records
from migrator.errors import MigratorError


class LentLease(Lease):
    """A Permit for one worker of the holder. It is never renewed from here, so it ends two thirds of a lease after the
    holder's last renewal, should the holder die.

    On the holder's machine `extend` is told when a renewal was sent, on the clock that both share. Elsewhere `watch`
    finds out from the records.
    """

    def __init__(self, records: Records, clock: Clock, report: Report, lock: LockRecord, sent: float):
        super().__init__(records, clock, report, lock, sent)
        self._beat_seen = ""
        self._looked_at = sent
        self.is_granted = True
        """Whether the holder was seen to be alive."""
        self.also_confirm: Callable[[], None] = lambda: None
        """Asked where something looks as if it were not this worker's any more."""

    def beat_if_due(self) -> None:
        """The holder does."""

    def beat(self) -> bool:
        return False

    def extend(self, sent: float) -> None:
        """The holder renewed it: that request was sent at `sent`, on the clock of this machine."""
        with self._state:
            self._sent = max(self._sent, sent)

    def confirm(self) -> None:
        super().confirm()
        self.also_confirm()

    def ask(self) -> None:
        """Nothing is known of the holder yet: it is to be seen alive, by `watch`, before anything is written."""
        self.is_granted = False

    def watch(self) -> None:
        """Look at the beat: one that changed was renewed after the look before this one, so that counts from then.

        No clock of another machine is compared with this one's.
        """
        looked_at = self._clock.monotonic()
        try:
            beat = self._records.get(BEAT)
            lock = self._records.get(LOCK)
        except MigratorError:
            # Not seen: it ends by itself if that goes on.
            return
        if lock is None or lock.token != self.token:
            self._lose(lock)
            return
        if beat is not None and beat.token == self.token and beat.version != self._beat_seen:
            if self._beat_seen:
                self.extend(self._looked_at)
                self.is_granted = True
            self._beat_seen = beat.version
        self._looked_at = looked_at
