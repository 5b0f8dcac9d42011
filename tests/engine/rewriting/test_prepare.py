"""What stands in the way is found before anything is written, and named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from migrator.core.item import MAX_ITEM_BYTES, item_size
from migrator.core.schema import KeyAttribute
from migrator.core.where import BeginsWith
from migrator.operations import RewriteKeys
from migrator.operations.index_spec import Index
from migrator.testing.memory import Call
from tests.engine.rewriting.house import NEW, House, log, rewrite_prefix, rewrite_state
from tests.simulation.world import SHAPE, wire


def lower(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"PK": item["PK"].lower()}


def rewrite_lower(**options: Any) -> RewriteKeys:
    return RewriteKeys(where={"PK": BeginsWith("P#")}, key=lower, to="new", **options)


def refused(house: House) -> tuple[str, ...]:
    """What an upgrade says, which writes no item and no phase."""
    before = {table: house.world.items.all(table) for table in house.tables.values()}

    def no_write(call: Call) -> None:
        assert call.operation not in ("items.write", "items.transact", "items.together"), call

    result = house.runner(no_write).upgrade(from_base=True)
    assert (result.state, result.exit_code) == ("incomplete", 6)
    assert house.kept("phase#") == []
    assert {table: house.world.items.all(table) for table in house.tables.values()} == before
    return result.outcomes[-1].examples


def test_all_colliding_keys_are_listed_in_groups_before_any_write() -> None:
    names = ("Bob", "bob", "BOB", "Ann", "ann", "Zoe")
    house = House.of(rewrite_lower(), *({**log(0), "PK": f"P#{name}", "SK": "x"} for name in names), segments=4)
    examples = refused(house)
    groups = [{name for name in names if f"P#{name}" in text} for text in examples]
    assert all(text.startswith("key-collision: ") for text in examples)
    assert sorted(map(sorted, groups)) == [["Ann", "ann"], ["BOB", "Bob", "bob"]]


def test_colliding_keys_are_found_across_segments_and_sources_of_ten_thousand_items() -> None:
    house = House.of(rewrite_lower(), segments=4, world=None)
    house.world.items.page_bytes = 1_000_000
    house.put(*({**log(0), "PK": f"P#k{number}", "SK": "x"} for number in range(10_000)))
    house.put({**log(0), "PK": "P#K77", "SK": "x"})
    (example,) = refused(house)
    assert "P#k77" in example
    assert "P#K77" in example


def test_an_item_that_stands_where_a_twin_belongs_is_a_collision() -> None:
    house = House.of(rewrite_state(), log(1))
    house.world.items.put(NEW, wire({"PK": "P#1", "SK": "s1#day1", "state": "s2"}))
    (example,) = refused(house)
    assert example.startswith("key-collision: ")
    assert "s1#day1" in example


def test_items_that_look_like_twins_before_anything_was_copied_are_refused_by_key() -> None:
    house = House.of(rewrite_prefix(), log(1), {**log(2), "PK": "PERSON#7"})
    (example,) = refused(house)
    assert example.startswith("already-on-the-new-side: ")
    assert "PERSON#7" in example


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"state": None}, "template-attribute-absent"),
        ({"state": "x" * 1020}, "new-key-size"),
        ({"state": [1]}, "template-attribute-absent"),
    ],
)
def test_an_item_whose_new_form_cannot_be_made_is_named(more: Mapping[str, Any], code: str) -> None:
    bad = {name: value for name, value in {**log(1), **more}.items() if value is not None}
    (example,) = refused(House.of(rewrite_state(), bad, log(2)))
    assert example.startswith(f"{code}: ")
    assert "P#1" in example


def test_the_limits_of_both_sides_hold_for_every_item_before_dual_write() -> None:
    bare = log(1, state="s" * 100, blob="")
    full = {**bare, "blob": "x" * (MAX_ITEM_BYTES - item_size(wire(bare)))}
    (example,) = refused(House.of(rewrite_state(), full, log(2)))
    assert example.startswith("twin-too-large: ")
    assert "P#1" in example


def test_a_key_of_an_index_of_the_target_that_a_twin_would_break_is_named() -> None:
    house = House.of(rewrite_state(), log(1), log(2, score="high"))
    by_score = Index("by-score", partition_key=KeyAttribute("score", "N"))
    house.world.tables.drop(NEW)
    house.world.tables.add(NEW, replace(SHAPE, indexes={"by-score": by_score}))
    (example,) = refused(house)
    assert example.startswith("index-key-type: ")
    assert "P#2" in example


def test_a_produced_key_that_would_be_selected_again_is_refused() -> None:
    operation = RewriteKeys(
        where={"PK": BeginsWith("P#")}, key={"PK": "P#X{n}"}, old={"PK": "P#{n}"}, readers="runtime"
    )
    examples = refused(House.of(operation, log(1)))
    assert any(text.startswith("twin-is-selected: ") for text in examples)


def test_items_that_map_to_themselves_are_left_as_they_are() -> None:
    operation = RewriteKeys(where={"PK": BeginsWith("P#")}, key=lower_within, readers="runtime")
    house = House.of(operation, {**log(1), "PK": "P#ann"}, {**log(2), "PK": "P#Bob"})
    house.cut_over()
    assert [item["PK"] for item in house.new] == ["P#ann", "p#bob"]
    assert house.runner().contract(None, yes=True).exit_code == 0
    assert [item["PK"] for item in house.items] == ["P#ann", "p#bob"]


def lower_within(item: Mapping[str, Any]) -> Mapping[str, Any]:
    name = item["PK"].removeprefix("P#")
    return {"PK": item["PK"] if name == name.lower() else f"p#{name.lower()}"}


def test_preparing_again_after_the_items_were_mended_begins_the_rewrite() -> None:
    house = House.of(rewrite_state(), {**log(1), "state": None}, log(2))
    refused(house)
    house.put(log(1))
    assert house.runner().upgrade().exit_code == 9
    assert house.record.phase == "expand"
