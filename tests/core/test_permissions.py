"""How actions become a policy. That they are the right ones is held against requests in tests/docs."""

from __future__ import annotations

import pytest

from migrator.core.permissions import COMMANDS, DESCRIBE, SCAN, document, needs_of, statements, step_actions, table_arn
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.operations import Backfill, DeleteItems

APP, LOG, OWN = (table_arn(name, "eu-west-1", "222222222222") for name in ("app", "log", "migrator"))
CONTROL = COMMANDS["upgrade"].control


def test_tables_with_the_same_actions_share_a_statement() -> None:
    found = statements({APP: DESCRIBE, LOG: DESCRIBE}, CONTROL, OWN, None, has_progress=False)
    assert [one.sid for one in found] == ["Tables", "Control", "Identity"]
    assert found[0].resources == (APP, LOG)
    found = statements({APP: DESCRIBE | SCAN, LOG: DESCRIBE}, CONTROL, OWN, None, has_progress=True)
    assert [one.sid for one in found] == ["Tables1", "Tables2", "Control", "Progress", "Identity"]


def test_control_records_in_a_table_of_the_application_are_bounded_by_their_keys() -> None:
    found = statements({APP: SCAN}, CONTROL, APP, "__migrator__", has_progress=False)
    tables, control, _ = found
    assert control.condition == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["__migrator__*"]}}
    # No condition on keys holds for these: they stand with the table's own.
    assert tables.actions == ("dynamodb:CreateTable", "dynamodb:DescribeTable", "dynamodb:Scan")
    assert not {"dynamodb:CreateTable", "dynamodb:DescribeTable", "dynamodb:Scan"} & set(control.actions)


def test_a_prefix_is_taken_literally() -> None:
    *_, control, _ = statements({}, CONTROL, APP, "a*b?$", has_progress=False)
    assert control.condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"] == ["a${*}b${?}${$}*"]


def test_nothing_is_granted_to_nobody() -> None:
    assert [
        one["Sid"]
        for one in document(statements({APP: frozenset()}, frozenset(), OWN, None, has_progress=False))["Statement"]
    ] == ["Identity"]


@pytest.mark.parametrize(
    ("region", "account", "arn"),
    [
        ("eu-west-1", "222222222222", "arn:aws:dynamodb:eu-west-1:222222222222:table/t"),
        ("cn-north-1", "222222222222", "arn:aws-cn:dynamodb:cn-north-1:222222222222:table/t"),
        ("us-gov-west-1", "", "arn:aws-us-gov:dynamodb:us-gov-west-1:ACCOUNT:table/t"),
        ("", "", "arn:aws:dynamodb:REGION:ACCOUNT:table/t"),
    ],
)
def test_an_arn_names_its_partition_and_what_is_not_known(region: str, account: str, arn: str) -> None:
    assert table_arn("t", region, account) == arn


def test_the_fast_transport_batches_updates_by_an_action_of_its_own() -> None:
    shape = Table("app", KeyAttribute("PK"))
    plan = Backfill(set={"x": "{PK}"}).plan(Schema({"app": shape}, "app"))
    (step,) = plan.apply
    assert step_actions(step, plan, "fast") - step_actions(step, plan) == {"dynamodb:PartiQLUpdate"}
    (back,) = plan.rollback
    assert step_actions(back, plan, "fast") - step_actions(back, plan) == {"dynamodb:PartiQLUpdate"}
    plan = DeleteItems(where={"x": "y"}).plan(Schema({"app": shape}, "app"))
    assert step_actions(plan.apply[0], plan, "fast") == step_actions(plan.apply[0], plan)


def test_a_group_needs_what_all_of_its_commands_need() -> None:
    lock = needs_of("lock")
    assert lock is not None
    assert lock.control == COMMANDS["lock show"].control | COMMANDS["lock release"].control
    assert needs_of("failed list") == COMMANDS["failed list"]
    assert needs_of("heads") is None
