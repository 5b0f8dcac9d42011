from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

import migrator
from migrator.core.canonical import canonical_text
from migrator.core.plan import Operation
from migrator.operations import ALL
from tests.operations import functions
from tests.operations.schemas import SCHEMA

ONE_OF_EACH: tuple[Operation, ...] = (
    migrator.CreateTable("orders", partition_key="id", indexes=[migrator.Index("ByA", partition_key="a")]),
    migrator.AddIndex("ByA", partition_key="a"),
    migrator.DropIndex("ByOwner", table="indexed"),
    migrator.UpdateIndex("ByOwner", warm_throughput=(5, 5), table="indexed"),
    migrator.Backfill(where={"x": migrator.OneOf(1, b"y")}, set={"a": "{b}"}),
    migrator.RemoveAttributes("a"),
    migrator.RenameAttribute("a", "b"),
    migrator.PutItems([{"PK": "a", "SK": "b"}]),
    migrator.DeleteItems(functions.is_task),
    migrator.RebuildCounter("tasks", where={"SK": "META"}, count={"entity": "Task"}),
    migrator.RewriteKeys(
        where={"entity": "Task"},
        key={"SK": "TASK#{taskId}"},
        old={"SK": "TASK#{createdAt}#{taskId}"},
        readers="runtime",
    ),
    migrator.CopyTable("app", "app_v2", key={"PK": "V2#{id}"}, old={"PK": "{id}"}),
    migrator.ReplaceIndex("ByOwner", "ByOwner2", partition_key=["owner", "status"], table="indexed"),
    migrator.ClaimUnique(key={"PK": "EMAIL#{email}", "SK": "EMAIL"}, where={"entity": "User"}),
    migrator.SplitItem("notes", key={"SK": "{SK}#NOTES"}, where={"entity": "Task"}),
    migrator.RunPython(functions.seed),
    migrator.SetTimeToLive("ttl"),
    migrator.SetStream("KEYS_ONLY"),
    migrator.SetPointInTimeRecovery(True),
    migrator.SetDeletionProtection(True),
    migrator.SetBillingMode("PROVISIONED", provisioned=(5, 5)),
)


def test_every_operation_is_listed_and_can_be_imported_by_a_migration_file() -> None:
    assert {type(operation) for operation in ONE_OF_EACH} == set(ALL)
    assert {kind.__name__ for kind in ALL} <= set(migrator.__all__)
    assert all(hasattr(migrator, name) for name in migrator.__all__)


@pytest.mark.parametrize("operation", ONE_OF_EACH, ids=lambda operation: type(operation).__name__)
def test_an_operation_is_a_frozen_value_with_a_stable_form_and_a_repeatable_plan(operation: Operation) -> None:
    assert isinstance(operation, Operation)
    assert dataclasses.is_dataclass(operation)
    assert not hasattr(operation, "__dict__")
    assert canonical_text(operation) == canonical_text(operation)
    plan = operation.plan(SCHEMA)
    assert plan == operation.plan(SCHEMA)
    canonical_text((plan.apply, plan.rollback, plan.stages))
    # A resumed run plans on the schema it started from, a later one on the schema that came of it.
    assert operation.plan(plan.after).after == plan.after
    assert all(step.title for step in (*plan.steps, *plan.rollback))
    # A table is never deleted, and a counter that was wrong is not made wrong again.
    takes_nothing_back = isinstance(operation, migrator.CreateTable | migrator.RebuildCounter)
    assert bool(plan.rollback) or plan.irreversible is not None or takes_nothing_back


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_operation_has_its_page(kind: type[Operation]) -> None:
    page = Path(__file__).parents[2] / "docs" / "operations" / f"{_file_name(kind)}.md"
    assert page.read_text().startswith(f"# {kind.__name__}\n")


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_operation_has_its_file(kind: type[Operation]) -> None:
    assert kind.__module__ == f"migrator.operations.{_file_name(kind)}"


def test_importing_operations_loads_neither_boto3_nor_the_command_line() -> None:
    code = "import migrator, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "migrator" in loaded
    assert not {"boto3", "botocore", "typer", "rich", "structlog"} & set(loaded)


def _file_name(kind: type[Operation]) -> str:
    return "".join("_" + char.lower() if char.isupper() else char for char in kind.__name__).lstrip("_")
