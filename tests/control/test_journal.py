from __future__ import annotations

import pytest

from migrator.control.checkpoints import Checkpoints
from migrator.control.journal import Journal, JournalEntry
from migrator.control.layout import journal
from migrator.core.change import Change, ChecksLost, Update, Written
from migrator.core.ports import Expect, PutRecord, Record
from migrator.errors import LeaseLost, MigratorError
from migrator.testing.memory import Always, Once
from tests.control.processes import Process

REV, STEP = "20261130172204", "0.apply.1"
KEY = {"PK": {"S": "x"}}
ODD = {
    "PK": {"S": "x"},
    "big": {"N": "110111111111111110000000000000000000000"},
    "scale": {"N": "1.50"},
    "raw": {"B": b"\x00\xff"},
    "set": {"BS": [b"b", b"a"]},
    "deep": {"M": {"l": {"L": [{"NULL": True}, {"BOOL": False}, {"NS": ["1", "2.0"]}]}}},
}


def test_before_and_after_come_back_type_exact(a: Process) -> None:
    mine = Journal(a.records, a.acquire())
    a.records.write(mine.put_action(REV, STEP, KEY, ODD, {"scale": {"N": "1.5"}}))
    assert mine.get(REV, STEP, KEY) == JournalEntry(REV, STEP, KEY, ODD, {"scale": {"N": "1.5"}})


def test_an_absent_image_is_not_an_empty_one(a: Process) -> None:
    mine = Journal(a.records, a.acquire())
    a.records.write(mine.put_action(REV, STEP, KEY, None, {}))
    entry = mine.get(REV, STEP, KEY)
    assert entry is not None
    assert (entry.before, entry.after) == (None, {})
    assert mine.get(REV, "0.apply.2", KEY) is None


def test_an_item_is_touched_once_whatever_is_run_again(a: Process) -> None:
    a.world.items.put("t", {"PK": {"S": "x"}, "n": {"S": "a"}})
    lease = a.acquire()
    mine = Journal(a.records, lease)
    segments = Checkpoints(a.records, a.clock, lease)
    (segment,) = segments.claim(REV, STEP, 1, "v1", "id-1").checkpoints

    def append() -> object:
        item = a.world.items.get("t", KEY)
        assert item is not None
        after = {"n": {"S": item["n"]["S"] + "!"}}
        records = [mine.put_action(REV, STEP, KEY, {"n": item["n"]}, after), segments.segment_check(segment)]
        (outcome,) = a.world.items.transact(
            "t", Update(KEY, Change({"n": item["n"]}, after)), records, Always()
        ).outcomes
        return outcome

    assert append() == Written()
    assert isinstance(append(), ChecksLost)
    assert a.world.items.get("t", KEY) == {"PK": {"S": "x"}, "n": {"S": "a!"}}


def test_entries_of_a_step_are_found_over_all_partitions(a: Process) -> None:
    mine = Journal(a.records, a.acquire())
    for number in range(60):
        key = {"PK": {"S": f"item-{number}"}}
        a.records.write(mine.put_action(REV, f"0.apply.{number % 2}", key, None, key))
    found = list(mine.entries(REV, "0.apply.1"))
    assert {entry.key["PK"]["S"] for entry in found} == {f"item-{number}" for number in range(1, 60, 2)}
    mine.remove(REV, "0.apply.1", found[0].key)
    assert len(list(mine.entries(REV, "0.apply.1"))) == 29
    mine.clear(REV, "0.apply.1")
    assert list(mine.entries(REV, "0.apply.1")) == []
    assert len(list(mine.entries(REV, "0.apply.0"))) == 30


def test_a_caller_may_expect_something_else_than_absence(a: Process) -> None:
    mine = Journal(a.records, a.acquire())
    a.records.write(mine.put_action(REV, STEP, KEY, None, None))
    a.records.write(mine.put_action(REV, STEP, KEY, None, ODD, Expect(absent=False)))
    entry = mine.get(REV, STEP, KEY)
    assert entry is not None
    assert entry.after == ODD


def test_a_frozen_worker_cannot_remove_from_the_journal(a: Process, b: Process) -> None:
    old = a.acquire()
    mine = Journal(a.records, old)
    a.records.write(mine.put_action(REV, STEP, KEY, None, ODD))

    def taken() -> None:
        theirs = Journal(b.records, b.acquire())
        b.records.write(theirs.put_action(REV, STEP, KEY, None, {}, Expect()))

    a.on_call.append(Once("records.write", taken))
    with pytest.raises(LeaseLost):
        mine.remove(REV, STEP, KEY)
    assert mine.get(REV, STEP, KEY) is not None


def test_a_damaged_record_is_an_error_that_names_it(a: Process) -> None:
    mine = Journal(a.records, a.acquire())
    body = {"revision": REV, "step": STEP, "has_before": True, "has_after": False}
    a.records.write(PutRecord(Record(journal(REV, STEP, KEY), 1, body, {"key": KEY}), Expect()))
    with pytest.raises(MigratorError, match="journal#") as caught:
        list(mine.entries(REV, STEP))
    assert caught.value.code == "damaged-record"
