from __future__ import annotations

import pytest

from migrator.core.change import (
    Change,
    Check,
    ChecksLost,
    Delete,
    GuardLost,
    Put,
    Refused,
    TryAgain,
    Unknown,
    Update,
    Written,
)
from migrator.core.item import Item
from migrator.core.ports import Address, CheckRecord, Expect, PutRecord, Record
from migrator.core.schema import Index, KeyAttribute, Projection, Table
from migrator.errors import AnswerLost, LeaseLost, ServiceError, Throttled
from migrator.testing.memory import Always, Answer, Crash, CrashAt, MemoryItems, Once, World, raising

ALLOW = Always()


def item(pk: str, n: int = 0, **more: str) -> dict[str, dict[str, str]]:
    return {"PK": {"S": pk}, "SK": {"N": str(n)}} | {name: {"S": value} for name, value in more.items()}


def key(pk: str, n: int = 0) -> dict[str, dict[str, str]]:
    return item(pk, n)


def one(items: MemoryItems, write: Update | Put | Delete) -> object:
    (outcome,) = items.write("t", [write], ALLOW).outcomes
    return outcome


@pytest.fixture
def world() -> World:
    return World({"t": ("PK", "SK")})


def test_an_update_applies_only_while_every_guarded_attribute_is_as_read(world: World) -> None:
    world.items.put("t", item("a", status="open"))
    change = Change({"status": {"S": "open"}, "gone": None}, {"status": {"S": "done"}}, frozenset({"old"}))
    assert one(world.items, Update(key("a"), change)) == Written()
    assert one(world.items, Update(key("a"), change)) == GuardLost(item("a", status="done"))


def test_numbers_guard_by_value_and_types_exactly(world: World) -> None:
    world.items.put("t", item("a") | {"n": {"N": "1.50"}})
    assert one(world.items, Update(key("a"), Change({"n": {"N": "1.5"}}, {"x": {"S": ""}}))) == Written()
    assert isinstance(one(world.items, Update(key("a"), Change({"n": {"S": "1.5"}}))), GuardLost)


def test_an_update_of_an_item_that_is_gone_creates_nothing(world: World) -> None:
    assert one(world.items, Update(key("a"), Change({}, {"x": {"S": "y"}}))) == GuardLost(None)
    assert world.items.all("t") == []


def test_a_put_never_replaces_and_a_delete_returns_what_it_removed(world: World) -> None:
    assert one(world.items, Put(item("a", v="1"), key("a"))) == Written()
    assert one(world.items, Put(item("a", v="2"), key("a"))) == GuardLost(item("a", v="1"))
    assert one(world.items, Delete(key("a"), {"v": {"S": "2"}})) == GuardLost(item("a", v="1"))
    assert one(world.items, Delete(key("a"), {"v": {"S": "1"}})) == Written(item("a", v="1"))
    assert one(world.items, Delete(key("a"), {})) == GuardLost(None)


def test_keys_that_are_equal_numbers_are_one_item(world: World) -> None:
    world.items.put("t", {"PK": {"S": "a"}, "SK": {"N": "1.0"}})
    assert isinstance(one(world.items, Put({"PK": {"S": "a"}, "SK": {"N": "1"}}, key("a", 1))), GuardLost)


def test_an_update_cannot_change_the_key(world: World) -> None:
    world.items.put("t", item("a"))
    assert isinstance(one(world.items, Update(key("a"), Change({}, {"PK": {"S": "b"}}))), Refused)


def test_a_transaction_writes_item_and_records_together_or_neither(world: World) -> None:
    world.items.put("t", item("a"), item("b", role="lead"))
    journal = PutRecord(Record(Address("journal", "a"), 5, {"seen": True}), Expect(absent=True))
    change = Change({}, {"x": {"S": "1"}}, checks=(Check("t", key("b"), True, {"role": {"S": "lead"}}),))
    outcomes = world.items.transact("t", Update(key("a"), change), [journal], ALLOW)
    assert outcomes.outcomes == [Written()]
    assert world.records.get(Address("journal", "a")) is not None
    again = world.items.transact("t", Update(key("a"), Change({}, {"x": {"S": "2"}})), [journal], ALLOW)
    assert isinstance(again.outcomes[0], ChecksLost)
    assert world.items.get("t", key("a")) == item("a", x="1")


def test_a_lost_guard_wins_over_a_lost_check(world: World) -> None:
    stale = CheckRecord(Address("segment", "1"), Expect(absent=False))
    outcomes = world.items.transact("t", Update(key("a"), Change({})), [stale], ALLOW)
    assert outcomes.outcomes == [GuardLost(None)]
    world.items.put("t", item("a"))
    outcomes = world.items.transact("t", Update(key("a"), Change({}, {"x": {"S": "1"}})), [stale], ALLOW)
    assert isinstance(outcomes.outcomes[0], ChecksLost)
    assert world.items.all("t") == [item("a")]


def test_a_looked_up_item_that_appeared_stops_the_transaction(world: World) -> None:
    world.items.put("t", item("a"))
    change = Change({}, {"x": {"S": "1"}}, checks=(Check("t", key("b"), False),))
    world.on_call.append(Once("items.transact", lambda: world.items.put("t", item("b"))))
    assert isinstance(world.items.transact("t", Update(key("a"), change), [], ALLOW).outcomes[0], ChecksLost)


def test_segments_split_the_items_without_loss_and_keep_a_collection_together(world: World) -> None:
    world.items.put("t", *(item(f"p{p}", n) for p in range(40) for n in (2, 10, 1)))
    seen: list[Item] = []
    for segment in range(7):
        start = None
        part: list[Item] = []
        while True:
            page = world.items.scan("t", segment=segment, total=7, start=start, limit=5)
            part.extend(page.items)
            start = page.next
            if start is None:
                break
        seen.extend(part)
        for partition in {entry["PK"]["S"] for entry in part}:
            assert [e["SK"]["N"] for e in part if e["PK"]["S"] == partition] == ["1", "2", "10"]
    assert len(seen) == 120
    assert seen == world.items.all("t")


def test_a_page_ends_at_its_bytes_and_resumes_after_an_item_that_was_deleted() -> None:
    world = World({"t": ("PK", "SK")}, page_bytes=300)
    world.items.put("t", *(item("p", n, pad="x" * 100) for n in range(10)))
    first = world.items.scan("t")
    assert len(first.items) == 3
    assert first.next == key("p", 2)
    world.items.remove("t", key("p", 2))
    assert world.items.scan("t", start=first.next).items[0] == item("p", 3, pad="x" * 100)


def test_a_full_last_page_names_a_next_page_which_is_empty(world: World) -> None:
    world.items.put("t", item("p", 1))
    page = world.items.scan("t", limit=1)
    assert page.next is not None
    last = world.items.scan("t", start=page.next)
    assert (last.items, last.next) == ([], None)


def test_a_start_key_of_another_segment_is_refused(world: World) -> None:
    world.items.put("t", *(item(f"p{n}") for n in range(20)))
    page = world.items.scan("t", segment=0, total=2, limit=1)
    with pytest.raises(ServiceError, match="starting key"):
        world.items.scan("t", segment=1, total=2, start=page.next)


def test_units_round_up_count_the_larger_image_and_double_in_transactions(world: World) -> None:
    world.items.put("t", item("a", pad="x" * 3000))
    update = Update(key("a"), Change({}, {"x": {"S": "1"}}, frozenset({"pad"})))
    assert world.items.write("t", [update], ALLOW).consumed.write == {"t": 3.0}
    assert world.items.transact("t", update, [], ALLOW).consumed.write == {"t": 2.0}
    world.items.put("t", *(item("b", n, pad="y" * 4000) for n in range(3)))
    assert world.items.scan("t").consumed.read == {"t": 3.0}


def test_an_index_costs_two_units_for_a_moved_key_and_none_outside_its_projection(world: World) -> None:
    index = Index("by-s", (KeyAttribute("s"),), projection=Projection("KEYS_ONLY"))
    world.tables.add("u", Table("u", KeyAttribute("PK"), KeyAttribute("SK", "N"), {"by-s": index}))
    world.items.put("u", item("a"))
    spent = [
        world.items.write("u", [Update(key("a"), Change({}, change))], ALLOW).consumed.write.get("u/by-s", 0.0)
        for change in ({"s": {"S": "1"}}, {"s": {"S": "2"}}, {"other": {"S": "x"}}, {"s": {"S": "2"}})
    ]
    assert spent == [1.0, 2.0, 0.0, 0.0]


def test_an_index_makes_the_service_refuse_values_its_key_cannot_hold(world: World) -> None:
    index = Index("by-s", (KeyAttribute("s"),))
    world.tables.add("u", Table("u", KeyAttribute("PK"), KeyAttribute("SK", "N"), {"by-s": index}))
    world.items.put("u", item("a") | {"s": {"NULL": True}})
    update = Update(key("a"), Change({}, {"s": {"S": ""}}))
    assert isinstance(world.items.write("u", [update], ALLOW).outcomes[0], Refused)
    touching_another = Update(key("a"), Change({}, {"x": {"S": ""}}))
    assert world.items.write("u", [touching_another], ALLOW).outcomes == [Written()]


def test_an_item_over_400_kb_is_refused(world: World) -> None:
    world.items.put("t", item("a"))
    assert isinstance(one(world.items, Update(key("a"), Change({}, {"x": {"S": "x" * 409_600}}))), Refused)


def test_a_lost_answer_is_unknown_whether_or_not_the_write_was_applied(world: World) -> None:
    world.items.put("t", item("a"))
    update = Update(key("a"), Change({}, {"x": {"S": "1"}}))
    world.on_call[:] = [Once("items.write", raising(AnswerLost("timed out")), "before")]
    assert isinstance(one(world.items, update), Unknown)
    assert world.items.get("t", key("a")) == item("a")
    world.on_call[:] = [Once("items.write", raising(AnswerLost("timed out")), "after")]
    assert isinstance(one(world.items, update), Unknown)
    assert world.items.get("t", key("a")) == item("a", x="1")


def test_hooks_can_throttle_answer_anything_or_kill_at_every_call(world: World) -> None:
    world.items.put("t", item("a"))
    update = Update(key("a"), Change({}, {"x": {"S": "1"}}))
    world.on_call[:] = [Once("items.write", raising(Throttled("slow")))]
    assert isinstance(one(world.items, update), TryAgain)
    world.on_call[:] = [Once("items.write", raising(Answer(ChecksLost("as told"))))]
    assert one(world.items, update) == ChecksLost("as told")
    world.on_call[:] = [CrashAt(1)]
    with pytest.raises(Crash, match="after items"):
        one(world.items, update)
    with pytest.raises(Crash):
        world.records.get(Address("a", "b"))
    assert world.as_another().items.get("t", key("a")) == item("a", x="1")


def test_the_permit_is_asked_before_each_write(world: World) -> None:
    world.items.put("t", item("a"), item("b"))

    class Once1:
        left = 1

        def check(self) -> None:
            self.left -= 1
            if self.left < 0:
                raise LeaseLost("lease-lost", "too late")

    writes = [Update(key(pk), Change({}, {"x": {"S": "1"}})) for pk in ("a", "b")]
    with pytest.raises(LeaseLost):
        world.items.write("t", writes, Once1())
    assert world.items.get("t", key("a")) == item("a", x="1")
    assert world.items.get("t", key("b")) == item("b")


def test_a_query_gives_one_item_more_than_asked_to_show_that_there_are_more(world: World) -> None:
    world.items.put("t", *(item("p", n) for n in range(5)), item("q"))
    assert len(world.items.query("t", {"PK": {"S": "p"}}, most=3)) == 4
    assert len(world.items.query("t", {"PK": {"S": "p"}}, most=5)) == 5


def test_what_a_caller_does_to_an_item_it_got_changes_nothing_stored(world: World) -> None:
    world.items.put("t", item("a") | {"m": {"M": {"x": {"S": "1"}}}})
    got = world.items.get("t", key("a"))
    assert got is not None
    got["m"]["M"]["x"] = {"S": "2"}
    assert world.items.get("t", key("a")) == item("a") | {"m": {"M": {"x": {"S": "1"}}}}


def test_requests_that_the_service_never_takes_are_refused(world: World) -> None:
    world.items.put("t", item("a"))
    many = tuple(Check("t", key(f"other-{n}"), False) for n in range(100))
    wide = Change({f"name-{n}": None for n in range(200)}, {"x": {"S": "1"}})
    refused = [
        world.items.transact("t", write, [], ALLOW).outcomes[0]
        for write in (
            Update({"PK": {"S": "a"}}, Change({}, {"x": {"S": "1"}})),
            Update(key("a"), Change({}, {"x": {"S": "1"}}, checks=(Check("t", key("a"), True),))),
            Update(key("a"), Change({}, {"x": {"S": "1"}}, checks=many)),
            Update(key("a"), wide),
            Update(key("a"), Change({}, {"x": {"S": "1"}}, frozenset({"x"}))),
            Put(item("b"), key("c")),
        )
    ]
    assert [type(outcome) for outcome in refused] == [Refused] * 6
    assert world.items.all("t") == [item("a")]


def test_a_batch_takes_no_lookups_a_scan_no_segment_outside_and_no_call_an_unknown_table(world: World) -> None:
    change = Change({}, {"x": {"S": "1"}}, checks=(Check("t", key("b"), False),))
    with pytest.raises(ValueError, match="transact"):
        world.items.write("t", [Update(key("a"), change)], ALLOW)
    with pytest.raises(ServiceError, match="segment 2 of 2"):
        world.items.scan("t", segment=2, total=2)
    with pytest.raises(ServiceError, match="no table"):
        world.items.get("nothing", key("a"))


def test_binary_keys_are_ordered_by_their_bytes() -> None:
    world = World({"b": ("PK", "SK")})
    keys = [{"PK": {"S": "p"}, "SK": {"B": raw}} for raw in (b"\xff", b"\x00", b"\x00\x01")]
    world.items.put("b", *keys)
    assert [found["SK"]["B"] for found in world.items.all("b")] == [b"\x00", b"\x00\x01", b"\xff"]


# --- together ---------------------------------------------------------------------------------------------------------


def test_a_joint_write_passes_its_hooks_and_may_lose_its_answer(world: World) -> None:
    put = [("t", Put(item("a"), key("a")))]
    world.on_call.append(Once("items.together", raising(AnswerLost("gone")), "after"))
    assert isinstance(world.items.together(put, (), (), ALLOW).outcome, Unknown)
    assert world.items.all("t") == [item("a")]
    world.on_call[:] = [Once("items.together", raising(Throttled("slow")))]
    assert isinstance(world.items.together(put, (), (), ALLOW).outcome, TryAgain)
    world.on_call[:] = [Once("items.together", raising(Answer(Refused("validation", "no"))))]
    assert world.items.together(put, (), (), ALLOW).outcome == Refused("validation", "no")


def test_what_happens_between_reading_together_and_writing_together_is_seen(world: World) -> None:
    world.items.put("t", item("a", v="1"))
    world.on_call.append(Once("items.get_together", lambda: world.items.put("t", item("a", v="2")), "after"))
    assert world.items.get_together([("t", key("a")), ("t", key("b"))]) == [item("a", v="1"), None]
    check = Check("t", key("a"), True, {"v": {"S": "1"}})
    joint = world.items.together([("t", Put(item("b", v="1"), key("b")))], [check], (), ALLOW)
    assert isinstance(joint.outcome, ChecksLost)
    assert joint.at == (1,)
    assert world.items.all("t") == [item("a", v="2")]


def test_a_process_dies_around_a_joint_write(world: World) -> None:
    put = [("t", Put(item("a"), key("a")))]
    world.on_call.append(CrashAt(0, "items.together"))
    with pytest.raises(Crash):
        world.items.together(put, (), (), ALLOW)
    assert world.items.all("t") == []
