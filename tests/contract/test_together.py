"""What the Items port promises of several items at one moment, whatever engine is behind it."""

from __future__ import annotations

import pytest

from migrator.core.change import Change, Check, ChecksLost, Delete, Put, Refused, Update, Write, Written
from migrator.core.item import Item, same_item
from migrator.core.ports import Address, CheckRecord, DeleteRecord, Expect, Joint, PutRecord, Record
from migrator.core.schema import Index, KeyAttribute, Table
from migrator.errors import LeaseLost, ServiceError
from tests.contract.adapters import Adapter
from tests.contract.test_items import Allowed, Lost, address, item, key

OLD = Table("old", KeyAttribute("PK"), KeyAttribute("SK", "N"))
NEW = Table("new", KeyAttribute("id"))


@pytest.fixture
def old(adapter: Adapter) -> str:
    return adapter.make(OLD)


@pytest.fixture
def new(adapter: Adapter) -> str:
    return adapter.make(NEW)


def twin(name: str, **more: str) -> Item:
    return {"id": {"S": name}} | {attribute: {"S": value} for attribute, value in more.items()}


def together(
    adapter: Adapter, *writes: tuple[str, Write], checks: tuple[Check, ...] = (), records: object = ()
) -> Joint:
    return adapter.items.together(writes, checks, tuple(records), Allowed())  # type: ignore[arg-type]


# --- reading ----------------------------------------------------------------------------------------------------------


def test_items_of_several_tables_are_read_in_the_order_asked(adapter: Adapter, old: str, new: str) -> None:
    adapter.put(old, item("a", 1, v="x"))
    adapter.put(new, twin("a#1", v="y"))
    places = [(new, twin("a#1")), (old, key("nobody")), (old, key("a", 1))]
    found = adapter.items.get_together(places)
    assert len(found) == 3
    assert same_item(found[0], twin("a#1", v="y"))
    assert found[1] is None
    assert same_item(found[2], item("a", 1, v="x"))


def test_a_hundred_items_are_read_together_and_no_more(adapter: Adapter, old: str) -> None:
    for number in range(0, 100, 7):
        adapter.put(old, item("a", number))
    places = [(old, key("a", number)) for number in range(101)]
    found = adapter.items.get_together(places[:100])
    assert [n for n, one in enumerate(found) if one is not None] == list(range(0, 100, 7))
    with pytest.raises(ValueError, match="101"):
        adapter.items.get_together(places)


def test_one_item_is_read_once_at_one_moment(adapter: Adapter, old: str) -> None:
    with pytest.raises(ValueError, match="twice"):
        adapter.items.get_together([(old, key("a", 1)), (old, {"PK": {"S": "a"}, "SK": {"N": "1.0"}})])
    assert adapter.items.get_together([]) == []


def test_a_table_that_is_not_there_is_an_error_not_an_absent_item(adapter: Adapter, old: str) -> None:
    with pytest.raises(ServiceError) as caught:
        adapter.items.get_together([(old, key("a")), ("nowhere", key("a"))])
    assert caught.value.code == "table-not-found"


def test_binaries_and_sets_are_read_as_they_are(adapter: Adapter, new: str) -> None:
    full = twin("a") | {
        "b": {"B": b"\x00\xff"},
        "s": {"NS": ["1", "2"]},
        "m": {"M": {"n": {"NULL": True}}},
        "e": {"S": ""},
    }
    adapter.put(new, full)
    (found,) = adapter.items.get_together([(new, twin("a"))])
    assert same_item(found, full)


# --- writing ----------------------------------------------------------------------------------------------------------


def test_writes_to_two_tables_checks_and_records_are_one_transaction(adapter: Adapter, old: str, new: str) -> None:
    adapter.put(old, item("a", 1, state="on"))
    adapter.put(old, item("b", 1))
    adapter.put(new, twin("gone", v="1"))
    change = Change({"state": {"S": "on"}, "x": None}, {"x": {"S": "set"}}, frozenset({"state"}))
    joint = together(
        adapter,
        (old, Update(key("a", 1), change)),
        (new, Put(twin("a#1", x="set"), twin("a#1"))),
        (new, Delete(twin("gone"), {"v": {"S": "1"}})),
        checks=(Check(old, key("b", 1), True, {"x": None}), Check(old, key("c", 1), False)),
        records=[PutRecord(Record(address(old), 4, {"n": 1}), Expect(absent=True))],
    )
    assert joint.outcome == Written()
    assert joint.at == ()
    assert adapter.items.get(old, key("a", 1)) == item("a", 1, x="set")
    assert adapter.all(new) == [twin("a#1", x="set")]
    stored = adapter.records.get(address(old))
    assert stored is not None
    assert stored.body == {"n": 1}


def test_a_transaction_may_check_alone(adapter: Adapter, old: str) -> None:
    assert together(adapter, checks=(Check(old, key("a"), False),)).outcome == Written()
    assert isinstance(together(adapter, checks=(Check(old, key("a"), True),)).outcome, ChecksLost)


def test_whatever_condition_fails_nothing_is_written_and_its_place_is_told(
    adapter: Adapter, old: str, new: str
) -> None:
    adapter.put(old, item("a", 1, v="now"))
    adapter.put(new, twin("there", v="1"))
    adapter.records.write(PutRecord(Record(address(old, "mine"), 8, {}), Expect(absent=True)))
    before = (adapter.all(old), adapter.all(new))
    good: tuple[str, Write] = (new, Put(twin("fresh"), twin("fresh")))
    bad: list[tuple[str, Write]] = [
        (new, Put(twin("there"), twin("there"))),
        (old, Update(key("a", 1), Change({"v": {"S": "then"}}, {"x": {"S": ""}}))),
        (old, Update(key("a", 1), Change({"v": None}, {"x": {"S": ""}}))),
        (old, Update(key("nobody"), Change({}, {"x": {"S": ""}}))),
        (old, Delete(key("a", 1), {"v": {"S": "then"}})),
        (old, Delete(key("nobody"), {})),
    ]
    for write in bad:
        joint = together(adapter, good, write)
        assert isinstance(joint.outcome, ChecksLost), write
        assert joint.at == (1,), write
    for check in (
        Check(old, key("a", 1), True, {"v": {"S": "then"}}),
        Check(old, key("a", 1), True, {"v": None}),
        Check(old, key("a", 1), False),
        Check(old, key("nobody"), True),
    ):
        joint = together(adapter, good, checks=(Check(new, twin("no one"), False), check))
        assert isinstance(joint.outcome, ChecksLost), check
        assert joint.at == (2,), check
    for record in (
        CheckRecord(address(old, "mine"), Expect(absent=False, token=7)),
        DeleteRecord(address(old, "mine"), Expect(most_token=7)),
        PutRecord(Record(address(old, "mine"), 7, {}), Expect(most_token=7)),
    ):
        joint = together(adapter, good, checks=(Check(new, twin("no one"), False),), records=[record])
        assert isinstance(joint.outcome, ChecksLost), record
        assert joint.at == (2,), record
    assert (adapter.all(old), adapter.all(new)) == before


def test_every_condition_that_fails_is_told(adapter: Adapter, old: str, new: str) -> None:
    joint = together(
        adapter,
        (old, Delete(key("nobody"), {})),
        (new, Put(twin("a"), twin("a"))),
        checks=(Check(old, key("nobody", 2), True),),
        records=[CheckRecord(address(old), Expect(absent=False))],
    )
    assert isinstance(joint.outcome, ChecksLost)
    assert joint.at == (0, 2, 3)


def test_a_value_that_an_index_key_refuses_is_told_by_its_place(adapter: Adapter, old: str) -> None:
    indexed = adapter.make(NEW.with_index(Index("by-v", (KeyAttribute("v"),))))
    joint = together(adapter, (old, Put(item("a"), key("a"))), (indexed, Put(twin("a") | {"v": {"N": "1"}}, twin("a"))))
    assert isinstance(joint.outcome, Refused)
    assert joint.at == (1,)
    assert adapter.all(old) == []


def test_none_or_more_than_a_hundred_actions_are_refused(adapter: Adapter, old: str) -> None:
    puts: list[tuple[str, Write]] = [(old, Put(item("a", n), key("a", n))) for n in range(99)]
    checks = (Check(old, key("b"), False), Check(old, key("c"), False))
    assert isinstance(together(adapter, *puts, checks=checks).outcome, Refused)
    assert isinstance(together(adapter).outcome, Refused)
    assert adapter.all(old) == []
    assert together(adapter, *puts, checks=checks[:1]).outcome == Written()


def test_one_item_has_one_place_in_a_transaction(adapter: Adapter, old: str) -> None:
    put = (old, Put(item("a"), key("a")))
    with pytest.raises(ValueError, match="twice"):
        together(adapter, put, (old, Delete(key("a"), {})))
    with pytest.raises(ValueError, match="twice"):
        together(adapter, put, checks=(Check(old, key("a"), False),))
    change = Change({}, {"x": {"S": "y"}}, checks=(Check(old, key("b"), False),))
    with pytest.raises(ValueError, match="checks"):
        together(adapter, (old, Update(key("a"), change)))


def test_a_joint_write_says_what_it_consumed_of_tables_and_indexes_twice_that_of_single_ones(
    adapter: Adapter, old: str
) -> None:
    indexed = adapter.make(NEW.with_index(Index("by-v", (KeyAttribute("v"),))))
    joint = together(
        adapter, (old, Put(item("a", v="x" * 1500), key("a"))), (indexed, Put(twin("a", v="1"), twin("a")))
    )
    assert joint.consumed.write[old] == 4.0
    assert joint.consumed.write[indexed] == 2.0
    assert joint.consumed.write[f"{indexed}/by-v"] >= 1.0


def test_without_the_right_to_write_nothing_is_written_together(adapter: Adapter, old: str) -> None:
    with pytest.raises(LeaseLost):
        adapter.items.together([(old, Put(item("a"), key("a")))], (), (), Lost())
    assert adapter.all(old) == []


def test_guards_of_a_transaction_are_exact_about_types_and_read_numbers_by_value(adapter: Adapter, old: str) -> None:
    stored = item("a") | {"n": {"N": "1.50"}, "s": {"SS": ["a", "b"]}, "a.b": {"S": "#n0"}}
    adapter.put(old, stored)
    same = {"n": {"N": "1.5"}, "s": {"SS": ["b", "a"]}, "a.b": {"S": "#n0"}}
    assert together(adapter, checks=(Check(old, key("a"), True, same),)).outcome == Written()
    other = same | {"n": {"S": "1.5"}}
    assert isinstance(together(adapter, checks=(Check(old, key("a"), True, other),)).outcome, ChecksLost)


def test_an_absent_record_may_be_written_with_items(adapter: Adapter, old: str) -> None:
    record = PutRecord(Record(Address(f"stray#{old}", "1"), 2, {}, {"item": item("a")}), Expect(most_token=2))
    assert together(adapter, (old, Put(item("a"), key("a"))), records=[record]).outcome == Written()
    stored = adapter.records.get(record.record.address)
    assert stored is not None
    assert stored.items == {"item": item("a")}


# --- indexes ----------------------------------------------------------------------------------------------------------


def test_the_entries_of_an_index_are_read_page_by_page_with_the_attributes_asked_for(adapter: Adapter) -> None:
    by_owner = Index("by-owner", (KeyAttribute("owner"),), (KeyAttribute("rank", "N"),))
    indexed = adapter.make(Table("indexed", KeyAttribute("id"), indexes={"by-owner": by_owner}))
    for number in range(30):
        adapter.put(
            indexed, twin(f"a{number}", owner=f"o{number % 3}", blob="x" * 50_000) | {"rank": {"N": str(number)}}
        )
    adapter.put(indexed, twin("sparse", owner="o1"))
    found: list[Item] = []
    start, pages = None, 0
    while True:
        page = adapter.items.scan_index(indexed, "by-owner", ("id", "owner", "rank"), start=start)
        found += page.items
        pages += 1
        if page.next is None:
            break
        start = page.next
    assert pages > 1
    assert len(found) == 30
    assert {one["id"]["S"] for one in found} == {f"a{number}" for number in range(30)}
    assert all(one.keys() == {"id", "owner", "rank"} for one in found)
