"""Which phase stands, as an instance of an application may rely on it: for one lease at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from migrator.control.layout import phase, phase_partition
from migrator.control.phases import ATTEMPT_MS, INSTANCE_PREFIX, READER_LEASE_MS, PhaseRecord
from migrator.core.ports import Address, Clock, Entropy, Record
from migrator.core.rewrite.phases import RULES, Phase, Rules
from migrator.core.rewrite.record import from_json
from migrator.core.rewrite.rewrite import Rewrite
from migrator.dynamo.layout import Layout
from migrator.machine import SystemClock, SystemEntropy
from migrator.runtime.errors import PhaseUnknown, StanceExpired
from migrator.runtime.functions import importable

_log = logging.getLogger("migrator.runtime")


@dataclass(slots=True)
class Stance:
    """What one call knows of the phase, and holds to from its beginning to its end.

    `phase` is "expand" where there is no record: the rewrite has not begun. `until` is on the reader's clock.
    """

    phase: Phase
    generation: int
    rewrite: Rewrite | None
    clock: Clock
    until: float
    attempt_ms: int = ATTEMPT_MS

    @property
    def rules(self) -> Rules:
        if self.rewrite is not None and not self.rewrite.moves:
            # Twins that stay beside their items for good: the old side decides in every phase. Where they have taken
            # attributes over, an item says nothing of them any more.
            is_alone = self.phase == "expand" or (self.phase == "done" and self.rewrite.splits)
            return RULES["expand" if is_alone else "dual-write"]
        return RULES[self.phase]

    @property
    def is_valid(self) -> bool:
        return self.clock.monotonic() < self.until

    def check(self) -> None:
        """As a Permit: asked immediately before each request is signed. Raises StanceExpired."""
        if not self.is_valid:
            raise StanceExpired


@dataclass(frozen=True, slots=True)
class _Place:
    layout: Layout
    revision: str
    slot: str


@dataclass(slots=True)
class _State:
    stance: Stance | None = None
    acknowledged: int | None = None
    acknowledged_at: float = 0.0
    error: str = "it was never read"
    closed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class PhaseReader:
    """Reads the phase record of one rewrite, in the background and whenever its lease has run out.

    `client` is any boto3 DynamoDB client, `table` the one where control records lie, `key_names` the names of its
    keys. `block_seconds` is for how long a call waits for an answer where the lease has run out. `lease_seconds` bounds
    the lease that the record gives, and is the lease where there is no record. `background=False` is for where
    threads do not run between calls, such as a Lambda function: a call then reads the record itself when a third of
    the lease has passed. `functions` are those that the rewrite names, by `module:name`; others are imported.
    Close it, or use it in a `with`: it then takes its acknowledgement back.
    """

    def __init__(
        self,
        client: Any,
        *,
        table: str,
        revision: str,
        slot: str = "0",
        key_names: tuple[str, str] = ("PK", "SK"),
        prefix: str = "__migrator__",
        name: str = "",
        block_seconds: float = 30.0,
        lease_seconds: float = READER_LEASE_MS / 1000,
        acknowledge: bool = True,
        background: bool = True,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ):
        self._client = client
        self._at = _Place(Layout(table, *key_names, prefix), revision, slot)
        self._name = name
        self._block = block_seconds
        self._lease = lease_seconds
        self._acknowledges = acknowledge
        self._functions = dict(functions or {})
        self.clock: Clock = SystemClock() if clock is None else clock
        self.entropy: Entropy = SystemEntropy() if entropy is None else entropy
        self.nonce = self.entropy.nonce()
        self._state = _State()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        if background:
            self._thread = threading.Thread(target=self._keep_reading, name=f"migrator-phase-{revision}", daemon=True)
            self._thread.start()

    # --- what a call asks ---------------------------------------------------------------------------------------------

    def stance(self) -> Stance:
        """What to rely on. Waits for an answer where the lease has run out; raises PhaseUnknown where none comes."""
        found = self._state.stance
        if found is not None and found.is_valid and not (self._thread is None and self._is_due(found)):
            return found
        give_up = self.clock.monotonic() + self._block
        while True:
            self.refresh()
            found = self._state.stance
            if found is not None and found.is_valid:
                return found
            if self._state.closed or self.clock.monotonic() >= give_up:
                raise PhaseUnknown(
                    f"the phase of revision {self._at.revision} is unknown: {self._state.error} "
                    f"({self._at.layout.table}, for {self._block:.0f} s)"
                )
            self.clock.sleep(self.entropy.uniform(0.1, 0.5))

    def refresh(self) -> bool:
        """Read the record now; False where it could not be read, and what was known is left as it is."""
        with self._state.lock:
            # The lease counts from before the request left: the answer may be as old as that.
            sent = self.clock.monotonic()
            try:
                read = self._read()
            except Exception as exc:  # noqa: BLE001 - whatever keeps it from being read, the lease goes on running
                self._state.error = f"{type(exc).__name__}: {str(exc).splitlines()[0] if str(exc) else ''}"
                _log.warning("the phase of revision %s could not be read: %s", self._at.revision, self._state.error)
                return False
            self._take(read, sent)
            if self._acknowledges and not self._state.closed:
                self._acknowledge(sent)
            return True

    def _take(self, read: PhaseRecord | None, sent: float) -> None:
        lease = self._lease if read is None else min(self._lease, read.lease_ms / 1000)
        known = self._state.stance
        if known is not None and known.generation == (0 if read is None else read.generation) and known.is_valid:
            # Calls under way hold to this very object: their phase still stands.
            known.until = max(known.until, sent + lease)
            return
        if read is None:
            self._state.stance = Stance("expand", 0, None, self.clock, sent + lease)
            return
        self._state.stance = Stance(
            read.phase,
            read.generation,
            from_json(read.rewrite, self._function),
            self.clock,
            sent + lease,
            read.attempt_ms,
        )
        _log.info("revision %s is in phase %s, generation %d", read.revision, read.phase, read.generation)

    def _function(self, named: str) -> Callable[..., Any]:
        return importable(named, self._functions)

    def _is_due(self, stance: Stance) -> bool:
        return stance.until - self.clock.monotonic() < self._lease * 2 / 3

    def _read(self) -> PhaseRecord | None:
        layout = self._at.layout
        answer = self._client.get_item(
            TableName=layout.table, Key=layout.key(phase(self._at.revision, self._at.slot)), ConsistentRead=True
        )
        item = answer.get("Item")
        return None if item is None else PhaseRecord.of(layout.record(item))

    # --- acknowledgement ----------------------------------------------------------------------------------------------

    @property
    def _address(self) -> Address:
        return Address(phase_partition(self._at.revision, self._at.slot), INSTANCE_PREFIX + self.nonce)

    def _acknowledge(self, now: float) -> None:
        """Say which generation this instance acts on: when that changes, and once a lease."""
        state, stance = self._state, self._state.stance
        if stance is None or stance.rewrite is None:
            return
        if state.acknowledged == stance.generation and now < state.acknowledged_at + self._lease:
            return
        body = {
            "name": self._name,
            "generation": stance.generation,
            "phase": stance.phase,
            "seen_at": self.clock.now().isoformat(timespec="seconds"),
        }
        layout = self._at.layout
        try:
            item = layout.item(Record(self._address, 0, body), self.entropy.nonce())
            self._client.put_item(TableName=layout.table, Item=item)
        except Exception as exc:  # noqa: BLE001 - it is a courtesy: reading the phase is what counts
            if state.acknowledged is None:
                _log.warning("this instance cannot report itself to %s: %s", layout.table, exc)
        state.acknowledged, state.acknowledged_at = stance.generation, now

    # --- life ---------------------------------------------------------------------------------------------------------

    def _keep_reading(self) -> None:
        while not self._state.closed:
            was_read = self.refresh()
            # After a failure sooner: there are several tries in what is left of the lease.
            self._wake.wait(self._lease / 3 if was_read else self._lease / 20)

    def close(self) -> None:
        """Stop reading, and take the acknowledgement back."""
        if self._state.closed:
            return
        self._state.closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=30)
        if self._state.acknowledged is None:
            return
        layout = self._at.layout
        try:
            self._client.delete_item(TableName=layout.table, Key=layout.key(self._address))
        except Exception as exc:  # noqa: BLE001 - see `_acknowledge`
            _log.warning("the acknowledgement of this instance was left in %s: %s", layout.table, exc)

    def __enter__(self) -> PhaseReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
