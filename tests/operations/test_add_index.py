from __future__ import annotations

from typing import Any

import pytest

from migrator import AddIndex, B, N
from migrator.core import steps
from migrator.core.plan import Operation
from migrator.core.schema import KeyAttribute, Projection, Schema, Throughput
from migrator.errors import UsageError
from tests.operations.schemas import APP, BY_OWNER, PROVISIONED, SCHEMA, rules


def escalations(**changes: Any) -> AddIndex:
    given = {"partition_key": ["tenantId", "escalatedTo"], "sort_key": ["createdAt", "taskId"], **changes}
    return AddIndex("Escalations", **given)


def grown(*operations: Operation, schema: Schema = SCHEMA) -> Schema:
    for operation in operations:
        schema = operation.plan(schema).after
    return schema


def test_names_become_typed_keys() -> None:
    index = AddIndex("X-1", partition_key=N("score"), sort_key=["a", B("h")], projection=["t"]).index
    assert index.partition_key == (KeyAttribute("score", "N"),)
    assert index.sort_key == (KeyAttribute("a"), KeyAttribute("h", "B"))
    assert index.projection == Projection("INCLUDE", frozenset({"t"}))


def test_it_is_a_frozen_value_equal_by_content() -> None:
    assert escalations() == escalations()
    assert escalations() != escalations(unindexable="allow")
    with pytest.raises(AttributeError):
        escalations().table = "x"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"projection": "SOME"}, "bad-projection"),
        ({"projection": []}, "bad-projection"),
        ({"projection": [""]}, "bad-option"),
        ({"unindexable": "skip"}, "bad-option"),
        ({"provisioned": (1, 1), "on_demand_maximum": (1, 1)}, "bad-option"),
        ({"provisioned": (0, 1)}, "bad-option"),
        ({"provisioned": (1,)}, "bad-option"),
        ({"provisioned": (1.5, 1)}, "bad-option"),
        ({"on_demand_maximum": (-1, 1)}, "bad-option"),
        ({"warm_throughput": (True, 1)}, "bad-option"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_construction(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        escalations(**changes)
    assert caught.value.code == code
    assert caught.value.exit_code == 2


def test_four_and_four_key_attributes_are_fine() -> None:
    assert rules(AddIndex("Wide", partition_key=list("abcd"), sort_key=list("efgh"))) == []


@pytest.mark.parametrize(
    ("operation", "found"),
    [
        (AddIndex("Wide", partition_key=list("abcde")), ["too-many-key-attributes"]),
        (AddIndex("Wide", partition_key="a", sort_key=list("bcdef")), ["too-many-key-attributes"]),
        (AddIndex("None", partition_key=[]), ["no-partition-key"]),
        (AddIndex("Twice", partition_key=["a"], sort_key=["a"]), ["repeated-key-attribute"]),
        (
            AddIndex("Twice", partition_key=["a"], sort_key=[N("a")]),
            ["attribute-type-conflict", "repeated-key-attribute"],
        ),
        (AddIndex("ab", partition_key="a"), ["index-name"]),
        (AddIndex("a" * 256, partition_key="a"), ["index-name"]),
        (AddIndex("a" * 255, partition_key="a"), []),
        (AddIndex("by owner", partition_key="a"), ["index-name"]),
        (AddIndex("by-owner_2.x", partition_key="a"), []),
        (AddIndex("Long", partition_key="ü" * 128), ["key-attribute-name"]),
        (AddIndex("Long", partition_key="ü" * 127), []),
        (AddIndex("Inverted", partition_key="SK", sort_key="PK"), []),
        (AddIndex("Same", partition_key="PK", sort_key="SK"), []),
        (AddIndex("Typed", partition_key=N("PK")), ["attribute-type-conflict"]),
        (AddIndex("Typed", partition_key=N("owner"), table="indexed"), ["attribute-type-conflict"]),
        (AddIndex("Typed", partition_key="owner", table="indexed"), []),
        (AddIndex("Many", partition_key="a", projection=[f"p{n}" for n in range(20)]), []),
        (
            AddIndex("Many", partition_key="a", projection=[f"p{n}" for n in range(21)]),
            ["too-many-projected-attributes"],
        ),
        (AddIndex("Paid", partition_key="a", provisioned=(5, 5)), ["wrong-billing-mode"]),
        (AddIndex("Cap", partition_key="a", on_demand_maximum=(5, 5), warm_throughput=(9, 9)), []),
        (AddIndex("Where", partition_key="a", table="nope"), ["unknown-table"]),
    ],
)
def test_what_the_service_would_refuse_is_found_before_the_first_call(operation: AddIndex, found: list[str]) -> None:
    assert rules(operation) == found


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"provisioned": (5, 5)}, []),
        ({}, ["throughput-missing"]),
        ({"on_demand_maximum": (5, 5)}, ["wrong-billing-mode"]),
    ],
)
def test_an_index_of_a_provisioned_table_needs_units(options: dict[str, Any], found: list[str]) -> None:
    assert rules(AddIndex("ByA", partition_key="a", **options), PROVISIONED) == found


def test_a_21st_index_is_refused() -> None:
    twenty = grown(*(AddIndex(f"Index{n}", partition_key="a") for n in range(20)))
    assert rules(AddIndex("Index19", partition_key="a"), twenty) == ["note:adopt"]
    assert rules(AddIndex("Index20", partition_key="a"), twenty) == ["too-many-indexes"]


def test_projected_attributes_count_over_all_indexes_each_time_they_are_listed() -> None:
    names = [f"p{n}" for n in range(20)]
    full = grown(*(AddIndex(f"Index{n}", partition_key="a", projection=names) for n in range(5)))
    assert rules(AddIndex("One", partition_key="a", projection=["p0"]), full) == ["too-many-projected-attributes"]
    assert rules(AddIndex("One", partition_key="a", projection="ALL"), full) == []


def test_an_equal_index_is_adopted_and_the_plan_stays_the_same() -> None:
    once = grown(escalations())
    again = escalations(projection="ALL")
    assert rules(again, once) == ["note:adopt"]
    assert again.plan(once).after == once
    assert again.plan(once).apply == escalations().plan(SCHEMA).apply


def test_an_index_with_another_definition_is_refused_field_by_field() -> None:
    (finding,) = escalations(sort_key="createdAt", projection=["a"]).lint(grown(escalations()))
    assert finding.rule == "index-differs"
    assert "sort key: live [createdAt, taskId], wanted [createdAt]" in finding.message
    assert "projection: live ALL, wanted INCLUDE [a]" in finding.message
    assert "another name" in (finding.hint or "")


def test_the_plan_builds_and_the_way_back_deletes_only_what_was_built() -> None:
    operation = escalations(unindexable="allow", table="app")
    plan = operation.plan(SCHEMA)
    assert plan.apply == (steps.CreateIndex("app", operation.index, "allow"),)
    assert plan.rollback == (steps.DeleteIndex("app", "Escalations", undoes=True),)
    assert plan.after.table("app") == APP.with_index(operation.index)
    assert not plan.destructive
    assert plan.irreversible is None


def test_the_plan_says_what_writers_and_readers_must_know() -> None:
    notes = "\n".join(AddIndex("ByScore", partition_key="PK", sort_key=N("score")).plan(SCHEMA).notes)
    assert "refuses every write that stores another type, NULL, an empty or a too long value in score (N)" in notes
    assert "sparse: items without score are not in it" in notes
    assert "PK" not in notes


def test_an_index_of_the_tables_own_keys_is_not_sparse() -> None:
    notes = "\n".join(AddIndex("Inverted", partition_key="SK", sort_key="PK").plan(SCHEMA).notes)
    assert "sparse" not in notes
    assert "refuses" not in notes


@pytest.mark.parametrize("name", ["", None, 5])
def test_what_is_no_name_is_refused_at_construction(name: Any) -> None:
    with pytest.raises(UsageError):
        AddIndex(name, partition_key="a")


def test_without_any_table_the_finding_asks_for_one() -> None:
    (finding,) = escalations().lint(Schema())
    assert finding.rule == "unknown-table"
    assert "default_table" in finding.message


def test_throughput_is_part_of_the_index() -> None:
    index = AddIndex("ByA", partition_key="a", provisioned=(5, 6), warm_throughput=(7, 8)).index
    assert (index.provisioned, index.warm) == (Throughput(5, 6), Throughput(7, 8))
    assert BY_OWNER.provisioned is None
