from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.control.history import Entry, History, Status
from migrator.control.layout import history
from migrator.core.events import Counts
from migrator.core.ports import Expect, PutRecord, Record
from migrator.errors import AnswerLost, LeaseLost, MigratorError, Throttled
from migrator.testing.memory import Call, Once, World, raising
from tests.control.processes import Process

FULL = Entry(
    revision="20261130172204",
    down_revisions=("20261115090000", "20261115090001"),
    message="Escalations of a responder",
    status="incomplete",
    way="complete",
    checksum="c0ffee",
    content_hash="beef",
    modules=("app.keys 12ab",),
    who="ci-7",
    host="runner-3",
    run="41",
    tool="0.1.0",
    started_at="2026-11-30T17:22:04+00:00",
    finished_at="2026-11-30T17:25:04+00:00",
    counts=Counts(10, 9, 1, 0, 0, 2, 1, 3, 0.1 + 0.2, 1e-9),
    error="3 items failed",
    error_code="failed-items",
    objects={"index:ByAssignee@app": {"fate": "created", "previous": None, "intent": True}},
    steps={"0.apply.1": {"done": True, "fresh": ["a", "b"]}},
    gate="Is the application ready?",
    notes=("checksum repaired by eva",),
)


def damaged(world: World, **changes: object) -> None:
    body = {**FULL.body(), **changes}
    world.records.write(PutRecord(Record(history(FULL.revision), 1, body), Expect()))


def test_an_entry_comes_back_exactly(a: Process) -> None:
    lease = a.acquire()
    entries = History(a.records)
    entries.save(FULL, lease)
    assert entries.get(FULL.revision) == FULL
    minimal = Entry("20261130172205")
    entries.save(minimal, lease)
    assert entries.entries() == {FULL.revision: FULL, minimal.revision: minimal}
    assert list(entries.entries()) == sorted(entries.entries())


@given(st.floats(min_value=0, max_value=1e15), st.floats(min_value=0, max_value=1e15), st.integers(0, 10**15))
def test_units_are_recorded_without_rounding(read: float, write: float, scanned: int) -> None:
    process = Process(World(), "x")
    entry = Entry("1", counts=Counts(scanned=scanned, read_units=read, write_units=write))
    History(process.records).save(entry, process.acquire())
    assert History(process.records).get("1") == entry


def test_no_entry_is_none_and_a_removed_one_is_gone(a: Process) -> None:
    lease = a.acquire()
    entries = History(a.records)
    assert entries.get("1") is None
    entries.save(FULL, lease)
    entries.remove(FULL.revision, lease)
    entries.remove(FULL.revision, lease)
    assert entries.entries() == {}


def test_a_revision_stands_or_is_unfinished_or_is_rolled_back() -> None:
    entries = [replace(FULL, status=status) for status in get_args(Status)]
    assert [entry.status for entry in entries if entry.stands] == ["applied", "at-gate"]
    assert [entry.status for entry in entries if entry.is_unfinished] == ["started", "failed", "incomplete"]
    assert [entry.status for entry in entries if not (entry.stands or entry.is_unfinished)] == ["rolled-back"]


@pytest.mark.parametrize("what", ["save", "remove"])
def test_history_is_changed_only_while_the_lock_is_held(a: Process, b: Process, what: str) -> None:
    lease = a.acquire()
    entries = History(a.records)
    entries.save(FULL, lease)
    a.on_call.append(Once("records.write", lambda: b.acquire() and None))
    changes = {
        "save": lambda: entries.save(replace(FULL, status="applied"), lease),
        "remove": lambda: entries.remove(FULL.revision, lease),
    }
    with pytest.raises(LeaseLost):
        changes[what]()
    assert History(b.records).get(FULL.revision) == FULL


def test_a_broken_holder_cannot_record_even_before_its_next_beat(a: Process, b: Process) -> None:
    lease = a.acquire()
    b.lock.break_lock(a.holder.owner)
    with pytest.raises(LeaseLost):
        History(a.records).save(FULL, lease)
    assert History(b.records).entries() == {}


def test_a_record_throttled_three_times_or_whose_answer_is_lost_is_recorded_once(a: Process) -> None:
    lease = a.acquire()
    for _ in range(3):
        a.on_call.append(Once("records.write", raising(Throttled("slow"))))
    a.on_call.append(Once("records.write", raising(AnswerLost("timed out")), "after"))
    History(a.records).save(FULL, lease)
    assert History(a.records).entries() == {FULL.revision: FULL}


def test_a_save_is_one_transaction_of_the_entry_and_a_check_of_the_lock(a: Process) -> None:
    lease = a.acquire()
    seen: list[Call] = []
    a.on_call.append(seen.append)
    History(a.records).save(FULL, lease)
    (before, _) = seen
    assert [type(action).__name__ for action in before.arguments["actions"]] == ["PutRecord", "CheckRecord"]


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "gone"},
        {"status": None},
        {"way": "sideways"},
        {"down_revisions": "x"},
        {"down_revisions": [1]},
        {"counts": {"scanned": "many"}},
        {"counts": [1]},
        {"counts": {"read_units": {}}},
        {"objects": {"index:x": "created"}},
        {"steps": []},
        {"modules": "1"},
        {"revision": "other"},
        {"message": 5},
        {"notes": {}},
    ],
)
def test_a_damaged_entry_is_an_error_that_names_it(world: World, changes: dict[str, Any]) -> None:
    damaged(world, **changes)
    for read in (lambda: History(world.records).get(FULL.revision), lambda: History(world.records).entries()):
        with pytest.raises(MigratorError, match=FULL.revision) as caught:
            read()
        assert caught.value.code == "damaged-record"
        assert caught.value.hint


def test_fields_of_a_later_version_are_kept_when_an_entry_is_saved_again(a: Process) -> None:
    damaged(a.world, phase={"name": "cutover"})
    entries = History(a.records)
    entry = entries.get(FULL.revision)
    assert entry is not None
    assert entry.unknown == {"phase": {"name": "cutover"}}
    # The token of a record written by hand is low: any holder may write it.
    entries.save(replace(entry, status="applied"), a.acquire())
    stored = a.records.get(history(FULL.revision))
    assert stored is not None
    assert (stored.body["phase"], stored.body["status"]) == ({"name": "cutover"}, "applied")


def test_an_entry_in_a_later_format_asks_for_a_later_tool(world: World) -> None:
    damaged(world, format=2)
    with pytest.raises(MigratorError) as caught:
        History(world.records).entries()
    assert caught.value.code == "newer-record"


def test_fields_that_an_earlier_version_did_not_write_are_empty(world: World) -> None:
    world.records.write(PutRecord(Record(history("1"), 1, {"revision": "1", "status": "applied"}), Expect()))
    assert History(world.records).get("1") == Entry("1", status="applied")
