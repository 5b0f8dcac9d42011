"""Rewrites of real models: which item belongs to which, both ways."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from migrator.core.item import Item, key_of, same_item
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.reconcile import Collision, Equal, Failed, Place, Repair
from migrator.core.rewrite.removal import STRAY, superseded, taken_back
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import MARK, Image, NoImage, Problem, Route
from migrator.core.schema import KeyAttribute
from migrator.core.view import ItemView
from migrator.core.where import BeginsWith, Exists
from tests.core.rewrite.routes import (
    CLAIMS,
    DEVICES,
    GAME,
    INDEXED,
    LOWER,
    LOWER_WITHIN,
    MERGED,
    ORDERS,
    PART,
    PK_SK,
    TASKS,
    TASKS_ELSEWHERE,
    USERS,
)
from tests.core.rewrite.world import World, battle_royale, find, plain, wire, workbench


def image(found: object) -> Image:
    assert isinstance(found, Image), found
    return found


def problem(found: object) -> Problem:
    assert isinstance(found, Problem), found
    return found


# --- DeviceStateLog ---------------------------------------------------------------------------------------------------


def test_every_row_of_the_device_log_has_the_key_of_its_third_version_and_all_else_of_the_first() -> None:
    old, new = workbench("nwb-devicestatelog-v1.json"), workbench("nwb-devicestatelog-v3.json")
    twins = [image(DEVICES.twin_of(item)) for item in old]
    keys = [key_of(item, DEVICES.target_names) for item in new]
    assert len(twins) == len(keys) == 11
    assert all(find(keys, twin.key) for twin in twins)
    for item, twin in zip(old, twins, strict=True):
        assert {name: twin.item[name] for name in item} == item
        assert twin.item.keys() - item.keys() == {"State#Date"}


def test_every_row_of_the_third_version_has_an_old_form_with_all_that_it_has() -> None:
    for item in workbench("nwb-devicestatelog-v3.json"):
        old = image(DEVICES.source_of(item))
        assert old.item == {name: value for name, value in item.items() if name != "State#Date"}
        assert same_item(image(DEVICES.twin_of(old.item)).item, item)


def test_a_changed_state_moves_the_twin() -> None:
    world = World(DEVICES)
    (item, *_) = workbench("nwb-devicestatelog-v1.json")
    world.put("log", item)
    assert isinstance(world.settle("old", key_of(item, ("DeviceID", "Date"))), Equal)
    (before,) = world.all("log-by-state")
    world.put("log", {**item, "State": {"S": "NORMAL"}})
    key = key_of(item, DEVICES.source_names)
    assert isinstance(world.settle("old", key, [key_of(before, DEVICES.target_names)]), Equal)
    (after,) = world.all("log-by-state")
    assert after["State#Date"] == {"S": "NORMAL#2020-04-24T14:40:00"}
    assert not DEVICES.is_static


# --- battle-royale ----------------------------------------------------------------------------------------------------


def test_a_prefix_changes_in_every_key_that_carries_it() -> None:
    items = battle_royale()
    assert len(items) == 835
    made = [(route, twin) for item in items for route, twin in GAME.twins_of("game", item)]
    assert len(made) == 300 + 514 + 6
    assert [GAME.problems_of("game", item) for item in items] == [()] * 835
    after = [twin.item for _, twin in made]
    assert not [one for one in after if json.dumps([one["PK"], one["SK"]]).count("USER#")]
    assert len({Place("game", twin.key).id for _, twin in made}) == 820
    for item in items:
        sides = GAME.side_of("game", item)
        assert sides == ("old" if "USER#" in item["PK"]["S"] + item["SK"]["S"] else None)
    for route, twin in made:
        assert GAME.side_of("game", twin.item) == "new"
        assert find(items, image(route.source_of(twin.item)).item)
    assert GAME.is_static
    assert GAME.has_way_back


# --- SaaS tasks -------------------------------------------------------------------------------------------------------

TASK = wire(
    PK="TENANT#t1#PROJECT#p1",
    SK="TASK#2026-10-20T09:00:00Z#a1",
    taskId="a1",
    createdAt="2026-10-20T09:00:00Z",
    status="OPEN",
)


def test_a_date_that_the_key_loses_comes_back_from_its_attribute() -> None:
    twin = image(TASKS.twin_of(TASK))
    assert twin.key == wire(PK="TENANT#t1#PROJECT#p1", SK="T#a1")
    assert same_item(image(TASKS.source_of(twin.item)).item, TASK)
    assert TASKS.has_way_back
    assert "createdAt" in twin.reads


def test_an_item_whose_attribute_contradicts_its_key_is_told_not_taken_for_another() -> None:
    odd = {**TASK, "createdAt": {"S": "2026-10-21T09:00:00Z"}}
    found = problem(TASKS.twin_of(odd))
    assert found.code == "source-not-derivable"
    assert "2026-10-21" in found.message
    assert problem(TASKS.twin_of({k: v for k, v in TASK.items() if k != "createdAt"})).code == "source-not-derivable"
    assert TASKS.side_of("app", odd) == "old"


def test_an_update_that_would_break_the_way_back_is_known_beforehand() -> None:
    assert not TASKS.is_static
    assert TASKS.decisive is not None
    assert "createdAt" in TASKS.decisive
    assert "status" not in TASKS.decisive


def test_two_key_attributes_of_one_table_become_one_of_another() -> None:
    twin = image(TASKS_ELSEWHERE.twin_of({**TASK, "tenantId": {"S": "t1"}, "projectId": {"S": "p1"}}))
    assert twin.key == wire(id="t1/p1/a1")
    assert twin.item["kind"] == {"S": "task"}
    assert twin.item["PK"] == TASK["PK"]
    old = image(TASKS_ELSEWHERE.source_of(twin.item))
    assert old.key == key_of(TASK, ("PK", "SK"))
    assert "kind" not in old.item
    assert "id" not in old.item


# --- three tables into one --------------------------------------------------------------------------------------------


def test_items_of_three_tables_lie_in_one_and_find_their_way_back() -> None:
    user = wire(id="u1", name="Ada")
    order = wire(user="u1", number=7, lines=["a", 2, None])
    stock = wire(sku="X#1", left=3)
    found = {alias: MERGED.twins_of(alias, item) for alias, item in
             [("users", user), ("orders", order), ("stock", stock)]}  # fmt: skip
    keys = [image_.key for twins in found.values() for _, image_ in twins]
    assert keys == [
        wire(PK="USER#u1", SK="USER#u1"),
        wire(PK="USER#u1", SK="ORDER#7"),
        wire(PK="STOCK", SK="X#1"),
    ]
    for alias, item in [("users", user), ("orders", order), ("stock", stock)]:
        ((route, twin),) = found[alias]
        assert same_item(image(route.source_of(twin.item)).item, item)
        assert MERGED.side_of("one", twin.item) == "new"
        assert MERGED.side_of(alias, item) == "old"
        # No other route takes it for its own.
        assert [one for one in MERGED.routes if not isinstance(one.source_of(twin.item), NoImage)] == [route]


def test_a_number_that_a_key_tells_is_a_number_again_on_the_way_back() -> None:
    born = wire(PK="USER#u2", SK="ORDER#12.5", lines=[])
    assert image(ORDERS.source_of(born)).key == wire(user="u2") | {"number": {"N": "12.5"}}
    assert isinstance(ORDERS.source_of(wire(PK="USER#u2", SK="ORDER#twelve")), NoImage)
    assert isinstance(ORDERS.source_of(wire(PK="USER#u2", SK="ORDER#NaN")), NoImage)


# --- case folding -----------------------------------------------------------------------------------------------------


def test_names_that_fold_alike_collide_and_none_is_overwritten() -> None:
    world = World(LOWER)
    world.put("people", wire(id="Bob", n=1), wire(id="bob", n=2), wire(id="BOB", n=3))
    verdicts = [world.settle("old", wire(id=name)) for name in ("Bob", "bob", "BOB")]
    assert isinstance(verdicts[0], Equal)
    for verdict in verdicts[1:]:
        assert verdict == Collision(Place("folded", wire(id="bob")), Place("people", wire(id="Bob")))
    (twin,) = world.all("folded")
    assert twin["n"] == {"N": "1"}


def test_within_one_table_a_name_that_is_folded_already_stands_in_the_way() -> None:
    world = World(LOWER_WITHIN)
    world.put("people", wire(id="Bob", n=1), wire(id="bob", n=2))
    assert world.settle("old", wire(id="bob")) == Equal(None)
    assert LOWER_WITHIN.side_of("people", wire(id="bob", n=2)) == "new"
    assert world.settle("old", wire(id="Bob")) == Collision(Place("people", wire(id="bob")), None)
    assert len(world.all("people")) == 2


def test_what_a_mark_names_goes_back_whatever_the_key_looks_like() -> None:
    twin = image(LOWER_WITHIN.twin_of(wire(id="Bob", n=1)))
    assert LOWER_WITHIN.side_of("people", twin.item) == "new"
    assert isinstance(LOWER_WITHIN.twin_of(twin.item), NoImage)
    assert image(LOWER_WITHIN.source_of(twin.item)).item == wire(id="Bob", n=1)


# --- other forms ------------------------------------------------------------------------------------------------------


def test_index_keys_are_rewritten_with_the_table_s_and_restored() -> None:
    old = wire(PK="U#ada", SK="META", GSI1PK="CITY#Rome", age=3)
    twin = image(INDEXED.twin_of(old))
    assert twin.item == wire(PK="P#ada", SK="META", GSI1PK="TOWN#Rome", GSI1SK="ada", age=3)
    assert image(INDEXED.source_of(twin.item)).item == old
    assert isinstance(INDEXED.twin_of(wire(PK="U#ada", SK="META")), NoImage)


def test_an_attribute_that_the_new_form_would_replace_is_told() -> None:
    old = wire(PK="U#ada", SK="META", GSI1PK="CITY#Rome", GSI1SK="mine")
    assert problem(INDEXED.twin_of(old)).code == "attribute-in-use"
    assert problem(DEVICES.twin_of(wire(DeviceID="d", Date="1", State="s") | {"State#Date": {"S": "x"}})).code == (
        "attribute-in-use"
    )


def test_an_attribute_becomes_the_key_as_it_is_and_stays_one_on_the_way_back() -> None:
    route = Route("a", "b", (KeyAttribute("id"),), (KeyAttribute("email"),), where={"email": Exists()})
    old = wire(id="1", email="a@b")
    twin = image(route.twin_of(old))
    assert twin.item == old
    assert image(route.source_of(twin.item)).item == old
    assert isinstance(route.twin_of(wire(id="1")), NoImage)
    assert problem(Route("a", "b", (KeyAttribute("id"),), (KeyAttribute("email"),)).twin_of(wire(id="1"))).code == (
        "key-attribute-absent"
    )


def test_claims_name_their_owner_and_follow_it() -> None:
    world = World(CLAIMS)
    world.put("app", wire(PK="U#1", SK="META", email="a@b"), wire(PK="U#2", SK="META", email="a@b"))
    assert isinstance(world.settle("old", wire(PK="U#1", SK="META")), Equal)
    claim = wire(PK="EMAIL#a@b", SK="CLAIM")
    assert world.settle("old", wire(PK="U#2", SK="META")) == Collision(
        Place("app", claim), Place("app", wire(PK="U#1", SK="META"))
    )
    world.put("app", wire(PK="U#1", SK="META", email="c@d"))
    assert isinstance(world.settle("old", wire(PK="U#2", SK="META")), Equal)
    assert isinstance(world.settle("old", wire(PK="U#1", SK="META")), Equal)
    assert world.differences("old") == []
    assert len(world.all("app")) == 4


def test_what_is_not_kept_stays_on_the_old_side_when_the_new_one_decides() -> None:
    world = World(PART)
    old = wire(PK="a", SK="b", title="one", rest="precious")
    world.put("app", old)
    assert isinstance(world.settle("old", wire(PK="a", SK="b")), Equal)
    assert world.all("slim") == [wire(PK="a", SK="b", title="one")]
    world.put("slim", wire(PK="a", SK="b", title="two"))
    assert isinstance(world.settle("new", wire(PK="a", SK="b")), Equal)
    assert world.all("app") == [{**old, "title": {"S": "two"}}]


def test_a_new_key_that_the_rewrite_would_move_again_is_told() -> None:
    chain = Route("t", "t", PK_SK, PK_SK, key=Form.of({"SK": "X{SK}"}), old=Form.of({"SK": "{SK}"}))
    assert problem(chain.twin_of(wire(PK="a", SK="1"))).code == "twin-is-selected"
    # Even where the item that it would come from does not exist, it is an old one.
    assert chain.side_of("t", wire(PK="a", SK="X1")) == "old"
    assert isinstance(chain.source_of(wire(PK="a", SK="X1")), NoImage)


def test_twins_that_another_route_would_move_again_are_told() -> None:
    into = Route("users", "app", (KeyAttribute("id"),), PK_SK, key=Form.of({"PK": "U#{id}", "SK": "{id}"}))
    within = Route("app", "app", PK_SK, PK_SK, where={"PK": BeginsWith("U#")}, old=Form.of({"PK": "U#{x}"}),
                   key=Form.of({"PK": "P#{x}"}))  # fmt: skip
    rewrite = Rewrite((into, within))
    assert [one.code for one in rewrite.problems_of("users", wire(id="1"))] == ["twin-is-selected"]
    assert rewrite.problems_of("app", wire(PK="U#1", SK="1")) == ()


def test_an_item_that_two_routes_would_move_is_told() -> None:
    again = Route("users", "two", (KeyAttribute("id"),), PK_SK, key=Form.of({"PK": "V#{id}", "SK": "{id}"}))
    item = wire(id="1")
    assert [one.code for one in Rewrite((USERS, again)).problems_of("users", item)] == ["selected-twice"]
    assert Rewrite((USERS, again), moves=False).problems_of("users", item) == ()


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (wire(DeviceID="d", Date="1"), "template-attribute-absent"),
        (wire(DeviceID="d", Date="1", State=["x"]), "template-attribute-absent"),
        (wire(DeviceID="d", Date="1", State="s" * 1024), "new-key-size"),
        (wire(DeviceID="d", Date="1", State="A#B"), None),
        (wire(DeviceID="d", Date="1", State=5), None),
        (wire(DeviceID="d", Date="1#2", State=""), None),
    ],
)
def test_why_an_item_has_no_new_form(item: Item, code: str | None) -> None:
    found = DEVICES.twin_of(item)
    assert (found.code if isinstance(found, Problem) else None) == code
    assert DEVICES.side_of("log", item) == "old"


def test_a_delimiter_in_a_value_is_no_harm_where_the_attribute_tells_and_is_told_where_it_does_not() -> None:
    first, second = wire(DeviceID="d", Date="C", State="A#B"), wire(DeviceID="d", Date="B#C", State="A")
    for old in (first, second):
        assert image(DEVICES.source_of(image(DEVICES.twin_of(old)).item)).item == old
    world = World(DEVICES)
    world.put("log", first, second)
    assert isinstance(world.settle("old", key_of(first, DEVICES.source_names)), Equal)
    assert isinstance(world.settle("old", key_of(second, DEVICES.source_names)), Collision)
    within = Route("t", "t", PK_SK, PK_SK, old=Form.of({"SK": "E#{a}#{b}"}), key=Form.of({"SK": "F#{b}#{a}"}))
    assert isinstance(within.twin_of(wire(PK="p", SK="E#x#y")), Image)
    assert problem(within.twin_of(wire(PK="p", SK="E#x#y#z"))).code == "source-not-derivable"


def test_a_function_that_fails_says_where_and_quotes_nothing() -> None:
    def by_name(item: ItemView) -> dict[str, object]:
        return {"id": item["name"].lower()}

    def wrong(_: ItemView) -> dict[str, object]:
        return {"id": "x", "other": "y"}

    def none(_: ItemView) -> None:
        return None

    def whole(item: ItemView) -> dict[str, object]:
        return dict(item)

    def route(function: object) -> Route:
        return Route("a", "b", (KeyAttribute("id"),), (KeyAttribute("id"),), key=function)  # type: ignore[arg-type]

    found = problem(route(by_name).twin_of(wire(id="1")))
    assert found.code == "template-attribute-absent"
    assert "KeyError: 'name' in by_name" in found.message
    assert "name" in found.reads
    found = problem(route(by_name).twin_of(wire(id="1", name=["secret"])))
    assert "AttributeError" in found.message
    assert "secret" not in found.message
    assert problem(route(wrong).twin_of(wire(id="1"))).code == "no-key-attribute"
    assert problem(route(none).twin_of(wire(id="1"))).code == "bad-key-function"
    assert problem(route(whole).twin_of(wire(id="1"))).code == "reads-whole-item"


def test_a_new_item_whose_key_its_attributes_contradict_is_no_twin_of_anything() -> None:
    stray = wire(DeviceID="d", Date="1", State="NEW") | {"State#Date": {"S": "OLD#1"}}
    assert isinstance(DEVICES.source_of(stray), NoImage)
    marked = {**image(LOWER.twin_of(wire(id="Bob"))).item, "id": {"S": "other"}}
    assert problem(LOWER.source_of(marked)).code == "key-contradicts"
    assert image(LOWER.attributed("new", marked)).key == wire(id="Bob")


def test_a_new_item_that_the_old_table_would_not_take_is_told() -> None:
    route = Route("a", "b", (KeyAttribute("id"),), (KeyAttribute("k"),), key=Form.of({"k": "{id}"}),
                  old=Form.of({"id": "prefix{x}"}))  # fmt: skip
    assert isinstance(route.source_of(wire(k="other")), NoImage)
    long = Route(
        "a", "b", (KeyAttribute("p"), KeyAttribute("id")), (KeyAttribute("k"),), key=Form.of({"k": "{p}#{id}"})
    )
    assert problem(long.source_of(wire(k="p#" + "x" * 1100))).code == "old-key-size"
    assert problem(long.source_of(wire(k="p#"))).code == "old-key-empty"


def test_a_form_that_its_table_has_no_room_for_is_told() -> None:
    large = wire(DeviceID="d", Date="1" * 900, State="s", x="x" * 407_900)
    assert problem(DEVICES.twin_of(large)).code == "twin-too-large"
    wider = Route("a", "b", (KeyAttribute("id"),), (KeyAttribute("k"),), old=Form.of({"id": "x" * 900 + "{i}"}),
                  key=Form.of({"k": "{i}"}), keep=("big",))  # fmt: skip
    assert problem(wider.source_of(wire(k="1", big="x" * 409_000))).code == "twin-too-large"


def test_what_says_that_a_twin_stays_where_it_is_is_among_what_was_read() -> None:
    """Its twin would move once more if `kind` were another: whoever relies on it guards it."""
    route = Route("t", "t", PK_SK, PK_SK, where={"PK": BeginsWith("A"), "kind": "x"}, old=Form.of({"PK": "A{n}"}),
                  key=Form.of({"PK": "B{n}"}))  # fmt: skip
    assert "kind" in image(route.twin_of(wire(PK="A1", SK="s", kind="x"))).reads


def test_awkward_names_and_unicode_go_both_ways() -> None:
    route = Route(
        "a",
        "b",
        (KeyAttribute("a.b"), KeyAttribute("名前")),
        (KeyAttribute("#k"), KeyAttribute(":v")),
        key=Form.of({"#k": "é#{a.b}", ":v": "{{{名前}}}"}),
    )
    old = plain({"a.b": "x{y}", "名前": "e\u0301💥", "size": None, "": "", "a[0]": {1, 2}, "State#Date": b"\x00"})
    twin = image(route.twin_of(old))
    assert twin.key == {"#k": {"S": "é#x{y}"}, ":v": {"S": "{e\u0301💥}"}}
    assert same_item(image(route.source_of(twin.item)).item, old)


def test_the_first_transaction_of_a_pair_puts_the_whole_twin_while_the_item_is_as_read() -> None:
    world = World(DEVICES)
    item = wire(DeviceID="d", Date="1", State="s", n=5)
    world.put("log", item)
    verdict, _ = world.decide("old", key_of(item, DEVICES.source_names))
    assert isinstance(verdict, Repair)
    assert verdict.what == "put"
    (check,) = verdict.checks
    assert check.guard == {"State": {"S": "s"}, "n": {"N": "5"}, "State#Date": None}


def test_a_claim_is_no_old_item_even_where_everything_is_selected() -> None:
    claims = replace(CLAIMS, where={})
    claim = image(claims.twin_of(wire(PK="U#1", SK="META", email="a@b"))).item
    assert isinstance(claims.twin_of(claim), NoImage)
    assert claims.side_of("app", claim) == "new"


def test_an_item_that_has_an_attribute_of_the_mark_s_name_is_told() -> None:
    assert problem(LOWER.twin_of(wire(id="Bob") | {MARK: {"S": "mine"}})).code == "attribute-in-use"


def test_a_place_whose_owner_has_no_new_form_any_more_is_not_taken_from_it() -> None:
    world = World(CLAIMS)
    world.put("app", wire(PK="U#1", SK="META", email="a@b"))
    world.settle("old", wire(PK="U#1", SK="META"))
    world.put("app", wire(PK="U#1", SK="META", email=["a@b"]), wire(PK="U#2", SK="META", email="a@b"))
    found = world.settle("old", wire(PK="U#2", SK="META"))
    assert found == Collision(Place("app", wire(PK="EMAIL#a@b", SK="CLAIM")), Place("app", wire(PK="U#1", SK="META")))


def test_what_was_left_and_differs_in_too_much_for_one_transaction_goes_first() -> None:
    world = World(LOWER)
    world.put("people", wire(id="Bob", **{f"a{n}": n for n in range(100)}))
    world.settle("old", wire(id="Bob"))
    world.remove("people", wire(id="Bob"))
    world.put("people", wire(id="BOB", **{f"b{n}": n for n in range(100)}))
    assert isinstance(world.settle("old", wire(id="BOB")), Equal)
    assert [repair.what for repair in world.log] == ["put", "delete", "put"]
    assert world.differences("old") == []


def test_a_field_that_stands_in_two_attributes_has_one_value() -> None:
    twice = Form.of({"PK": "U#{x}", "SK": "{x}#M"})
    assert twice.parse(ItemView(wire(PK="U#1", SK="1#M"))) == {"x": {"S": "1"}}
    assert twice.parse(ItemView(wire(PK="U#1", SK="2#M"))) is None


def test_at_contract_an_old_item_that_differs_or_whose_place_is_another_s_stays() -> None:
    old = wire(DeviceID="d", Date="1", State="s", n=1)
    home, there = Place("log", key_of(old, DEVICES.source_names)), wire(DeviceID="d") | {"State#Date": {"S": "s#1"}}
    for new in ({**old, **there, "n": {"N": "2"}}, {**there, "owner": {"S": "somebody"}}):
        world = World(DEVICES)
        world.put("log", old)
        world.put("log-by-state", new)
        found = superseded(DEVICES, home.key, world.read([home, Place("log-by-state", there)]))
        assert isinstance(found, Failed)
        assert found.code == STRAY


def test_on_the_way_back_what_is_no_twin_of_the_item_stays() -> None:
    world = World(LOWER)
    world.put("people", wire(id="Bob"), wire(id="BOB"))
    world.settle("old", wire(id="BOB"))
    seen = world.read([Place("people", wire(id="Bob")), Place("folded", wire(id="bob"))])
    assert taken_back(LOWER, wire(id="Bob"), wire(id="bob"), seen) == Equal(None)


def test_what_is_to_be_read_is_always_named_as_a_whole() -> None:
    # A reader that takes every item anew at one moment, and no other, is never asked in circles.
    names = ("Bob", "bob", "BOB")
    world = World(LOWER)
    for name in names:
        world.put(LOWER.source, {"id": {"S": name}})
    world.put(LOWER.target, image(LOWER.twin_of({"id": {"S": "Bob"}})).item)
    verdict, _ = world.decide("old", {"id": {"S": "BOB"}}, [{"id": {"S": "ß"}}, {"id": {"S": "Bob"}}])
    assert isinstance(verdict, Collision)
