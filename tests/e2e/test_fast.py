"""The fast transport at the command: the same outcome as ever, and what it says where it cannot work."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest

from migrator.sandbox import Drop, Request, Response
from tests.e2e.conftest import NewProject
from tests.e2e.project import Project, tasks
from tests.e2e.wire import updated

BATCH = "BatchExecuteStatement"
OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'
JOINED = """
def joined(item):
    return {"label": item["name"] + "/" + item["owner"]}
"""


@pytest.fixture
def transport() -> str:
    return "fast"


@pytest.mark.parametrize("operations", [OWNERS, "Backfill(transform=joined, undo='none'),"])
def test_faults_in_the_middle_of_batches_change_nothing_in_the_outcome(project: Project, operations: str) -> None:
    count = 300
    project.configure(segments=3)
    project.migration("0001", operations, code=JOINED)
    project.put(tasks(count))
    batches = 0

    def lose(_request: Request, _answer: Response | None = None) -> Drop | None:
        nonlocal batches
        batches += 1
        return Drop() if batches % 4 == 0 else None

    with ExitStack() as faults:
        # Answers lost after the statements were carried out, and before; statements throttled, failed, in conflict.
        faults.enter_context(project.sandbox.intercept(after=lose, operation=BATCH))
        faults.enter_context(project.sandbox.intercept(lose, operation=BATCH))
        for code, share in (("ThrottlingError", 0.2), ("InternalServerError", 0.1), ("TransactionConflict", 0.1)):
            faults.enter_context(project.sandbox.fault("statement", code=code, share=share))
        done = project.ok("upgrade", "--from-base", "-o", "json")
    assert batches > 10
    counts = done.document["outcomes"][0]["counts"]
    assert (counts["scanned"], counts["written"], counts["failed"], counts["gone"]) == (count, count, 0, 0)
    for item in project.items():
        made: dict[str, Any] = {"GSI1PK": {"S": f"OWNER#{item['owner']['S']}"}}
        if operations != OWNERS:
            made = {"label": {"S": f"{item['name']['S']}/{item['owner']['S']}"}}
        assert item.items() >= made.items()
    assert len(project.items()) == count


def test_most_updates_travel_in_batches_and_each_item_is_updated_once(project: Project) -> None:
    project.migration("0001", OWNERS)
    project.put(tasks(200))
    keys: Counter[str] = Counter()

    def count(request: Request) -> None:
        if request.operation == BATCH:
            keys.update(key["SK"]["S"] for key in updated(request))

    with project.sandbox.intercept(count):
        project.ok("upgrade", "--from-base")
    assert len(keys) > 150
    assert set(keys.values()) == {1}
    assert all(item["GSI1PK"]["S"] == f"OWNER#{item['owner']['S']}" for item in project.items())


def test_where_statements_are_denied_the_run_goes_on_and_says_so(project: Project) -> None:
    project.migration("0001", OWNERS)
    project.put(tasks(60))
    text = "User: u is not authorized to perform: dynamodb:PartiQLUpdate on resource: arn:aws:dynamodb:r:1:table/app"
    denied = Response.error("AccessDeniedException", text)
    with project.sandbox.intercept(lambda _: denied, operation=BATCH):
        done = project.ok("upgrade", "--from-base")
    assert "dynamodb:PartiQLUpdate" in done.err
    assert all("GSI1PK" in item for item in project.items())


def test_a_transport_that_cannot_read_is_entrusted_with_no_item(new_project: NewProject) -> None:
    project = new_project()
    project.configure()
    project.make_table()
    project.migration("0001", OWNERS)
    project.put(tasks(5))

    def garble(request: Request) -> Response | None:
        # Only the fast transport's own first read: boto3 says who it is at length.
        agent = request.headers.get("user-agent", "")
        return Response(200, b"no JSON") if agent.startswith("dynamodb-migrations/") else None

    with project.sandbox.intercept(garble, operation="DescribeTable"):
        done = project.ok("upgrade", "--from-base", code=1)
    assert "error[fast-unusable]" in done.err
    assert 'transport = "boto3"' in done.err
    assert not project.sent(lambda one: one.writes_items)
    assert not project.holds_lock()
