"""`decide`: what a data step does to one item, in Python values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from migrator import AddIndex, Backfill, DropIndex, ItemView, Lookup, N, RemoveAttributes, RenameAttribute
from migrator.errors import UsageError
from migrator.testing import decide

TASK = {"PK": "TENANT#1", "SK": "TASK#1", "entity": "Task", "tenant": "t1", "rank": Decimal("1.5")}


def appended(item: ItemView) -> dict[str, Any]:
    return {"tenant": item["tenant"] + "!"}


def test_a_template_gives_the_change_and_the_item_afterwards() -> None:
    decision = decide(Backfill(where={"entity": "Task"}, set={"GSI1PK": "TENANT#{tenant}"}), TASK)
    assert decision.outcome == "changed"
    assert decision.set == {"GSI1PK": "TENANT#t1"}
    assert decision.item == {**TASK, "GSI1PK": "TENANT#t1"}
    assert decision.guarded == {"entity", "tenant", "GSI1PK"}


def test_an_item_that_is_right_already_is_unchanged() -> None:
    decision = decide(Backfill(set={"GSI1PK": "TENANT#{tenant}"}), {**TASK, "GSI1PK": "TENANT#t1"})
    assert (decision.outcome, decision.set) == ("unchanged", {})


def test_an_item_of_another_kind_is_not_selected() -> None:
    assert decide(Backfill(where={"entity": "User"}, set={"x": 1}), TASK).outcome == "not-selected"


def test_an_absent_attribute_skips_or_fails_as_the_step_says() -> None:
    skipped = decide(Backfill(set={"GSI1PK": "USER#{assignee}"}, missing="skip"), TASK)
    assert (skipped.outcome, skipped.item) == ("skipped", TASK)
    assert "assignee" in skipped.reason
    failed = decide(Backfill(set={"GSI1PK": "USER#{assignee}"}), TASK)
    assert (failed.outcome, failed.code) == ("failed", "template-attribute-absent")


def test_a_function_alone_is_decided_on_as_the_transform_of_a_backfill() -> None:
    def ranked(item: ItemView) -> dict[str, Any]:
        return {"rank2": item["rank"] * 2, "tenant": None}

    decision = decide(ranked, TASK)
    assert decision.set == {"rank2": 3}
    assert decision.remove == {"tenant"}
    assert "tenant" not in decision.item


def test_what_a_function_raises_is_the_reason() -> None:
    def broken(item: ItemView) -> dict[str, Any]:
        return {"x": item["nothing"]}

    decision = decide(broken, TASK)
    assert decision.code == "transform-error"
    assert decision.reason.startswith("KeyError: 'nothing' in broken(), line ")


def test_a_step_that_changes_its_own_result_again_fails() -> None:
    assert decide(appended, TASK).code == "not-idempotent"
    assert decide(Backfill(transform=appended, once=True), TASK).item["tenant"] == "t1!"


def test_a_lookup_finds_the_items_beside_and_elsewhere_and_what_it_found_is_guarded() -> None:
    def with_names(item: ItemView, lookup: Lookup) -> dict[str, Any]:
        beside = [other["SK"] for other in lookup.collection()]
        owner = lookup.get({"id": 7}, table="users")
        return {"beside": beside, "owner": owner["name"] if owner else "nobody"}

    others = [{"PK": "TENANT#1", "SK": sort} for sort in ("TASK#3", "TASK#2")]
    elsewhere = {"users": (("id",), [{"id": 7, "name": "Ada"}])}
    decision = decide(with_names, TASK, beside=[*others, {"PK": "TENANT#2", "SK": "TASK#9"}], elsewhere=elsewhere)
    assert decision.set == {"beside": ["TASK#2", "TASK#3"], "owner": "Ada"}
    assert set(decision.looked_up) == {'PK="TENANT#1" SK="TASK#2"', 'PK="TENANT#1" SK="TASK#3"', "id=7"}


def test_numeric_sort_keys_are_in_numeric_order() -> None:
    def first(item: ItemView, lookup: Lookup) -> dict[str, Any]:
        return {"first": lookup.collection()[0]["at"]}

    items = [{"id": "a", "at": at} for at in (10, 9)]
    assert decide(first, {"id": "a", "at": 11}, beside=items, key=("id", "at")).set == {"first": 9}


def test_a_lookup_into_a_table_that_was_not_given_says_how_to_give_it() -> None:
    def looks(item: ItemView, lookup: Lookup) -> dict[str, Any]:
        lookup.get({"id": 1}, table="users")
        return {}

    with pytest.raises(UsageError, match="users") as refused:
        decide(looks, TASK)
    assert "elsewhere=" in str(refused.value.hint)


def test_a_value_that_an_index_cannot_have_as_key_is_refused_with_the_index() -> None:
    step = Backfill(set={"score": "high"}, table="app")
    decision = decide(step, TASK, indexes=[AddIndex("ByScore", partition_key=N("score"), table="app")])
    assert (decision.outcome, decision.code) == ("failed", "index-key-type")
    assert "ByScore" in decision.reason
    assert decide(step, TASK).outcome == "changed"


def test_renames_and_removals_are_decided_on_too() -> None:
    assert decide(RenameAttribute("tenant", "tenantId"), TASK).set == {"tenantId": "t1"}
    assert decide(RemoveAttributes("tenant"), TASK).remove == {"tenant"}
    assert decide(RenameAttribute("tenant", "rank"), TASK).code == "rename-conflict"


def test_an_operation_that_changes_no_items_is_refused() -> None:
    with pytest.raises(UsageError, match="DropIndex does not change items"):
        decide(DropIndex("ByScore"), TASK, indexes=[AddIndex("ByScore", partition_key="score")])


def test_an_item_without_its_key_is_refused_with_the_way_to_name_the_key() -> None:
    with pytest.raises(UsageError, match="has no PK, SK") as refused:
        decide(Backfill(set={"x": 1}), {"id": "a"})
    assert "key=" in str(refused.value.hint)
    assert decide(Backfill(set={"x": 1}), {"id": "a"}, key=("id",)).set == {"x": 1}
