from __future__ import annotations

from typing import Any

import pytest

from migrator import (
    AddIndex,
    N,
    SetBillingMode,
    SetDeletionProtection,
    SetPointInTimeRecovery,
    SetStream,
    SetTimeToLive,
)
from migrator.core import steps
from migrator.core.plan import Operation
from migrator.core.schema import Throughput
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.errors import UsageError
from tests.operations.schemas import SCHEMA, rules


@pytest.mark.parametrize(
    ("operation", "setting", "name"),
    [
        (SetTimeToLive("ttl"), TimeToLive("ttl"), "time-to-live"),
        (SetTimeToLive(None), TimeToLive(None), "time-to-live"),
        (SetStream("NEW_IMAGE"), Stream("NEW_IMAGE"), "stream"),
        (SetStream(None), Stream(None), "stream"),
        (SetPointInTimeRecovery(True), PointInTimeRecovery(True), "point-in-time-recovery"),
        (SetDeletionProtection(False), DeletionProtection(False), "deletion-protection"),
        (SetBillingMode("PAY_PER_REQUEST"), BillingMode("PAY_PER_REQUEST"), "billing-mode"),
    ],
)
def test_a_setting_is_changed_and_its_way_back_restores_what_it_was(
    operation: Operation, setting: Setting, name: str
) -> None:
    plan = operation.plan(SCHEMA)
    assert plan.apply == (steps.ChangeSetting("app", setting),)
    assert plan.rollback == (steps.Restore("app", f"setting:{name}"),)
    assert plan.irreversible is None


@pytest.mark.parametrize(
    ("operation", "found"),
    [
        (SetTimeToLive("ttl"), ["warning:expires-items"]),
        (SetTimeToLive(None), []),
        (SetTimeToLive("at", table="indexed"), ["ttl-type", "warning:expires-items"]),
        (SetStream("KEYS_ONLY"), []),
        (SetPointInTimeRecovery(True), []),
        (SetPointInTimeRecovery(False), ["warning:recovery-off"]),
        (SetDeletionProtection(True), []),
        (SetDeletionProtection(False), ["warning:protection-off"]),
        (SetTimeToLive("ttl", table="nope"), ["unknown-table"]),
        (SetStream(None, table="nope"), ["unknown-table"]),
        (SetPointInTimeRecovery(False, table="nope"), ["unknown-table"]),
        (SetDeletionProtection(False, table="nope"), ["unknown-table"]),
        (SetBillingMode("PROVISIONED", provisioned=(1, 1), table="nope"), ["unknown-table"]),
    ],
)
def test_settings_lint(operation: Operation, found: list[str]) -> None:
    assert rules(operation) == found


def test_a_numeric_key_may_expire_items() -> None:
    schema = AddIndex("ByTime", partition_key=N("expires")).plan(SCHEMA).after
    assert rules(SetTimeToLive("expires"), schema) == ["warning:expires-items"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: SetTimeToLive(""),
        lambda: SetStream("ALL"),  # type: ignore[arg-type]
        lambda: SetPointInTimeRecovery("yes"),  # type: ignore[arg-type]
        lambda: SetDeletionProtection(1),  # type: ignore[arg-type]
        lambda: SetBillingMode("ON_DEMAND"),  # type: ignore[arg-type]
        lambda: SetBillingMode("PROVISIONED"),
        lambda: SetBillingMode("PROVISIONED", provisioned=(0, 1)),
        lambda: SetBillingMode("PAY_PER_REQUEST", provisioned=(1, 1)),
        lambda: SetBillingMode("PAY_PER_REQUEST", indexes={"A": (1, 1)}),
    ],
)
def test_bad_settings_are_refused_at_construction(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


def test_a_switch_to_provisioned_needs_units_for_every_index_of_the_table() -> None:
    assert rules(SetBillingMode("PROVISIONED", provisioned=(5, 5), table="indexed")) == ["throughput-missing"]
    given = SetBillingMode(
        "PROVISIONED", provisioned=(5, 5), indexes={"ByOwner": (6, 7), "Nope": (1, 1)}, table="indexed"
    )
    assert rules(given) == ["unknown-index"]


def test_a_switch_shows_in_the_schema_that_follows() -> None:
    operation = SetBillingMode("PROVISIONED", provisioned=(5, 5), indexes={"ByOwner": (6, 7)}, table="indexed")
    assert rules(operation) == []
    plan = operation.plan(SCHEMA)
    assert plan.apply == (
        steps.ChangeSetting("indexed", BillingMode("PROVISIONED", Throughput(5, 5), (("ByOwner", Throughput(6, 7)),))),
    )
    table = plan.after.table("indexed")
    assert (table.billing_mode, table.provisioned) == ("PROVISIONED", Throughput(5, 5))
    assert table.indexes["ByOwner"].provisioned == Throughput(6, 7)
    back = SetBillingMode("PAY_PER_REQUEST", table="indexed").plan(plan.after).after.table("indexed")
    assert (back.billing_mode, back.provisioned, back.indexes["ByOwner"].provisioned) == ("PAY_PER_REQUEST", None, None)
