"""The first migration of a table that is there already."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from migrator import CreateTable
from migrator.core.ports import LiveIndex, LiveTable
from migrator.core.schema import B, Index, KeyAttribute, N, Projection, Table, Throughput
from migrator.core.settings import (
    BillingMode,
    DeletionProtection,
    PointInTimeRecovery,
    Setting,
    Stream,
    TimeToLive,
)
from migrator.loader import draft_from_table, load, write_revision
from tests.loader.test_write import assert_clean

S = KeyAttribute
NOW = datetime(2026, 11, 30, tzinfo=UTC)
PLAIN = Table("app", S("PK"))
RICH = Table(
    "app",
    S("PK"),
    N("SK"),
    {
        index.name: index
        for index in (
            Index("All", (S("GSI1PK"),), (S("GSI1SK"),)),
            Index("Keys", (B("hash"),), (), Projection("KEYS_ONLY")),
            Index("Some", (S("a b"), N('quo"te')), (S("it's"),), Projection("INCLUDE", frozenset({"title", "status"}))),
            Index(
                "ManyProjected",
                (S("tenantId"), S("escalatedTo")),
                (S("createdAt"), S("taskId")),
                Projection("INCLUDE", frozenset(f"attribute_number_{n}" for n in range(12))),
                on_demand_maximum=Throughput(1000, 2000),
            ),
        )
    },
)
PROVISIONED = Table(
    "app",
    S("ümlaut"),
    None,
    {"Paid": Index("Paid", (S("x"),), provisioned=Throughput(3, 4))},
    "PROVISIONED",
    Throughput(5, 6),
)


def live(shape: Table, **more: object) -> LiveTable:
    indexes = {name: LiveIndex(index, "ACTIVE") for name, index in shape.indexes.items()}
    table = LiveTable("prod-app", "arn:aws:dynamodb:eu-west-1:1:table/prod-app", "id", "ACTIVE", shape, indexes)
    return replace(table, **more)


def drafted(folder: Path, table: LiveTable, settings: tuple[Setting, ...] = ()) -> tuple[CreateTable, Path]:
    source = draft_from_table(table, "app", settings)
    path = write_revision(folder, "The table as it stands", (), NOW, operations_source=source)
    (migration,) = load(folder, project_root=folder)
    (operation,) = migration.operations
    assert isinstance(operation, CreateTable)
    return operation, path


@pytest.mark.parametrize("shape", [PLAIN, RICH, PROVISIONED])
def test_the_draft_loads_as_the_table_that_stands(tmp_path: Path, shape: Table):
    operation, path = drafted(tmp_path, live(shape))
    assert operation.shape == shape
    assert operation.settings == ()
    assert_clean(path)


def test_settings_that_are_on_are_declared_and_others_left_alone(tmp_path: Path):
    on = (TimeToLive("expiresAt"), Stream("NEW_AND_OLD_IMAGES"), PointInTimeRecovery(True), DeletionProtection(True))
    operation, path = drafted(tmp_path, live(PLAIN), (*on, BillingMode("PAY_PER_REQUEST")))
    assert set(operation.settings) == set(on)
    assert_clean(path)


def test_settings_that_are_off_are_not_declared(tmp_path: Path):
    off = (TimeToLive(None), Stream(None), PointInTimeRecovery(False), DeletionProtection(False))
    operation, _ = drafted(tmp_path, live(PLAIN), off)
    assert operation.settings == ()


def test_deletion_protection_of_the_description_is_enough(tmp_path: Path):
    operation, _ = drafted(tmp_path, live(PLAIN, deletion_protection=True))
    assert operation.settings == (DeletionProtection(True),)


def test_the_warm_throughput_that_every_table_has_is_not_declared(tmp_path: Path):
    warm = replace(RICH.indexes["All"], warm=Throughput(12000, 4000))
    operation, _ = drafted(tmp_path, live(PLAIN.with_index(warm)))
    assert operation.shape == PLAIN.with_index(RICH.indexes["All"])


def test_local_indexes_are_named_in_a_comment(tmp_path: Path):
    operation, path = drafted(tmp_path, live(PLAIN, local_indexes=("ByDate", "ByAge")))
    assert operation.shape == PLAIN
    assert "not declared here: ByAge, ByDate\n" in path.read_text()
    assert_clean(path)
