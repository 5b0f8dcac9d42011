from __future__ import annotations

import functools
from decimal import Decimal
from typing import Any

import pytest

from migrator import AddIndex, Backfill, N, OneOf
from migrator.core import steps
from migrator.core.template import Template
from migrator.core.transform import Transform
from migrator.core.where import Absent, BeginsWith, Exists
from migrator.errors import UsageError
from tests.operations import functions
from tests.operations.schemas import SCHEMA, rules


def nested(item: Any) -> dict[str, Any]:
    return {}


def a_nested_function() -> Any:
    def inner(item: Any) -> dict[str, Any]:
        return {}

    return inner


def refused(**options: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        Backfill(**options)
    assert caught.value.exit_code == 2
    return caught.value


# --- construction -----------------------------------------------------------------------------------------------------


def test_a_string_is_a_template_and_anything_else_a_constant() -> None:
    work = Backfill(
        set={
            "GSI2PK": "TENANT#{tenantId}",
            "kind": "Task",
            "brace": "{{x}}",
            "n": Decimal("1.50"),
            "big": 10**37,
            "flag": False,
            "tags": {"b", "a"},
            "deep": {"l": [1, None, b"x"]},
        }
    ).transform
    assert work.set == {
        "GSI2PK": Template.parse("TENANT#{tenantId}"),
        "kind": {"S": "Task"},
        "brace": {"S": "{x}"},
        "n": {"N": "1.50"},
        "big": {"N": "1" + "0" * 37},
        "flag": {"BOOL": False},
        "tags": {"SS": ["a", "b"]},
        "deep": {"M": {"l": {"L": [{"N": "1"}, {"NULL": True}, {"B": b"x"}]}}},
    }


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({}, "nothing-to-do", "set, remove, rename or transform"),
        ({"where": {"a": 1}}, "nothing-to-do", ""),
        ({"set": {"a": "{b"}}, "bad-template", "set a: template '{b'"),
        ({"set": {"a": 1.5}}, "float-value", "set a"),
        ({"set": {"a": {"deep": [0.1]}}}, "float-value", "set a.deep[0]"),
        ({"set": {"a": None}}, "bad-option", "None"),
        ({"set": {"a": set()}}, "empty-set", "set a"),
        ({"set": {"a": object()}}, "unknown-type", "set a"),
        ({"set": {"": "x"}}, "bad-option", "no attribute name"),
        ({"set": {5: "x"}}, "bad-option", "no attribute name"),
        ({"remove": [""]}, "bad-option", "no attribute name"),
        ({"remove": ["a", "a"]}, "bad-option", "twice"),
        ({"rename": {"a": "a"}}, "bad-option", "twice"),
        ({"rename": {"a": "c", "b": "c"}}, "bad-option", "twice"),
        ({"rename": {"a": "b", "b": "c"}}, "bad-option", "twice"),
        ({"set": {"a": "x"}, "remove": ["a"]}, "bad-option", "written by two"),
        ({"set": {"a": "x"}, "rename": {"b": "a"}}, "bad-option", "written by two"),
        ({"set": {"v": "x"}, "version": "v"}, "bad-option", "written by two"),
        ({"set": {"a": "x"}, "missing": "ignore"}, "bad-option", "missing='ignore'"),
        ({"set": {"a": "x"}, "undo": "yes"}, "bad-option", "undo='yes'"),
        ({"set": {"a": "x"}, "check": "full"}, "bad-option", "check='full'"),
        ({"transform": functions.title, "set": {"a": "x"}}, "bad-option", "not both"),
        ({"transform": functions.title, "remove": "a"}, "bad-option", "not both"),
        ({"transform": functions.title, "missing": "skip"}, "bad-option", "missing="),
        ({"set": {"a": "x"}, "where": {"b": 1.5}}, "float-value", "where b"),
        ({"set": {"a": "x"}, "where": {"b": Exists}}, "bad-where", "Exists("),
        ({"set": {"a": "x"}, "where": {"b": OneOf()}}, "bad-where", "nothing"),
        ({"set": {"a": "x"}, "where": {"b": BeginsWith(5)}}, "bad-where", "string"),
        ({"set": {"a": "x"}, "where": ["b"]}, "bad-where", "named function"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_construction(options: dict[str, Any], code: str, words: str) -> None:
    error = refused(**options)
    assert error.code == code
    assert words in error.message


@pytest.mark.parametrize(
    "function",
    [
        lambda item: {},
        a_nested_function(),
        functools.partial(functions.title),
        functions.Callable(),
        functions.Callable().method,
        dict,
        len,
    ],
)
def test_a_function_without_a_name_in_its_module_is_refused(function: Any) -> None:
    error = refused(transform=function)
    assert error.code == "anonymous-function"
    assert "def" in (error.hint or "")


def test_a_where_must_be_a_named_function_too() -> None:
    assert refused(set={"a": "x"}, where=lambda item: True).code == "anonymous-function"
    assert Backfill(set={"a": "x"}, where=functions.is_task).transform.where is functions.is_task
    assert refused(set={"a": "x"}, where=functions.project_name).code == "bad-function"


@pytest.mark.parametrize(
    "function", [functions.nothing, functions.three, functions.keyword, functions.later, functions.several]
)
def test_a_function_that_cannot_be_called_with_an_item_is_refused(function: Any) -> None:
    assert refused(transform=function).code == "bad-function"


def test_it_is_equal_by_content_and_cannot_be_changed_from_outside() -> None:
    where = {"entity": "Task"}
    first = Backfill(where=where, set={"a": "{b}"})
    where["entity"] = "User"
    assert first == Backfill(where={"entity": "Task"}, set={"a": "{b}"})
    assert first.transform.where == {"entity": "Task"}


# --- lint -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"set": {"a": "{b}"}}, []),
        ({"set": {"a": "{b}"}, "table": "nope"}, ["unknown-table"]),
        ({"set": {"PK": "{b}"}}, ["table-key"]),
        ({"remove": ["SK"]}, ["table-key"]),
        ({"rename": {"SK": "x"}}, ["table-key"]),
        ({"rename": {"x": "SK"}}, ["table-key"]),
        ({"set": {"a": "x"}, "version": "SK"}, ["table-key"]),
        ({"transform": functions.title}, []),
        ({"transform": functions.title, "version": "SK"}, ["table-key"]),
        ({"remove": ["owner"], "table": "indexed"}, ["warning:leaves-index"]),
        ({"rename": {"owner": "o"}, "table": "indexed"}, ["warning:leaves-index"]),
        ({"set": {"owner": 5}, "table": "indexed"}, ["index-key-type"]),
        ({"set": {"owner": "{{"}, "table": "indexed"}, []),
        ({"set": {"owner": ""}, "table": "indexed"}, ["index-key-empty"]),
        ({"set": {"at": "x" * 1025}, "table": "indexed"}, ["index-key-size"]),
        ({"set": {"owner": "U#{user}"}, "table": "indexed"}, []),
    ],
)
def test_lint(options: dict[str, Any], found: list[str]) -> None:
    assert rules(Backfill(**options)) == found


def test_a_template_of_text_for_a_numeric_index_key_is_refused() -> None:
    schema = AddIndex("ByScore", partition_key=N("score")).plan(SCHEMA).after
    assert rules(Backfill(set={"score": "#{points}"}), schema) == ["index-key-type"]
    assert rules(Backfill(set={"score": "{points}"}), schema) == []


@pytest.mark.parametrize(
    "options",
    [
        {"set": {"name": "{name}!"}},
        {"set": {"a": "{b}", "b": "{c}"}},
        {"set": {"a": "{b}", "b": 5}},
        {"set": {"a": "{v}"}, "version": "v"},
        {"set": {"a": "{new}"}, "rename": {"old": "new"}},
        {"set": {"a": "{old}"}, "rename": {"old": "new"}},
        {"set": {"a": "X#{old}"}, "remove": ["old"]},
        {"set": {"a": "X#{old}"}, "remove": ["old"], "missing": "remove"},
        {"set": {"name": "{name}!", "v": 2}, "where": {"v": Exists()}},
        {"set": {"name": "{name}!", "v": "xy"}, "where": {"v": BeginsWith("x")}},
        {"set": {"name": "{name}!", "v": 2}, "where": {"other": Absent()}},
        {"set": {"name": "{name}!", "v": 2}, "where": {"v": OneOf(1, 2)}},
        {"set": {"name": "{name}!"}, "where": {"name": Exists()}},
        {"set": {"name": "{name}!"}, "where": {"name": BeginsWith("a")}},
        {"set": {"name": "USER#{name}"}, "where": {"name": BeginsWith("USER#1")}},
        {"set": {"a": "{a}!"}, "where": {"a": Absent()}, "missing": "remove"},
    ],
)
def test_a_template_that_reads_what_the_step_writes_is_refused(options: dict[str, Any]) -> None:
    assert set(rules(Backfill(**options))) == {"non-idempotent"}
    assert rules(Backfill(**options, once=True)) == []


@pytest.mark.parametrize(
    "options",
    [
        {"set": {"a": "{a}"}},
        {"set": {"a": "X#{old}"}, "remove": ["old"], "missing": "skip"},
        {"set": {"a": "X#{old}"}, "remove": ["old"], "where": {"old": Exists()}},
        {"set": {"a": "X#{old}"}, "rename": {"old": "new"}, "where": {"old": BeginsWith("x")}},
        {"set": {"name": "{name}!", "v": 2}, "where": {"v": Absent()}},
        {"set": {"name": "{name}!", "v": 2}, "where": {"v": 1}},
        {"set": {"name": "{name}!", "v": 2}, "where": {"v": OneOf(0, 1)}},
        {"set": {"name": "USER#{name}"}, "where": {"name": BeginsWith("user#")}},
        {"set": {"name": "{name}!", "v": 2}, "where": {"v": BeginsWith("x")}},
        {"set": {"name": "{name}!", "v": "y"}, "where": {"v": BeginsWith("x")}},
        {"set": {"name": "{name}!"}, "where": {"name": Absent()}},
        {"set": {"name": "{name}!"}, "where": functions.is_task},
    ],
)
def test_a_step_that_cannot_meet_its_own_result_is_let_through(options: dict[str, Any]) -> None:
    assert rules(Backfill(**options)) == []


# --- plan -------------------------------------------------------------------------------------------------------------


def test_the_plan_is_one_step_and_its_undo() -> None:
    plan = Backfill(where={"entity": "Task"}, set={"a": "U#{b}"}, missing="skip", check="none").plan(SCHEMA)
    work = Transform(where={"entity": "Task"}, set={"a": Template.parse("U#{b}")}, missing="skip")
    step = steps.TransformItems("app", work, undo="auto", check="none")
    assert plan.apply == (step,)
    assert plan.rollback == (steps.UndoItems("app", of=step, step=0),)
    assert plan.after == SCHEMA
    assert plan.irreversible is None
    assert not plan.destructive


def test_undo_none_is_irreversible_and_says_why() -> None:
    plan = Backfill(set={"a": "x"}, undo="none").plan(SCHEMA)
    assert plan.rollback == ()
    assert plan.irreversible is not None
    assert 'undo="none"' in plan.irreversible


@pytest.mark.parametrize(
    ("options", "undo"),
    [
        ({"set": {"a": "{b}"}}, "auto"),
        ({"set": {"a": "{b}"}, "undo": "journal"}, "journal"),
        ({"remove": ["a"]}, "journal"),
        ({"rename": {"a": "b"}}, "journal"),
        ({"transform": functions.title}, "journal"),
        ({"set": {"a": "{b}"}, "once": True}, "journal"),
        ({"set": {"a": "{b}"}, "version": "v"}, "journal"),
        ({"remove": ["a"], "undo": "none"}, "none"),
    ],
)
def test_auto_keeps_a_journal_where_removing_would_not_restore(options: dict[str, Any], undo: str) -> None:
    operation = Backfill(**options)
    (step,) = operation.plan(SCHEMA).apply
    assert isinstance(step, steps.TransformItems)
    assert step.undo == undo == operation.kept_undo


def test_a_backfill_that_removes_is_destructive() -> None:
    assert Backfill(remove="a").plan(SCHEMA).destructive
    assert not Backfill(rename={"a": "b"}).plan(SCHEMA).destructive


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"set": {"a": "x"}}, "every item of the table is selected; control records of this tool are skipped"),
        ({"set": {"a": "x"}}, "if no item had it before the step"),
        ({"set": {"a": "{b}"}, "missing": "skip"}, "stay as they are"),
        ({"set": {"a": "{b}"}, "missing": "remove"}, "lose the attribute"),
        ({"set": {"a": "x"}, "table": "indexed"}, "is written there too"),
        ({"set": {"owner": "x"}, "table": "indexed"}, "a changed one costs two writes"),
        ({"transform": functions.project_name}, "repeats its pass until it finds nothing"),
        ({"transform": functions.title}, "journal"),
        ({"set": {"a": "{a}!"}, "once": True}, "transaction with a journal record"),
        ({"set": {"a": "x"}, "version": "v"}, "raises v by one"),
        ({"set": {"a": "x"}, "check": "none"}, "goes unnoticed"),
    ],
)
def test_the_plan_says_what_to_know(options: dict[str, Any], words: str) -> None:
    assert words in "\n".join(Backfill(**options).plan(SCHEMA).notes)


def test_no_note_speaks_of_what_does_not_apply() -> None:
    notes = "\n".join(Backfill(where={"a": 1}, set={"b": "x"}, undo="journal").plan(SCHEMA).notes)
    assert notes == "the way back is a journal: one more record is written for each changed item"
