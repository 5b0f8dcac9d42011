"""Control records in memory."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from threading import RLock

from migrator.core.ports import (
    Address,
    CheckRecord,
    DeleteRecord,
    Entropy,
    Expect,
    Json,
    PutRecord,
    Record,
    RecordAction,
)
from migrator.errors import RecordConflict, ServiceError
from migrator.testing.clock import SeededEntropy
from migrator.testing.hooks import Hook, Hooked

MAX_ACTIONS = 100


class RecordStore:
    """What is stored, with the one lock that items in memory share."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.records: dict[tuple[str, str], Record] = {}

    def apply(self, actions: tuple[RecordAction, ...] | list[RecordAction], entropy: Entropy) -> None:
        """The effect of actions whose expectations hold."""
        for action in actions:
            match action:
                case PutRecord(record):
                    address = (record.address.partition, record.address.sort)
                    self.records[address] = copy.deepcopy(replace(record, version=entropy.nonce()))
                case DeleteRecord(address=gone):
                    self.records.pop((gone.partition, gone.sort), None)
                case CheckRecord():
                    pass

    def first_failed(
        self, actions: tuple[RecordAction, ...] | list[RecordAction]
    ) -> tuple[Address, Record | None] | None:
        for action in actions:
            address = address_of(action)
            stored = self.records.get((address.partition, address.sort))
            if not holds(action.expect, stored):
                return address, stored
        return None


def address_of(action: RecordAction) -> Address:
    return action.record.address if isinstance(action, PutRecord) else action.address


def holds(expect: Expect, stored: Record | None) -> bool:
    """Whether a stored record, or its absence, is as expected."""
    if stored is None:
        return expect.absent is not False
    if expect.absent is True:
        return False
    return (
        (expect.token is None or stored.token == expect.token)
        and (expect.most_token is None or stored.token <= expect.most_token)
        and (expect.version is None or stored.version == expect.version)
    )


class MemoryRecords(Hooked):
    """The Records port in memory. Operations for hooks: `records.get`, `records.query`, `records.write`."""

    def __init__(
        self,
        entropy: Entropy | None = None,
        *,
        store: RecordStore | None = None,
        on_call: list[Hook] | None = None,
    ):
        self.store = RecordStore() if store is None else store
        self.entropy: Entropy = SeededEntropy() if entropy is None else entropy
        super().__init__(self.store.lock, on_call)

    def as_another(self, on_call: list[Hook] | None = None) -> MemoryRecords:
        """The same records as another process reaches them: with hooks of its own."""
        return MemoryRecords(self.entropy, store=self.store, on_call=on_call)

    def get(self, address: Address) -> Record | None:
        return self.call(
            "records.get",
            lambda: copy.deepcopy(self.store.records.get((address.partition, address.sort))),
            address=address,
        )

    def query(self, partition: str, prefix: str = "") -> Iterator[Record]:
        def effect() -> list[Record]:
            found = [
                record
                for (where, sort), record in self.store.records.items()
                if where == partition and sort.startswith(prefix)
            ]
            return copy.deepcopy(sorted(found, key=lambda record: record.address.sort.encode()))

        return iter(self.call("records.query", effect, partition=partition, prefix=prefix))

    def write(self, *actions: RecordAction) -> None:
        check_actions(actions)

        def effect() -> None:
            failed = self.store.first_failed(actions)
            if failed is not None:
                address, stored = failed
                raise RecordConflict(f"the record {address.partition} {address.sort} is not as expected", stored)
            self.store.apply(actions, self.entropy)

        self.call("records.write", effect, actions=actions)

    def all(self) -> list[Record]:
        """Every record, for assertions; passes no hook."""
        with self.lock:
            return [copy.deepcopy(self.store.records[address]) for address in sorted(self.store.records)]


def check_actions(actions: tuple[RecordAction, ...] | list[RecordAction]) -> None:
    """Raises ServiceError for what the service would refuse, TypeError for a body that is not Json."""
    addresses = [address_of(action) for action in actions]
    if len(set(addresses)) < len(addresses):
        raise ServiceError("validation", "one transaction names one record twice")
    if not 1 <= len(actions) <= MAX_ACTIONS:
        raise ServiceError("validation", f"{len(actions)} actions in one transaction")
    for action in actions:
        if isinstance(action, PutRecord):
            _check_json(action.record.body, action.record.address.sort)
            # The service takes UTF-8, which has no half characters.
            json.dumps(action.record.body, ensure_ascii=False).encode()


def _check_json(value: Json, where: str) -> None:
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        for name, entry in value.items():
            _check_json(entry, f"{where}.{name}")
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            _check_json(entry, f"{where}[{number}]")
    else:
        raise TypeError(f"{where}: a record's body holds no {type(value).__name__}")
