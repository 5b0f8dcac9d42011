"""plan, upgrade, status, check and the commands that call the runner: what is asked of it, what is made of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli import samples
from tests.cli.conftest import Call
from tests.cli.house import ANSWERS, FakeHouse

PLAIN = {"from_base": False, "samples": 3, "full": False, "prices": None, "job_limit": None, "from_export": None}
LINES: list[tuple[str, tuple[str, tuple[Any, ...], dict[str, Any]]]] = [
    ("plan", ("plan", ("head",), {**PLAIN, "from_base": False, "samples": 3})),
    ("plan +1 --from-base --samples 0", ("plan", ("+1",), {**PLAIN, "from_base": True, "samples": 0})),
    ("plan --full --job-limit 50m", ("plan", ("head",), {**PLAIN, "full": True, "job_limit": 3000.0})),
    ("plan --prices own.toml", ("plan", ("head",), {**PLAIN, "prices": Path("own.toml")})),
    ("downgrade -1", ("downgrade", ("-1",), {"drop_adopted": False, "lock_timeout": None})),
    (
        "downgrade base --drop-adopted --lock-timeout 1m",
        ("downgrade", ("base",), {"drop_adopted": True, "lock_timeout": 60.0}),
    ),
    ("rollback", ("rollback", (None,), {"drop_adopted": False, "lock_timeout": None})),
    ("rollback 2026", ("rollback", ("2026",), {"drop_adopted": False, "lock_timeout": None})),
    ("contract 2026 --yes", ("contract", ("2026",), {"yes": True, "lock_timeout": None})),
    ("stamp head", ("stamp", ("head",), {"purge": False})),
    ("stamp -2 --purge", ("stamp", ("-2",), {"purge": True})),
    ("repair --checksum 2026", ("repair", (), {"checksum": "2026", "restored": False, "drift": False})),
    ("repair --restored", ("repair", (), {"checksum": None, "restored": True, "drift": False})),
    ("repair --drift", ("repair", (), {"checksum": None, "restored": False, "drift": True})),
    ("failed list", ("failed_list", (None,), {})),
    ("failed retry 2026", ("failed_retry", ("2026",), {})),
    ("lock show", ("lock_show", (0.0,), {})),
    ("lock show --observe 30s", ("lock_show", (30.0,), {})),
    ("lock release --owner 7f3a", ("lock_release", ("7f3a",), {})),
    ("pause", ("pause", (), {"seconds": None, "because": ""})),
    ("pause --for 10m --because slow", ("pause", (), {"seconds": 600.0, "because": "slow"})),
    ("resume", ("resume", (), {})),
    ("throttle --write-units 500", ("throttle", (), {"write_units": "500", "read_units": "", "seconds": None})),
    (
        "throttle --read-units 25% --write-units 50 --for 2h",
        ("throttle", (), {"write_units": "50", "read_units": "25%", "seconds": 7200.0}),
    ),
    ("throttle --off", ("throttle", (), {"write_units": "", "read_units": "", "seconds": None})),
    ("cancel --because wrong", ("cancel", (), {"because": "wrong"})),
    ("violations ByAssignee", ("violations", ("ByAssignee", None, None), {})),
    ("violations ByAssignee --table app", ("violations", ("ByAssignee", "app", None), {})),
    ("iam", ("iam", ("upgrade", "head"), {})),
    ("patterns check --examples", ("patterns", ((),), {})),
    ("patterns check --examples --pattern AP1 --pattern AP2", ("patterns", (["AP1", "AP2"],), {})),
    ("iam contract", ("iam", ("contract", "head"), {})),
    ("iam upgrade --target +1", ("iam", ("upgrade", "+1"), {})),
    ("status", ("status", (), {})),
    ("check", ("check", (), {})),
]
READERS = {"plan", "status", "check", "violations", "patterns", "iam", "failed_list", "lock_show"}


@pytest.mark.parametrize(("line", "asked"), LINES, ids=[line for line, _ in LINES])
def test_a_command_line_asks_the_runner_exactly_that(
    call: Call, line: str, asked: tuple[str, tuple[Any, ...], dict[str, Any]]
) -> None:
    house = FakeHouse(**ANSWERS)
    said = call(line, house)
    assert said.code == ANSWERS[asked[0]].exit_code, said.err
    assert house.asked == asked
    assert house.read_only == [asked[0] in READERS]
    assert house.closed


def test_upgrade_passes_every_option_on(call: Call) -> None:
    house = FakeHouse(upgrade=samples.RUN)
    call(
        "upgrade head+0 --from-base --allow-out-of-order --yes --no-wait --wait-timeout 50m --lock-timeout 75 "
        "--expect-one --offline --allow-gate --workers 4 --app-ready",
        house,
    )
    assert house.asked == (
        "upgrade",
        ("head+0",),
        {
            "from_base": True,
            "allow_out_of_order": True,
            "yes": True,
            "no_wait": True,
            "wait_timeout": 3000.0,
            "lock_timeout": 75.0,
            "expect_one": True,
            "plan": None,
            "offline": True,
            "allow_gate": True,
            "workers": 4,
            "app_ready": True,
            "spark": None,
            "from_export": None,
            "from_export_check": None,
        },
    )
    assert house.read_only == [False]


def test_failed_skip_passes_keys_that_are_json(call: Call) -> None:
    house = FakeHouse(failed_skip=samples.FAILED)
    keys = ['{"PK": {"S": "TENANT#t1"}}', '{"PK": {"S": "TENANT#t2"}}']
    assert call(["failed", "skip", "2026", *keys, "--because", "test tenant"], house).code == 0
    assert house.asked == ("failed_skip", ("2026", keys, "test tenant"), {})


def test_failed_skip_without_a_reason_is_refused(call: Call) -> None:
    said = call(["failed", "skip", "2026", "{}", "--because", "  "], failed_skip=samples.FAILED)
    assert said.code == 2
    assert "say why" in said.err


def test_a_plan_with_changes_exits_0_and_8_only_where_asked(call: Call) -> None:
    assert call("plan", plan=samples.PLAN).code == 0
    said = call("plan --detailed-exitcode -o json", plan=samples.PLAN)
    assert said.code == said.document["exit_code"] == 8


def test_a_plan_without_changes_exits_0_even_where_asked_in_detail(call: Call) -> None:
    nothing = dataclasses.replace(samples.PLAN, state="nothing-pending", revisions=())
    assert call("plan --detailed-exitcode", plan=nothing).code == 0


def test_a_refused_plan_keeps_its_exit_code_when_asked_in_detail(call: Call) -> None:
    refused = dataclasses.replace(samples.PLAN, state="refused", exit_code=3)
    assert call("plan --detailed-exitcode", plan=refused).code == 3


@pytest.mark.parametrize(("line", "code"), [("upgrade", 9), ("upgrade --allow-gate", 0)])
def test_a_gate_exits_9_unless_it_is_allowed(call: Call, line: str, code: int) -> None:
    at_gate = dataclasses.replace(samples.RUN, state="at-gate", exit_code=9)
    assert call(line, upgrade=at_gate).code == code


def test_an_allowed_gate_hides_no_other_exit_code(call: Call) -> None:
    assert call("upgrade --allow-gate", upgrade=samples.INCOMPLETE).code == 6


def test_a_dry_run_asks_for_a_plan_with_a_client_that_cannot_write(call: Call) -> None:
    house = FakeHouse(plan=samples.PLAN)
    said = call("upgrade --dry-run --from-base -o json", house)
    assert house.asked == ("plan", ("head",), {"from_base": True, "from_export": None})
    assert house.read_only == [True]
    assert said.document["state"] == "pending"
    assert said.document["command"] == "upgrade"


def test_a_plan_written_to_a_file_is_what_upgrade_reads_from_it(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    said = call(f"plan --out {path} -o json", plan=samples.PLAN)
    assert json.loads(path.read_text()) == said.document
    house = FakeHouse(upgrade=samples.RUN)
    assert call(f"upgrade --plan {path}", house).code == 0
    assert house.asked[2]["plan"] == said.document
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]


def test_a_plan_in_a_file_says_how_to_apply_that_file(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "my plan.json"
    said = call(["plan", "--out", str(path)], plan=samples.PLAN)
    assert said.out.splitlines()[-1] == f"next: migrator upgrade -e prod --plan '{path}'"


def test_a_written_plan_does_not_depend_on_how_the_result_was_shown(call: Call, tmp_path: Path) -> None:
    for number, line in enumerate(["plan", "plan -o json", "plan --detailed-exitcode"]):
        call(f"{line} --out {tmp_path / str(number)}", plan=samples.PLAN)
    plans = [json.loads((tmp_path / str(number)).read_text()) for number in range(3)]
    for plan in plans:
        del plan["next"], plan["exit_code"]
    assert plans[0] == plans[1] == plans[2]
    assert plans[0]["fingerprint"] == samples.PLAN.fingerprint


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"command": "plan"}', '{"command": "status", "fingerprint": "x"}'])
def test_a_file_that_is_no_plan_is_refused_before_anything_is_opened(call: Call, tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    house = FakeHouse(upgrade=samples.RUN)
    said = call(f"upgrade --plan {path}", house)
    assert said.code == 2
    assert said.err.startswith("error[bad-plan]")
    assert house.read_only == []


def test_a_plan_that_cannot_be_written_is_an_error_that_names_the_file(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "nosuchfolder" / "plan.json"
    said = call(f"plan --out {path}", plan=samples.PLAN)
    assert said.code == 2
    assert str(path) in said.err
    assert said.out == ""


def test_destructive_steps_without_yes_are_refused_with_what_to_type_and_no_prompt(call: Call) -> None:
    from migrator.errors import UsageError

    refused = UsageError("needs-yes", "DropIndex deletes index Old", hint="migrator upgrade --yes")
    said = call("upgrade", upgrade=refused)
    assert said.code == 2
    assert said.err.endswith("hint: migrator upgrade --yes\n")
