from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from migrator import AddIndex, CreateTable, DropIndex, Index, N, UpdateIndex
from migrator.core import steps
from migrator.core.schema import KeyAttribute, Schema, Throughput
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Stream, TimeToLive
from migrator.errors import UsageError
from tests.operations.schemas import BY_OWNER, PROVISIONED, SCHEMA, rules

EMPTY = Schema({}, "app")


# --- CreateTable ------------------------------------------------------------------------------------------------------


def test_a_new_table_with_two_indexes_is_one_step() -> None:
    operation = CreateTable(
        "orders",
        partition_key="PK",
        sort_key=N("at"),
        indexes=[Index("ByStatus", partition_key="status"), AddIndex("ByOwner", partition_key="owner")],
    )
    assert rules(operation, EMPTY) == []
    plan = operation.plan(EMPTY)
    (step,) = plan.apply
    assert isinstance(step, steps.CreateTable)
    assert sorted(step.shape.indexes) == ["ByOwner", "ByStatus"]
    assert step.shape.key == (KeyAttribute("PK"), KeyAttribute("at", "N"))
    assert plan.after.table("orders") == step.shape


def test_its_way_back_leaves_the_table_and_says_so() -> None:
    plan = CreateTable("orders", partition_key="id").plan(EMPTY)
    assert plan.rollback == ()
    assert plan.irreversible is None
    assert not plan.destructive
    assert any("never deletes a table" in note for note in plan.notes)


def test_the_default_table_is_created_under_its_own_alias() -> None:
    plan = CreateTable(partition_key="id").plan(EMPTY)
    assert plan.apply[0].table == "app"
    assert plan.after.table("").alias == "app"


def test_settings_travel_with_the_table() -> None:
    operation = CreateTable(
        "orders", partition_key="id", provisioned=(5, 6), ttl="ttl", stream="KEYS_ONLY",
        point_in_time_recovery=True, deletion_protection=False,
    )  # fmt: skip
    (step,) = operation.plan(EMPTY).apply
    assert isinstance(step, steps.CreateTable)
    assert step.settings == (
        TimeToLive("ttl"),
        Stream("KEYS_ONLY"),
        PointInTimeRecovery(True),
        DeletionProtection(False),
    )
    assert (step.shape.billing_mode, step.shape.provisioned) == ("PROVISIONED", Throughput(5, 6))
    assert CreateTable("orders", partition_key="id").settings == ()


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"partition_key": "id", "sort_key": "id"}, ["repeated-key-attribute"]),
        ({"partition_key": "x" * 256}, ["key-attribute-name"]),
        ({"partition_key": "id", "indexes": [Index("ByN", partition_key=N("id"))]}, ["attribute-type-conflict"]),
        (
            {
                "partition_key": "id",
                "indexes": [Index("One", partition_key="n"), Index("Two", partition_key=N("n"))],
            },
            ["attribute-type-conflict"],
        ),
        (
            {"partition_key": "id", "indexes": [Index(f"Index{n}", partition_key="a") for n in range(21)]},
            ["too-many-indexes"],
        ),
        (
            {"partition_key": "id", "provisioned": (5, 5), "indexes": [Index("ByA", partition_key="a")]},
            ["throughput-missing"],
        ),
        (
            {"partition_key": "id", "indexes": [Index("ByA", partition_key="a", provisioned=(1, 1))]},
            ["wrong-billing-mode"],
        ),
    ],
)
def test_what_the_service_would_refuse_is_found_before(options: dict[str, Any], found: list[str]) -> None:
    assert rules(CreateTable("orders", **options), EMPTY) == found


def test_an_equal_table_is_adopted() -> None:
    operation = CreateTable("app", partition_key="PK", sort_key="SK")
    assert rules(operation) == ["note:adopt"]
    assert operation.plan(SCHEMA).after == SCHEMA


def test_a_live_tables_further_indexes_are_kept() -> None:
    operation = CreateTable("indexed", partition_key="PK", sort_key="SK")
    assert rules(operation) == ["note:adopt"]
    assert "ByOwner" in operation.plan(SCHEMA).after.table("indexed").indexes


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"partition_key": "id"}, "key: live [PK, SK], wanted [id]"),
        (
            {"partition_key": "PK", "sort_key": "SK", "indexes": [Index("ByX", partition_key="x")]},
            "index ByX is missing",
        ),
        (
            {"partition_key": "PK", "sort_key": "SK", "indexes": [replace(BY_OWNER, sort_key=())]},
            "index ByOwner sort key: live [at], wanted []",
        ),
    ],
)
def test_a_table_that_differs_is_refused_field_by_field(options: dict[str, Any], shown: str) -> None:
    (finding,) = CreateTable("indexed", **options).lint(SCHEMA)
    assert finding.rule == "table-differs"
    assert shown in finding.message


@pytest.mark.parametrize(
    "options",
    [
        {"indexes": [Index("ByA", partition_key="a"), Index("ByA", partition_key="b")]},
        {"indexes": [AddIndex("ByA", partition_key="a", table="other")]},
        {"stream": "EVERYTHING"},
        {"ttl": ""},
        {"provisioned": (0, 0)},
    ],
)
def test_bad_options_of_a_table_are_refused_at_construction(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        CreateTable("orders", partition_key="id", **options)


def test_a_table_without_name_and_default_is_refused() -> None:
    assert rules(CreateTable(partition_key="id"), Schema()) == ["unknown-table"]


# --- DropIndex --------------------------------------------------------------------------------------------------------


def test_a_drop_is_destructive_and_its_way_back_restores() -> None:
    plan = DropIndex("ByOwner", table="indexed").plan(SCHEMA)
    assert plan.apply == (steps.DeleteIndex("indexed", "ByOwner"),)
    assert plan.rollback == (steps.Restore("indexed", "index:ByOwner"),)
    assert plan.destructive
    assert plan.after.table("indexed").indexes == {}
    assert rules(DropIndex("ByOwner", table="indexed")) == []


def test_dropping_what_may_be_gone_already_is_a_warning_and_still_a_plan() -> None:
    assert rules(DropIndex("Gone")) == ["warning:unknown-index"]
    assert DropIndex("Gone").plan(SCHEMA).after == SCHEMA
    assert rules(DropIndex("ByOwner", table="nope")) == ["unknown-table"]
    with pytest.raises(UsageError):
        DropIndex("")


def test_a_dropped_index_makes_room_and_frees_its_attributes_type() -> None:
    after = DropIndex("ByOwner", table="indexed").plan(SCHEMA).after
    assert rules(AddIndex("Typed", partition_key=N("owner"), table="indexed"), after) == []


# --- UpdateIndex ------------------------------------------------------------------------------------------------------


def test_only_the_named_throughput_is_sent_one_concern_a_step() -> None:
    plan = UpdateIndex("ByOwner", on_demand_maximum=(10, 20), warm_throughput=(30, 40), table="indexed").plan(SCHEMA)
    assert plan.apply == (
        steps.UpdateIndex("indexed", replace(BY_OWNER, on_demand_maximum=Throughput(10, 20))),
        steps.UpdateIndex("indexed", replace(BY_OWNER, warm=Throughput(30, 40))),
    )
    assert plan.rollback == (steps.Restore("indexed", "index:ByOwner"),)
    after = plan.after.table("indexed").indexes["ByOwner"]
    assert (after.on_demand_maximum, after.warm) == (Throughput(10, 20), Throughput(30, 40))
    assert any("never be lowered" in note for note in plan.notes)


def test_an_on_demand_maximum_can_be_lifted() -> None:
    (step,) = UpdateIndex("ByOwner", on_demand_maximum=(-1, 5), table="indexed").plan(SCHEMA).apply
    assert isinstance(step, steps.UpdateIndex)
    assert step.index.on_demand_maximum == Throughput(-1, 5)


def test_decreases_of_provisioned_units_are_said_to_be_few() -> None:
    provisioned = AddIndex("ByA", partition_key="a", provisioned=(5, 5)).plan(PROVISIONED).after
    assert any("decreases" in note for note in UpdateIndex("ByA", provisioned=(4, 4)).plan(provisioned).notes)


def test_throughput_must_go_with_the_billing_mode() -> None:
    assert rules(UpdateIndex("ByOwner", provisioned=(5, 5), table="indexed")) == ["wrong-billing-mode"]
    provisioned = AddIndex("ByA", partition_key="a", provisioned=(5, 5)).plan(PROVISIONED).after
    assert rules(UpdateIndex("ByA", provisioned=(9, 9)), provisioned) == []
    assert rules(UpdateIndex("ByA", warm_throughput=(9, 9)), provisioned) == []
    assert rules(UpdateIndex("ByA", on_demand_maximum=(9, 9)), provisioned) == ["wrong-billing-mode"]


def test_an_update_of_an_unknown_index_is_refused() -> None:
    operation = UpdateIndex("Nope", on_demand_maximum=(5, 5), table="indexed")
    (finding,) = operation.lint(SCHEMA)
    assert finding.rule == "unknown-index"
    assert "known: ByOwner" in finding.message
    with pytest.raises(UsageError):
        operation.plan(SCHEMA)
    assert rules(UpdateIndex("Nope", on_demand_maximum=(5, 5), table="nope")) == ["unknown-table"]


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {},
        {"provisioned": (1, 1), "on_demand_maximum": (1, 1)},
        {"provisioned": (-1, 1)},
        {"warm_throughput": (0, 1)},
    ],
)
def test_bad_options_of_an_update_are_refused_at_construction(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        UpdateIndex(**{"name": "ByOwner", **options})
