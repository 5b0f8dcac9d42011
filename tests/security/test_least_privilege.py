"""Every operation and every command runs with the actions of docs/permissions.md, all others denied."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from migrator.sandbox import Logged, Request, Response, Sandbox
from tests.docs.console import DOCS, desk
from tests.docs.requests import CONFIG, Bench, actions, every_command, every_operation
from tests.docs.test_permissions import rows

ALWAYS = {("sts:GetCallerIdentity", "*"), ("cloudwatch:GetMetricData", "*")}


def allowed(line: str, operation: str) -> set[tuple[str, str]]:
    """What the page grants to a command line, where an operation is at work."""
    words = line.split()
    name = " ".join(words[:2]) if words[0] in ("failed", "lock") else words[0]
    name = "init --from-table" if name == "init" else name
    control, tables = rows("Commands")[name]
    found = {(action, "control") for action in control} | {(action, "tables") for action in tables}
    for way in rows("Operations").get(operation, []):
        found |= {(action, "tables") for action in way}
    return found | ALWAYS


class Guarded(Bench):
    """A bench whose sandbox denies each request that the page does not grant to the command at work."""

    operation = ""

    def type(self, line: str, *, name: str = "", code: int = 0) -> set[tuple[str, str]]:
        with self.sandbox.intercept(before=self.deny(allowed(line, self.operation))):
            return super().type(line, name=name, code=code)

    def deny(self, granted: set[tuple[str, str]]) -> Callable[[Request], Response | None]:
        def before(request: Request) -> Response | None:
            missing = set(actions(Logged(request.operation, request.body))) - granted
            if not missing:
                return None
            action = min(missing)[0]
            return Response.error("AccessDeniedException", f"User is not authorized to perform: {action}")

        return before

    def revision(self, operations: str) -> str:
        made = re.match(r"\w+", operations)
        assert made is not None
        variant = " with lookups" if "owner" in operations else " with a journal" if "once=" in operations else ""
        self.operation = made[0] + variant
        return super().revision(operations)


@pytest.mark.deep
def test_every_operation_and_command_needs_only_what_the_page_grants() -> None:
    with Sandbox(index_build=0.1) as sandbox, desk(sandbox) as here:
        bench = Guarded(here, sandbox)
        every_operation(bench)
        every_command(bench)
        assert {"upgrade", "downgrade", "contract", "rollback"} <= set(bench.by_command)


def test_an_action_that_is_not_granted_is_named_with_its_resource_and_nothing_is_changed() -> None:
    """That the guard above bites: without UpdateItem a backfill stops, and says so."""
    with Sandbox(index_build=0.1) as sandbox, desk(sandbox) as here:
        bench = Bench(here, sandbox)
        every = {
            (f"dynamodb:{name}", kind)
            for name in re.findall(r"`([A-Z]\w+)`", (DOCS / "permissions.md").read_text())
            for kind in ("control", "tables")
        }
        here.write("migrator.toml", CONFIG.format())
        bench.revision('CreateTable(partition_key="PK", sort_key="SK")')
        bench.type("upgrade")
        bench.put(PK="T", SK="1", title="bolts")
        bench.revision('Backfill(set={"label": "{title}"})')
        guard = Guarded(here, sandbox).deny(every - {("dynamodb:UpdateItem", "tables")} | ALWAYS)
        with sandbox.intercept(before=guard):
            printed = here.run("migrator upgrade")
        assert here.codes[-1] == 1
        assert "access-denied" in printed + here.log
        assert "UpdateItem" in printed + here.log
        item = bench.client.get_item(TableName="local-app", Key={"PK": {"S": "T"}, "SK": {"S": "1"}})["Item"]
        assert "label" not in item
