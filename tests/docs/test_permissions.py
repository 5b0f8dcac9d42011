"""docs/permissions.md names what commands and operations really send."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import migrator
from migrator.core.permissions import COMMANDS, DESCRIBE, step_actions, watches_build
from migrator.core.schema import Index, KeyAttribute, Schema, Table
from migrator.operations import ALL
from migrator.sandbox import Sandbox
from tests.docs.console import DOCS, desk
from tests.docs.requests import FUNCTIONS, OPERATIONS, Bench, Used, every_command, every_operation

PAGE = (DOCS / "permissions.md").read_text(encoding="utf-8")
RUNNING = ("upgrade", "contract", "rollback", "downgrade", "failed retry")
"""What these use depends on the operations."""
REWRITING = frozenset({"RewriteKeys", "CopyTable", "ClaimUnique", "SplitItem", "ReplaceIndex", "RebuildCounter"})
OF_REWRITES = frozenset({"cutover", "verify", "mirror run", "mirror status"})
"""Of several commands: `tests/docs/test_rewrite_permissions.py`."""
READING = ("plan", "status", "check", "violations", "diff", "iam", "current", "history", "failed list", "lock show")


def rows(heading: str) -> dict[str, list[set[str]]]:
    """First column without its backquotes -> the DynamoDB actions of each further column."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {row[0].replace("`", ""): [actions(cell) for cell in row[1:]] for row in table[2:]}


def actions(cell: str) -> set[str]:
    return {f"dynamodb:{name}" for name in re.findall(r"`([A-Z]\w+)`", cell)}


def policies() -> dict[str, dict[str, set[str]]]:
    """Heading -> Sid -> actions."""
    found = {}
    for heading, block in re.findall(r"\n## (A role [^\n]+)\n.*?```json\n(.*?)```", PAGE, re.DOTALL):
        statements = json.loads(block)["Statement"]
        found[heading] = {
            one["Sid"]: set(one["Action"]) if isinstance(one["Action"], list) else {one["Action"]} for one in statements
        }
    return found


@pytest.fixture(scope="module")
def bench() -> Bench:
    with Sandbox(index_build=0.1) as sandbox, desk(sandbox) as here:
        bench = Bench(here, sandbox)
        every_operation(bench)
        every_command(bench)
        return bench


def on(used: Used, kind: str) -> set[str]:
    return {action for action, where in used if where == kind}


def test_every_operation_is_in_the_scenario_and_on_the_page() -> None:
    names = {operation.__name__ for operation in ALL}
    assert {name.split()[0] for name in OPERATIONS} == names - REWRITING
    assert set(rows("Operations")) == set(OPERATIONS) | REWRITING


def test_each_operation_uses_the_actions_that_the_page_lists(bench: Bench) -> None:
    listed = rows("Operations")
    for operation, (up, down) in ((name, listed[name]) for name in OPERATIONS):
        common = {"dynamodb:DescribeTable"}
        assert on(bench.by_operation[operation, "up"], "tables") - common == up, operation
        assert on(bench.by_operation[operation, "down"], "tables") - common == down, operation


def test_each_command_uses_the_actions_that_the_page_lists(bench: Bench) -> None:
    listed = rows("Commands")
    assert set(listed) == set(bench.by_command) | OF_REWRITES
    everything = set().union(*(set().union(*columns) for columns in rows("Operations").values()))
    for command, (control, tables) in ((name, listed[name]) for name in bench.by_command):
        used = bench.by_command[command]
        if command in RUNNING:
            assert on(used, "control") <= control, command
            assert on(used, "tables") <= tables | everything, command
        else:
            assert on(used, "control") == control, command
            assert on(used, "tables") == tables, command
    assert on(bench.by_command["upgrade"], "control") == listed["upgrade"][0]


def test_the_policy_of_the_deploying_role_is_exactly_what_all_commands_use(bench: Bench) -> None:
    used: Used = set().union(*(used for command, used in bench.by_command.items() if command != "doctor"))
    policy = policies()["A role that deploys"]
    assert policy["Tables"] == on(used, "tables")
    assert policy["Control"] == on(used, "control")
    assert policy["Progress"] == on(used, "*") - {"sts:GetCallerIdentity"}


def test_the_policy_of_the_planning_role_is_exactly_what_the_reading_commands_use(bench: Bench) -> None:
    used: Used = set().union(*(bench.by_command[command] for command in READING))
    policy = policies()["A role that plans"]
    assert policy["Tables"] == on(used, "tables")
    assert policy["Control"] == on(used, "control")


def test_the_policy_for_indexes_allows_what_index_operations_use(bench: Bench) -> None:
    runs = [used for (operation, _), used in bench.by_operation.items() if operation.endswith("Index")]
    used: Used = set().union(*runs)
    policy = policies()["A role that only builds indexes"]
    assert policy["Tables"] == on(used, "tables")
    assert policy["Control"] == on(used, "control") - {"dynamodb:DescribeTable"}


# --- the table that `migrator iam` goes by ----------------------------------------------------------------------------

SURPLUS = {
    # Only where an item changes in the moment it is deleted.
    ("PutItems", "down"): {"dynamodb:PutItem"},
}


def derived(operation: str, way: str) -> set[str]:
    """What the steps of an operation use, by the table in `core`; `up` goes past a gate."""
    names: dict[str, Any] = dict(vars(migrator))
    exec(FUNCTIONS, names)
    shape = Table(
        "app", KeyAttribute("PK"), KeyAttribute("SK"), {"ByTitle": Index("ByTitle", (KeyAttribute("title"),))}
    )
    plan = eval(OPERATIONS[operation], names).plan(Schema({"app": shape}, "app"))
    steps = plan.steps if way == "up" else plan.rollback
    return set().union(*(step_actions(step, plan) for step in steps))


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_steps_of_an_operation_use_the_actions_that_the_table_has_for_them(
    bench: Bench, operation: str, way: str
) -> None:
    sent = on(bench.by_operation[operation, way], "tables") - DESCRIBE
    if operation == "RunPython":
        assert sent <= derived(operation, way)
    else:
        assert derived(operation, way) - SURPLUS.get((operation, way), set()) == sent


def test_every_command_uses_the_actions_that_the_table_has_for_it(bench: Bench) -> None:
    assert set(COMMANDS) == set(bench.by_command) | OF_REWRITES
    for command, needs in ((name, COMMANDS[name]) for name in bench.by_command):
        used = bench.by_command[command]
        metrics = "cloudwatch:GetMetricData" in on(used, "*")
        if command in RUNNING:
            assert on(used, "control") <= needs.control, command
        else:
            assert on(used, "control") == needs.control, command
            assert on(used, "tables") == needs.tables, command
            assert needs.has_progress or not metrics, command
            assert on(used, "*") - {"sts:GetCallerIdentity", "cloudwatch:GetMetricData"} <= needs.others, command
    assert on(bench.by_command["upgrade"], "control") == COMMANDS["upgrade"].control


def test_only_steps_that_watch_a_build_ask_for_metrics(bench: Bench) -> None:
    names: dict[str, Any] = dict(vars(migrator))
    exec(FUNCTIONS, names)
    shape = Table(
        "app", KeyAttribute("PK"), KeyAttribute("SK"), {"ByTitle": Index("ByTitle", (KeyAttribute("title"),))}
    )
    for (operation, way), used in bench.by_operation.items():
        plan = eval(OPERATIONS[operation], names).plan(Schema({"app": shape}, "app"))
        steps = plan.rollback if way == "down" else plan.steps
        asks = "cloudwatch:GetMetricData" in on(used, "*")
        assert asks <= any(watches_build(step, plan) for step in steps), (operation, way)


def test_the_page_and_the_table_of_commands_agree() -> None:
    for command, (control, tables) in rows("Commands").items():
        needs = COMMANDS[command]
        assert control == needs.control, command
        if command not in RUNNING:
            assert tables == needs.tables, command
