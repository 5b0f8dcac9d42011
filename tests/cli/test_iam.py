"""iam: a policy that can be pasted, also by whoever has no rights yet."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from migrator.errors import MigratorError, UsageError
from tests.cli import samples
from tests.cli.conftest import Call
from tests.cli.house import FakeHouse


def test_the_text_begins_with_the_policy_whole_however_long_its_lines_are(call: Call) -> None:
    arn = "arn:aws:dynamodb:eu-west-1:222222222222:table/" + "t" * 255
    policy = {"Version": "2012-10-17", "Statement": [{"Resource": arn}]}
    said = call("iam", iam=replace(samples.POLICY, policy=policy))
    assert json.loads(said.out.partition("\n\n")[0]) == policy
    assert said.code == 0


def test_the_document_holds_the_policy(call: Call) -> None:
    assert call("iam -o json", iam=samples.POLICY).document["policy"] == samples.POLICY.policy


@pytest.mark.parametrize("code", ["no-credentials", "access-denied", "control-table-needed"])
def test_who_is_refused_gets_what_the_files_say_and_why(call: Call, code: str) -> None:
    house = FakeHouse(iam=MigratorError(code, "not for you"))
    said = call("iam contract --target 2026", house)
    assert said.code == 0
    assert house.from_files == ("contract", "2026", f"[{code}] not for you")
    assert "not known: ACCOUNT stands for it" in said.out


def test_with_files_only_nobody_is_asked(call: Call) -> None:
    house = FakeHouse(iam=samples.POLICY)
    assert call("iam --files-only", house).code == 0
    assert house.runner is None
    assert house.from_files is not None


def test_a_slip_of_the_person_is_told_and_not_answered_from_files(call: Call) -> None:
    house = FakeHouse(iam=UsageError("usage", "'heads' is no command that talks to AWS"))
    assert call("iam heads", house).code == 2
    assert house.from_files is None


def test_an_unknown_option_is_a_usage_error(call: Call) -> None:
    said: Any = call("iam --tagret head")
    assert said.code == 2
