"""What the commands of a key rewrite really send is what docs/permissions.md and the table of actions say."""

from __future__ import annotations

import pytest

import migrator
from migrator.core.permissions import COMMANDS, step_actions
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.sandbox import Sandbox
from tests.docs.console import desk
from tests.docs.requests import CONFIG, Bench
from tests.docs.test_permissions import OF_REWRITES, on, rows

OPERATIONS = {
    "RewriteKeys": 'RewriteKeys(key={"SK": "NOTE#{n}"}, old={"SK": "N#{n}"}, application="stopped")',
    "ClaimUnique": 'ClaimUnique(key={"PK": "TITLE#{title}", "SK": "TITLE"}, where={"PK": "T"})',
    "ReplaceIndex": 'ReplaceIndex("ByTitle", "ByTitle2", partition_key=["title", "PK"], provisioned=(1, 1))',
}
COMMANDS_OF = {
    "RewriteKeys": ("upgrade", "upgrade --app-ready", "verify", "cutover", "rollback"),
    "ClaimUnique": ("upgrade", "upgrade --app-ready", "verify --repair", "rollback"),
    "ReplaceIndex": ("upgrade", "rollback"),
}
GATES = {"upgrade": 9, "upgrade --app-ready": 9, "cutover": 9}


@pytest.fixture(scope="module")
def bench() -> Bench:
    with Sandbox(index_build=0.1) as sandbox, desk(sandbox) as here:
        bench = Bench(here, sandbox)
        limits = 'limits = {{ reader_lease = "100ms", attempt_time = "100ms", settle_time = 0, '
        bench.desk.write("migrator.toml", CONFIG.replace("limits = {{ settle_time = 0, ", limits).format())
        bench.revision(
            'CreateTable(partition_key="PK", sort_key="SK", provisioned=(5, 5), '
            'indexes=[Index("ByTitle", partition_key="title", provisioned=(1, 1))])'
        )
        bench.type("upgrade", name="upgrade")
        for number in range(3):
            bench.put(PK="T", SK=f"N#{number}", title=f"bolts {number}", n=str(number))
        for operation, source in OPERATIONS.items():
            bench.revision(source)
            for line in COMMANDS_OF[operation]:
                used = bench.type(line, code=GATES.get(line, 0))
                way = "down" if line == "rollback" else "up"
                bench.by_operation.setdefault((operation, way), set()).update(used)
            bench.number -= 1
        bench.revision(OPERATIONS["RewriteKeys"])
        for line, code in (("upgrade", 9), ("upgrade --app-ready", 9), ("cutover", 9), ("contract --yes", 0)):
            bench.by_operation["RewriteKeys", "up"] |= bench.type(line, code=code)
        return bench


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_rewrite_sends_nothing_that_the_page_and_the_table_do_not_name(bench: Bench, operation: str) -> None:
    up, down = rows("Operations")[operation]
    shape = Table("app", KeyAttribute("PK"), KeyAttribute("SK"))
    names = dict(vars(migrator))
    plan = eval(OPERATIONS[operation], names).plan(Schema({"app": shape}, "app"))
    common = {"dynamodb:DescribeTable"}
    for way, listed, steps in (("up", up, plan.steps), ("down", down, plan.rollback)):
        sent = on(bench.by_operation[operation, way], "tables") - common
        assert sent <= listed, way
        assert sent <= set().union(*(step_actions(step, plan) for step in steps)), way


@pytest.mark.parametrize("command", sorted(OF_REWRITES - {"mirror run", "mirror status"}))
def test_a_command_of_a_rewrite_uses_the_control_records_as_the_page_says(bench: Bench, command: str) -> None:
    control, _ = rows("Commands")[command]
    used = on(bench.by_command[command], "control")
    assert used <= control
    assert used <= COMMANDS[command].control


def test_the_page_and_the_table_agree_on_the_commands_of_a_rewrite() -> None:
    for command in OF_REWRITES:
        control, _ = rows("Commands")[command]
        assert control == COMMANDS[command].control, command
