from __future__ import annotations

import pytest

from migrator.control.identity import Identity
from migrator.control.layout import identity
from migrator.core.ports import Expect, PutRecord, Record
from migrator.errors import LeaseLost, MigratorError
from migrator.testing.memory import Once
from tests.control.processes import Process


def test_tables_are_bound_once_and_verified_from_then_on(a: Process) -> None:
    lease = a.acquire()
    tables = Identity(a.records)
    tables.verify({"app": "id-1"})
    tables.bind("app", "id-1", lease)
    tables.bind("app", "id-1", lease)
    tables.bind("audit", "id-2", lease)
    tables.verify({"app": "id-1", "audit": "id-2", "new": "id-3"})
    assert tables.bound() == {"app": "id-1", "audit": "id-2"}


def test_a_restored_table_is_named_with_both_ids_and_the_way_out(a: Process) -> None:
    lease = a.acquire()
    tables = Identity(a.records)
    tables.bind("app", "id-1", lease)
    for refused in (lambda: tables.verify({"app": "id-9"}), lambda: tables.bind("app", "id-9", lease)):
        with pytest.raises(MigratorError, match="app: TableId id-9, recorded id-1") as caught:
            refused()
        assert caught.value.code == "restored-table"
        assert "repair --restored" in (caught.value.hint or "")
    tables.rebind("app", "id-9", lease)
    tables.verify({"app": "id-9"})


def test_a_table_is_bound_only_while_the_lock_is_held(a: Process, b: Process) -> None:
    lease = a.acquire()
    a.on_call.append(Once("records.write", lambda: b.acquire() and None))
    with pytest.raises(LeaseLost):
        Identity(a.records).bind("app", "id-1", lease)
    assert Identity(b.records).bound() == {}


def test_a_damaged_binding_is_an_error_that_names_it(a: Process) -> None:
    a.records.write(PutRecord(Record(identity("app"), 1, {"table_id": 5}), Expect()))
    with pytest.raises(MigratorError, match="'app'") as caught:
        Identity(a.records).verify({"app": "id-1"})
    assert caught.value.code == "damaged-record"
