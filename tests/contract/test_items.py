"""What the Items port promises, whatever engine is behind it."""

from __future__ import annotations

import pytest

from migrator.core.change import (
    Change,
    Check,
    ChecksLost,
    Delete,
    GuardLost,
    Outcome,
    Put,
    Refused,
    Update,
    Write,
    Written,
)
from migrator.core.item import Item, same, same_item
from migrator.core.ports import Address, CheckRecord, DeleteRecord, Expect, PutRecord, Record
from migrator.core.schema import Index, KeyAttribute, Table
from migrator.errors import LeaseLost, ServiceError
from tests.contract.adapters import Adapter

SHAPE = Table("app", KeyAttribute("PK"), KeyAttribute("SK", "N"))
AWKWARD = [
    "a.b",
    "#n0",
    ":v0",
    "a-b",
    " ",
    "名前",
    "size",
    "a[0]",
    "status",
    "x" * 200,
    "__migrator__",
    "'\"`\\",
    "e\u0301",
]


class Allowed:
    def check(self) -> None:
        return


class Lost:
    def check(self) -> None:
        raise LeaseLost("lease-lost", "the lease ran out")


@pytest.fixture
def table(adapter: Adapter) -> str:
    return adapter.make(SHAPE)


def key(partition: str, number: int = 0) -> Item:
    return {"PK": {"S": partition}, "SK": {"N": str(number)}}


def item(partition: str, number: int = 0, **more: str) -> Item:
    return {**key(partition, number), **{name: {"S": value} for name, value in more.items()}}


def write(adapter: Adapter, table: str, one: Write) -> Outcome:
    (outcome,) = adapter.items.write(table, [one], Allowed()).outcomes
    return outcome


def transact(adapter: Adapter, table: str, one: Write, *records: object) -> Outcome:
    (outcome,) = adapter.items.transact(table, one, records, Allowed()).outcomes  # type: ignore[arg-type]
    return outcome


def address(table: str, sort: str = "one") -> Address:
    return Address(f"of-{table}", sort)


# --- reads ------------------------------------------------------------------------------------------------------------


def test_an_absent_item_is_none(adapter: Adapter, table: str) -> None:
    assert adapter.items.get(table, key("nobody")) is None


def test_a_missing_table_is_an_error_and_no_absent_item(adapter: Adapter) -> None:
    with pytest.raises(ServiceError) as caught:
        adapter.items.get("no-such-table", key("a"))
    assert caught.value.code == "table-not-found"


@pytest.mark.parametrize("total", [1, 3])
def test_the_segments_of_a_scan_give_every_item_once_page_by_page(adapter: Adapter, table: str, total: int) -> None:
    wanted = {(f"p{n % 5}", n) for n in range(23)}
    for partition, number in wanted:
        adapter.put(table, item(partition, number, v="x"))
    found = []
    for segment in range(total):
        start = None
        while True:
            page = adapter.items.scan(table, segment=segment, total=total, start=start, limit=4)
            assert len(page.items) <= 4
            found += [(one["PK"]["S"], int(one["SK"]["N"])) for one in page.items]
            start = page.next
            if start is None:
                break
            assert set(start) == {"PK", "SK"}
    assert len(found) == len(wanted)
    assert set(found) == wanted


def test_a_scan_says_what_it_consumed_of_the_table(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a", v="x" * 9000))
    assert adapter.items.scan(table).consumed.read == {table: 3.0}


def test_a_query_gives_a_whole_collection_in_order_of_its_sort_key(adapter: Adapter, table: str) -> None:
    for number in (10, -3, 2):
        adapter.put(table, item("a", number))
    adapter.put(table, item("b", 1))
    found = adapter.items.query(table, {"PK": {"S": "a"}}, most=3)
    assert [one["SK"]["N"] for one in found] == ["-3", "2", "10"]


def test_a_query_stops_one_item_past_the_most_that_is_wanted(adapter: Adapter, table: str) -> None:
    for number in range(6):
        adapter.put(table, item("a", number))
    assert len(adapter.items.query(table, {"PK": {"S": "a"}}, most=3)) == 4


def test_a_query_goes_on_past_a_megabyte(adapter: Adapter, table: str) -> None:
    for number in range(4):
        adapter.put(table, item("a", number, v="x" * 390_000))
    found = adapter.items.query(table, {"PK": {"S": "a"}}, most=10)
    assert [one["SK"]["N"] for one in found] == ["0", "1", "2", "3"]


# --- guarded writes ---------------------------------------------------------------------------------------------------


def test_an_update_touches_only_what_it_names(adapter: Adapter, table: str) -> None:
    rich: Item = {
        **key("a"),
        "n": {"N": "12345678901234567890123456789012345678"},
        "ns": {"NS": ["3", "1.5"]},
        "b": {"B": b"\x00\xff"},
        "bs": {"BS": [b"\x00", b"\x01"]},
        "m": {"M": {"a.b": {"L": [{"NULL": True}, {"BOOL": False}, {"S": ""}]}}},
        "old": {"S": "x"},
    }
    adapter.put(table, rich)
    change = Change({"old": {"S": "x"}}, {"new": {"S": "y"}}, frozenset({"old"}))
    assert write(adapter, table, Update(key("a"), change)) == Written()
    wanted = {name: value for name, value in rich.items() if name != "old"} | {"new": {"S": "y"}}
    assert same_item(adapter.items.get(table, key("a")), wanted)


def test_a_lost_guard_writes_nothing_and_gives_the_item_as_it_is(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a", status="done"))
    outcome = write(adapter, table, Update(key("a"), Change({"status": {"S": "open"}}, {"x": {"S": "y"}})))
    assert outcome == GuardLost(item("a", status="done"))
    assert adapter.all(table) == [item("a", status="done")]


def test_a_guarded_absence_is_lost_when_the_attribute_appears(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a", x="there"))
    outcome = write(adapter, table, Update(key("a"), Change({"x": None}, {"y": {"S": "y"}})))
    assert outcome == GuardLost(item("a", x="there"))


def test_an_item_that_is_gone_is_not_brought_back(adapter: Adapter, table: str) -> None:
    assert write(adapter, table, Update(key("a"), Change({"x": None}, {"y": {"S": "y"}}))) == GuardLost(None)
    assert write(adapter, table, Delete(key("a"), {})) == GuardLost(None)
    assert adapter.all(table) == []


def test_a_put_never_replaces_an_item(adapter: Adapter, table: str) -> None:
    new = item("a", v="new")
    assert write(adapter, table, Put(new, key("a"))) == Written()
    assert write(adapter, table, Put(item("a", v="other"), key("a"))) == GuardLost(new)
    assert adapter.all(table) == [new]


def test_a_delete_gives_the_whole_item_that_it_removed(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a", v="1", w="2"))
    assert write(adapter, table, Delete(key("a"), {"v": {"S": "other"}})) == GuardLost(item("a", v="1", w="2"))
    assert write(adapter, table, Delete(key("a"), {"v": {"S": "1"}})) == Written(item("a", v="1", w="2"))
    assert adapter.all(table) == []


@pytest.mark.parametrize("name", AWKWARD)
def test_any_attribute_name_can_be_guarded_set_and_removed(adapter: Adapter, table: str, name: str) -> None:
    adapter.put(table, {**item("a"), name: {"S": "1"}})
    assert write(adapter, table, Update(key("a"), Change({name: {"S": "1"}}, {name: {"S": "2"}}))) == Written()
    assert isinstance(write(adapter, table, Update(key("a"), Change({name: None}, {"x": {"S": ""}}))), GuardLost)
    removal = Update(key("a"), Change({name: {"S": "2"}}, {}, frozenset({name})))
    assert write(adapter, table, removal) == Written()
    assert adapter.all(table) == [item("a")]


def test_awkward_names_stand_together_in_one_change(adapter: Adapter, table: str) -> None:
    values = {name: {"S": str(n)} for n, name in enumerate(AWKWARD)}
    adapter.put(table, item("a"))
    change = Change(dict.fromkeys(values), values)
    assert write(adapter, table, Update(key("a"), change)) == Written()
    assert same_item(adapter.items.get(table, key("a")), item("a") | values)


@pytest.mark.parametrize(
    "number",
    [
        "12345678901234567890123456789012345678",
        "1E-130",
        "-9.9999999999999999999999999999999999999E+125",
        "-0",
        "1.50",
        "0.1",
        "100",
    ],
)
def test_a_number_keeps_its_value_to_the_last_digit(adapter: Adapter, table: str, number: str) -> None:
    adapter.put(table, {**item("a"), "n": {"N": number}})
    assert write(adapter, table, Update(key("a"), Change({"n": {"N": number}}, {"m": {"N": number}}))) == Written()
    found = adapter.items.get(table, key("a"))
    assert found is not None
    assert same(found["n"], {"N": number})
    assert same(found["m"], {"N": number})


@pytest.mark.parametrize(
    ("stored", "guard"),
    [
        ({"N": "1.50"}, {"N": "1.5"}),
        ({"NS": ["1", "2.0"]}, {"NS": ["2", "1"]}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"BS": [b"\x01", b"\x02"]}, {"BS": [b"\x02", b"\x01"]}),
        ({"M": {"n": {"N": "1.0"}, "l": {"L": []}}}, {"M": {"l": {"L": []}, "n": {"N": "1"}}}),
        ({"B": b""}, {"B": b""}),
        ({"NULL": True}, {"NULL": True}),
    ],
)
def test_a_guard_holds_for_a_value_that_is_written_otherwise(
    adapter: Adapter, table: str, stored: dict[str, object], guard: dict[str, object]
) -> None:
    adapter.put(table, {**item("a"), "v": stored})
    assert write(adapter, table, Update(key("a"), Change({"v": guard}, {"x": {"S": ""}}))) == Written()


@pytest.mark.parametrize(
    ("stored", "guard"),
    [
        ({"N": "1"}, {"S": "1"}),
        ({"L": [{"S": "a"}]}, {"SS": ["a"]}),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
        ({"S": "\u00e9"}, {"S": "e\u0301"}),
        ({"NULL": True}, {"BOOL": True}),
    ],
)
def test_a_guard_is_exact_about_types_order_and_characters(
    adapter: Adapter, table: str, stored: dict[str, object], guard: dict[str, object]
) -> None:
    adapter.put(table, {**item("a"), "v": stored})
    assert isinstance(write(adapter, table, Update(key("a"), Change({"v": guard}, {"x": {"S": ""}}))), GuardLost)


def test_outcomes_come_in_the_order_of_the_writes(adapter: Adapter, table: str) -> None:
    for number in range(0, 40, 2):
        adapter.put(table, item("a", number))
    updates = [Update(key("a", number), Change({}, {"x": {"S": str(number)}})) for number in range(40)]
    outcomes = adapter.items.write(table, updates, Allowed())
    assert outcomes.outcomes == [Written() if number % 2 == 0 else GuardLost(None) for number in range(40)]
    assert outcomes.consumed.write[table] >= 20


def test_a_write_says_what_it_consumed_of_table_and_indexes(adapter: Adapter) -> None:
    index = Index("by-v", (KeyAttribute("v"),))
    table = adapter.make(SHAPE.with_index(index))
    outcomes = adapter.items.write(table, [Put(item("a", v="x"), key("a"))], Allowed())
    assert outcomes.consumed.write == {table: 1.0, f"{table}/by-v": 1.0}


def test_what_a_lost_guard_consumed_is_not_said(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a", v="read"))
    lost = Update(key("a"), Change({"v": {"S": "other"}}, {"x": {"S": ""}}))
    outcomes = adapter.items.write(table, [lost], Allowed())
    assert [type(one) for one in outcomes.outcomes] == [GuardLost]
    assert outcomes.consumed.write == {}
    assert adapter.items.transact(table, lost, (), Allowed()).consumed.write == {}


def test_without_the_right_to_write_nothing_is_written(adapter: Adapter, table: str) -> None:
    puts = [Put(item("a", number), key("a", number)) for number in range(10)]
    with pytest.raises(LeaseLost):
        adapter.items.write(table, puts, Lost())
    with pytest.raises(LeaseLost):
        adapter.items.transact(table, puts[0], (), Lost())
    assert adapter.all(table) == []


def test_an_update_with_checks_is_only_for_transactions(adapter: Adapter, table: str) -> None:
    change = Change({}, {"x": {"S": "y"}}, checks=(Check(table, key("b"), present=False),))
    with pytest.raises(ValueError, match="transact"):
        adapter.items.write(table, [Update(key("a"), change)], Allowed())


@pytest.mark.parametrize("value", [{"N": "1"}, {"S": ""}, {"NULL": True}])
def test_a_value_that_an_index_key_does_not_allow_is_refused(adapter: Adapter, value: dict[str, object]) -> None:
    table = adapter.make(SHAPE.with_index(Index("by-v", (KeyAttribute("v"),))))
    adapter.put(table, item("a"))
    assert isinstance(write(adapter, table, Update(key("a"), Change({}, {"v": value}))), Refused)
    assert isinstance(write(adapter, table, Put({**item("b"), "v": value}, key("b"))), Refused)
    assert adapter.all(table) == [item("a")]


def test_an_item_that_grows_too_large_is_refused(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a", v="x" * 300_000))
    assert isinstance(write(adapter, table, Update(key("a"), Change({}, {"w": {"S": "x" * 150_000}}))), Refused)


# --- transactions -----------------------------------------------------------------------------------------------------


def test_a_transaction_writes_the_item_and_the_record(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a", v="1"))
    adapter.put(table, item("b", v="2"))
    change = Change(
        {"v": {"S": "1"}},
        {"v": {"S": "2"}},
        checks=(Check(table, key("b"), True, {"v": {"S": "2"}, "w": None}), Check(table, key("c"), False)),
    )
    record = Record(address(table), 7, {"step": 1}, {"before": item("a", v="1")})
    outcome = transact(adapter, table, Update(key("a"), change), PutRecord(record, Expect(absent=True)))
    assert outcome == Written()
    assert adapter.items.get(table, key("a")) == item("a", v="2")
    stored = adapter.records.get(address(table))
    assert stored is not None
    assert (stored.token, stored.body, stored.items) == (7, {"step": 1}, {"before": item("a", v="1")})
    assert stored.version


def test_a_put_and_a_delete_go_by_transaction_too(adapter: Adapter, table: str) -> None:
    assert transact(adapter, table, Put(item("a", v="1"), key("a"))) == Written()
    assert transact(adapter, table, Put(item("a", v="2"), key("a"))) == GuardLost(item("a", v="1"))
    assert transact(adapter, table, Delete(key("a"), {"v": {"S": "2"}})) == GuardLost(item("a", v="1"))
    assert isinstance(transact(adapter, table, Delete(key("a"), {"v": {"S": "1"}})), Written)
    assert transact(adapter, table, Delete(key("a"), {})) == GuardLost(None)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param((key("b"), True, {"v": {"S": "other"}}), id="changed"),
        pytest.param((key("b"), True, {"v": None}), id="no longer without it"),
        pytest.param((key("b"), False, {}), id="appeared"),
        pytest.param((key("z"), True, {}), id="gone"),
    ],
)
def test_a_lost_check_writes_nothing(adapter: Adapter, table: str, check: tuple[Item, bool, dict[str, object]]) -> None:
    adapter.put(table, item("a", v="1"))
    adapter.put(table, item("b", v="2"))
    change = Change({"v": {"S": "1"}}, {"v": {"S": "9"}}, checks=(Check(table, *check),))  # type: ignore[arg-type]
    record = PutRecord(Record(address(table), 1, {}), Expect())
    assert isinstance(transact(adapter, table, Update(key("a"), change), record), ChecksLost)
    assert adapter.items.get(table, key("a")) == item("a", v="1")
    assert adapter.records.get(address(table)) is None


def test_a_record_that_is_not_as_expected_stops_the_transaction_and_is_named(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a"))
    adapter.records.write(PutRecord(Record(address(table), 8, {}), Expect(absent=True)))
    update = Update(key("a"), Change({}, {"x": {"S": "y"}}))
    for action in (
        CheckRecord(address(table), Expect(absent=False, token=7)),
        DeleteRecord(address(table), Expect(most_token=7)),
        PutRecord(Record(address(table), 7, {}), Expect(most_token=7)),
    ):
        outcome = transact(adapter, table, update, action)
        assert isinstance(outcome, ChecksLost)
        assert address(table).partition in outcome.reason
    assert adapter.all(table) == [item("a")]


def test_the_guard_of_the_write_itself_is_judged_first(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a", v="new"))
    change = Change({"v": {"S": "old"}}, {"v": {"S": "x"}}, checks=(Check(table, key("z"), True),))
    outcome = transact(adapter, table, Update(key("a"), change), CheckRecord(address(table), Expect(absent=False)))
    assert outcome == GuardLost(item("a", v="new"))


def test_a_transaction_deletes_and_checks_records(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a"))
    first, second = address(table, "1"), address(table, "2")
    for one in (first, second):
        adapter.records.write(PutRecord(Record(one, 3, {}), Expect(absent=True)))
    outcome = transact(
        adapter,
        table,
        Update(key("a"), Change({}, {"x": {"S": "y"}})),
        DeleteRecord(first, Expect(token=3)),
        CheckRecord(second, Expect(absent=False, most_token=3)),
    )
    assert outcome == Written()
    assert [record.address for record in adapter.records.query(first.partition)] == [second]


def test_a_transaction_of_more_than_a_hundred_actions_is_refused(adapter: Adapter, table: str) -> None:
    adapter.put(table, item("a"))
    checks = tuple(Check(table, key("z", number), False) for number in range(100))
    outcome = transact(adapter, table, Update(key("a"), Change({}, {"x": {"S": "y"}}, checks=checks)))
    assert isinstance(outcome, Refused)
    assert adapter.all(table) == [item("a")]
