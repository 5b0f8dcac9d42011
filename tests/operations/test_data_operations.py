from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from migrator import DeleteItems, Exists, PutItems, RemoveAttributes, RenameAttribute, RunPython
from migrator.core import steps
from migrator.core.transform import Transform
from migrator.errors import UsageError
from tests.operations import functions
from tests.operations.schemas import SCHEMA, rules

# --- RemoveAttributes -------------------------------------------------------------------------------------------------


def test_removal_is_destructive_and_journalled() -> None:
    plan = RemoveAttributes(["a", "b"], where={"entity": "Task"}).plan(SCHEMA)
    step = steps.TransformItems(
        "app", Transform(where={"entity": "Task"}, remove=("a", "b")), undo="journal", label="clean up"
    )
    assert plan.apply == (step,)
    assert plan.rollback == (steps.UndoItems("app", of=step, step=0),)
    assert plan.destructive
    assert plan.irreversible is None
    assert step.title == "clean up app: remove a, b"


def test_removal_without_a_journal_is_irreversible() -> None:
    plan = RemoveAttributes("a", undo="none").plan(SCHEMA)
    assert (plan.rollback, plan.destructive) == ((), True)
    assert plan.irreversible is not None


def test_removal_lint() -> None:
    assert rules(RemoveAttributes("a")) == []
    assert rules(RemoveAttributes(["PK", "a"])) == ["table-key"]
    assert rules(RemoveAttributes("at", table="indexed")) == ["warning:leaves-index"]
    assert rules(RemoveAttributes("a", table="nope")) == ["unknown-table"]


def test_writes_that_go_to_indexes_too_are_named() -> None:
    assert any("ByOwner" in note for note in RemoveAttributes("a", table="indexed").plan(SCHEMA).notes)
    assert any("ByOwner" in note for note in RenameAttribute("a", "b", table="indexed").plan(SCHEMA).notes)
    assert any("ByOwner" in note for note in PutItems({"PK": "a", "SK": "b"}, table="indexed").plan(SCHEMA).notes)


@pytest.mark.parametrize(("names", "options"), [([], {}), ("a", {"undo": "auto"}), (["a", "a"], {}), ("", {})])
def test_bad_removals_are_refused_at_construction(names: Any, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        RemoveAttributes(names, **options)


# --- RenameAttribute --------------------------------------------------------------------------------------------------


def test_a_rename_copies_asks_and_then_moves_what_is_left() -> None:
    plan = RenameAttribute("st", "status", where={"entity": "Task"}).plan(SCHEMA)
    (copy,) = plan.apply
    assert isinstance(copy, steps.TransformItems)
    assert copy.transform == Transform(where={"entity": "Task"}, copy={"st": "status"})
    assert copy.undo == "auto"
    assert plan.rollback == (steps.UndoItems("app", of=copy, step=0),)
    (stage,) = plan.stages
    assert stage.name == "complete"
    (move,) = stage.steps
    assert isinstance(move, steps.TransformItems)
    assert move.transform == Transform(where={"entity": "Task"}, rename={"st": "status"})
    assert "status" in stage.gate
    assert not plan.destructive
    assert any("RenameAttribute('status', 'st')" in note for note in plan.notes)


def test_rename_lint() -> None:
    assert rules(RenameAttribute("a", "b")) == []
    assert rules(RenameAttribute("PK", "b")) == ["table-key"]
    assert rules(RenameAttribute("a", "SK")) == ["table-key"]
    assert rules(RenameAttribute("owner", "o", table="indexed")) == ["warning:leaves-index"]
    assert rules(RenameAttribute("a", "b", table="nope")) == ["unknown-table"]


@pytest.mark.parametrize(
    ("old", "new", "options"),
    [
        ("a", "a", {}),
        ("", "a", {}),
        ("a", "", {}),
        ("a", "b", {"undo": "none"}),
        ("a", "b", {"where": {"a": Exists()}}),
        ("a", "b", {"where": {"b": "x"}}),
        ("a", "b", {"where": lambda item: True}),
    ],
)
def test_bad_renames_are_refused_at_construction(old: str, new: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        RenameAttribute(old, new, **options)


# --- PutItems ---------------------------------------------------------------------------------------------------------


def test_items_are_kept_exactly() -> None:
    operation = PutItems(
        [{"PK": "a", "SK": "b", "n": Decimal("1.50"), "none": None, "tags": {"y", "x"}, "raw": b"\x00"}]
    )
    assert operation.items == (
        {
            "PK": {"S": "a"},
            "SK": {"S": "b"},
            "n": {"N": "1.50"},
            "none": {"NULL": True},
            "tags": {"SS": ["x", "y"]},
            "raw": {"B": b"\x00"},
        },
    )
    plan = operation.plan(SCHEMA)
    (step,) = plan.apply
    assert step == steps.PutItems("app", operation.items)
    assert plan.rollback == (steps.UndoItems("app", of=step, step=0),)
    assert not plan.destructive


def test_a_single_item_needs_no_list() -> None:
    assert PutItems({"PK": "a", "SK": "b"}) == PutItems([{"PK": "a", "SK": "b"}])


@pytest.mark.parametrize(
    ("items", "table", "found"),
    [
        ([{"PK": "a", "SK": "b"}, {"PK": "a", "SK": "c"}], "app", []),
        ([{"PK": "a"}], "app", ["key-missing"]),
        ([{"PK": 5, "SK": "b"}], "app", ["key-type"]),
        ([{"PK": "", "SK": "b"}], "app", ["key-empty"]),
        ([{"PK": "x" * 2049, "SK": "b"}], "app", ["key-size"]),
        ([{"PK": "x" * 2048, "SK": "b" * 1025}], "app", ["key-size"]),
        ([{"PK": None, "SK": "b"}], "app", ["key-null"]),
        ([{"PK": "a", "SK": "b", "n": 1}, {"PK": "a", "SK": "b", "n": 2}], "app", ["duplicate-key"]),
        ([{"PK": "a", "SK": "b", "owner": 5}], "app", []),
        ([{"PK": "a", "SK": "b", "owner": 5}], "indexed", ["index-key-type"]),
        ([{"PK": "a", "SK": "b", "owner": ""}], "indexed", ["index-key-empty"]),
        ([{"PK": "a", "SK": "b", "big": "x" * 409_600}], "app", ["item-too-large"]),
        ([{"PK": "a", "SK": "b"}], "nope", ["unknown-table"]),
    ],
)
def test_put_lint(items: list[dict[str, Any]], table: str, found: list[str]) -> None:
    assert rules(PutItems(items, table=table)) == found


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([], "nothing-to-do"),
        (["x"], "bad-item"),
        ([{"PK": "a", "price": 1.5}], "float-value"),
        ([{"PK": "a", "": 1}], "bad-option"),
    ],
)
def test_bad_items_are_refused_at_construction_with_their_number(items: list[Any], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        PutItems(items)
    assert caught.value.code == code
    assert code == "nothing-to-do" or "item 1" in caught.value.message


# --- DeleteItems ------------------------------------------------------------------------------------------------------


def test_deletion_is_destructive_and_its_way_back_puts_again() -> None:
    plan = DeleteItems({"entity": "Draft"}, table="indexed").plan(SCHEMA)
    (step,) = plan.apply
    assert step == steps.DeleteItems("indexed", {"entity": "Draft"})
    assert plan.rollback == (steps.UndoItems("indexed", of=step, step=0),)
    assert plan.destructive
    assert any("ByOwner" in note for note in plan.notes)
    assert any("unnoticed" in note for note in DeleteItems({"a": 1}, check="none").plan(SCHEMA).notes)


def test_deleting_everything_must_be_said_by_a_function() -> None:
    with pytest.raises(UsageError) as caught:
        DeleteItems({})
    assert caught.value.code == "selects-everything"
    assert rules(DeleteItems(functions.is_task)) == []
    assert rules(DeleteItems({"a": 1}, table="nope")) == ["unknown-table"]


# --- RunPython --------------------------------------------------------------------------------------------------------


def test_a_program_is_irreversible_unless_it_brings_its_undo() -> None:
    alone = RunPython(functions.seed).plan(SCHEMA)
    assert alone.apply == (steps.RunFunction("app", functions.seed),)
    assert alone.rollback == ()
    assert alone.irreversible is not None
    both = RunPython(functions.seed, undo=functions.unseed, table="indexed").plan(SCHEMA)
    assert both.rollback == (steps.RunFunction("indexed", functions.unseed),)
    assert both.irreversible is None
    assert rules(RunPython(functions.seed, table="nope")) == ["unknown-table"]


@pytest.mark.parametrize("function", [lambda table: None, functions.nothing, functions.project_name, functions.later])
def test_a_program_must_be_a_named_function_of_one_table(function: Any) -> None:
    with pytest.raises(UsageError):
        RunPython(function)
    with pytest.raises(UsageError):
        RunPython(functions.seed, undo=function)
