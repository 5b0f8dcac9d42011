"""What a pipeline sees: one JSON document, an exit code that tells one outcome from another, and what to do next."""

from __future__ import annotations

import json

import pytest

from migrator.sandbox import Request, Response
from tests.e2e.project import Done, Project, tasks
from tests.e2e.wire import updated

OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'
INDEX = 'AddIndex("ByOwner", partition_key="GSI1PK"),'
FAILING = """
def strict(item):
    if item["name"].endswith("3"):
        raise ValueError("names may not end in 3")
    return {"checked": "yes"}
"""


def told(done: Done, code: int, state: str) -> dict[str, object]:
    """The document of a command, after it was held against what every document must say."""
    document = done.document
    assert done.code == code, done
    assert document["schema_version"] == 1
    assert document["exit_code"] == code, done
    assert document["state"] == state, done
    assert document.keys() >= {"command", "next", "blocked_by"}
    if code:
        assert document["next"], "a failure says what to do"
    return document


def test_every_command_answers_with_one_document_that_repeats_its_exit_code(project: Project) -> None:
    project.put(tasks(4))
    told(project.run("revision", "-m", "owners", "-o", "json"), 0, "created")
    (path,) = (project.folder / "migrations").glob("*.py")
    path.unlink()
    project.migration("0001", OWNERS)
    told(project.run("plan", "--from-base", "--detailed-exitcode", "-o", "json"), 8, "pending")
    told(project.run("check", "-o", "json"), 8, "pending")
    told(project.run("upgrade", "--from-base", "-o", "json"), 0, "applied")
    told(project.run("upgrade", "-o", "json"), 0, "up-to-date")
    told(project.run("status", "-o", "json"), 0, "up-to-date")
    told(project.run("check", "-o", "json"), 0, "clean")
    for done in project.run_all("history", "current", "heads", "show head", "lock show", "failed list", json=True):
        assert (done.document["schema_version"], done.document["exit_code"], done.code) == (1, 0, 0)
    told(project.run("downgrade", "base", "-o", "json"), 0, "downgraded")
    told(project.run("stamp", "head", "-o", "json"), 0, "stamped")
    told(project.run("upgrade", "9999", "-o", "json"), 2, "error")
    told(project.run("upgrade", "--no-such-option", "-o", "json"), 2, "error")


def test_stderr_is_json_lines_and_stdout_the_result_alone(project: Project) -> None:
    project.put(tasks(4))
    project.migration("0001", OWNERS)
    done = project.ok("upgrade", "--from-base", "-o", "json")
    events = [json.loads(line) for line in done.err.splitlines()]
    assert {"revision started", "step started", "revision finished"} <= {event["event"] for event in events}
    assert done.out.startswith("{")


# --- green on failure: each failure has its own exit code ---------------------------------------------------------


def test_failed_items_leave_the_revision_incomplete_until_retried_or_skipped(project: Project) -> None:
    project.put(tasks(20))
    path = project.migration("0001", "Backfill(where={'entity': 'Task'}, transform=strict),", code=FAILING)
    done = project.run("upgrade", "--from-base")
    assert done.code == 6, done
    assert done.last_line.startswith("next: ")
    assert "failed" in done.last_line or "upgrade" in done.last_line
    assert len([item for item in project.items() if "checked" in item]) == 18, "the others went on"

    listed = project.ok("failed", "list", "-o", "json", code=6).document
    assert sorted(one["key"]["SK"]["S"] for one in listed["items"]) == ["TASK#000003", "TASK#000013"]
    assert all(one["code"] == "transform-error" and "line" in one["reason"] for one in listed["items"])

    # The application mends one of them: a retry writes that one and nothing else.
    project.put([{**next(tasks(1)), "PK": {"S": "TENANT#03"}, "SK": {"S": "TASK#000003"}, "name": {"S": "task three"}}])
    with project.recording() as sent:
        project.ok("failed", "retry", "-o", "json", code=6)
    assert [one.keys for one in sent if one.writes_items] == [(("TENANT#03", "TASK#000003"),)]
    key = json.dumps({"PK": {"S": "TENANT#13"}, "SK": {"S": "TASK#000013"}})
    project.ok("failed", "skip", "0001", key, "--because", "retired")
    told(project.run("upgrade", "-o", "json"), 0, "applied")
    assert path.exists()
    assert "checked" not in next(item for item in project.items() if item["SK"]["S"] == "TASK#000013")


def test_too_many_failures_stop_at_a_checkpoint(project: Project) -> None:
    project.configure(max_failures=2)
    project.put(tasks(60))
    project.migration("0001", "Backfill(where={'entity': 'Task'}, transform=strict),", code=FAILING)
    done = project.run("upgrade", "--from-base", "-o", "json")
    told(done, 6, "incomplete")
    assert "too-many-failures" in done.out


@pytest.mark.parametrize("operation", ["UpdateItem", "Query", "DescribeTable"])
def test_access_denied_is_an_error_that_names_the_action_and_never_an_absence(project: Project, operation: str) -> None:
    def deny(request: Request) -> Response | None:
        # Updates travel alone or in batches.
        if request.operation != operation and not (operation == "UpdateItem" and updated(request)):
            return None
        return Response.error(
            "AccessDeniedException",
            f"User: arn:aws:iam::{request.account}:user/ci is not authorized to perform: dynamodb:{operation}",
        )

    project.put(tasks(3))
    project.migration("0001", OWNERS)
    with project.sandbox.intercept(deny):
        done = project.run("upgrade", "--from-base", "-o", "json")
    assert done.code == 1, done
    assert done.document["exit_code"] == 1
    assert "access-denied" in done.out
    assert operation in done.out
    assert "no-history" not in done.out
    assert "table-missing" not in done.out
    assert all("GSI1PK" not in item for item in project.items())
    if operation == "UpdateItem":
        failed = project.ok("status", "-o", "json").document["revisions"][0]
        assert failed["status"] == "failed", "a failed step stays visible"
        assert operation in failed["error"]
    told(project.run("upgrade", "--from-base", "-o", "json"), 0, "applied")


def test_drift_and_pending_changes_and_a_clean_state_are_three_exit_codes(project: Project) -> None:
    project.migration("0001", INDEX)
    told(project.run("check", "-o", "json"), 8, "pending")
    project.ok("upgrade", "--from-base")
    told(project.run("check", "-o", "json"), 0, "clean")
    project.client.update_table(
        TableName=project.table, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "ByOwner"}}]
    )
    project.until(lambda: project.index("ByOwner") is None)
    told(project.run("check", "-o", "json"), 3, "findings")


@pytest.mark.parametrize(
    ("times", "code", "state"),
    [
        pytest.param(12, 0, "applied", id="for a while"),
        pytest.param(10**9, 7, "failed", id="without end", marks=[pytest.mark.deep, pytest.mark.timeout(1200)]),
    ],
)
def test_throttling_is_waited_out_and_stops_the_run_by_load_only_where_it_does_not_end(
    project: Project, times: int, code: int, state: str
) -> None:
    left = [times]

    def throttle(request: Request) -> Response | None:
        if left[0] and updated(request):
            left[0] -= 1
            return Response.error("ProvisionedThroughputExceededException", "The level of configured throughput")
        return None

    project.put(tasks(10))
    project.migration("0001", OWNERS)
    with project.sandbox.intercept(throttle):
        told(project.run("upgrade", "--from-base", "-o", "json", timeout=1000), code, state)
    assert left[0] < times


# --- the gate -----------------------------------------------------------------------------------------------------


def test_a_rename_stops_at_its_gate_and_contract_completes_it(project: Project) -> None:
    project.put(tasks(10))
    project.migration("0001", 'RenameAttribute("owner", "holder"),')
    done = told(project.run("upgrade", "--from-base", "-o", "json"), 9, "at-gate")
    assert "contract" in str(done["next"])
    assert all(item["owner"] == item["holder"] for item in project.items()), "both names while applications move"
    told(project.run("upgrade", "-o", "json"), 9, "at-gate")
    assert project.run("upgrade", "--allow-gate", "-o", "json").code == 0
    project.refused("needs-yes", "contract", "0001", exit_code=2)
    told(project.run("contract", "0001", "--yes", "-o", "json"), 0, "applied")
    assert all("owner" not in item and "holder" in item for item in project.items())
    told(project.run("upgrade", "-o", "json"), 0, "up-to-date")


def test_a_rename_is_taken_back_from_its_gate(project: Project) -> None:
    project.put(tasks(10))
    before = {item["SK"]["S"]: item for item in project.items()}
    project.migration("0001", 'RenameAttribute("owner", "holder"),')
    project.ok("upgrade", "--from-base", code=9)
    project.refused("not-applied", "downgrade", "base", exit_code=1)
    told(project.run("rollback", "0001", "-o", "json"), 0, "rolled-back")
    assert {item["SK"]["S"]: item for item in project.items()} == before


def test_rollback_refuses_an_applied_revision_and_names_downgrade(project: Project) -> None:
    project.migration("0001", OWNERS)
    project.ok("upgrade", "--from-base")
    done = project.refused("is-applied", "rollback", "0001", exit_code=1)
    assert "migrator downgrade" in done.err


def test_destructive_steps_need_yes_or_a_reviewed_plan(project: Project) -> None:
    project.put(tasks(4))
    project.migration("0001", 'RemoveAttributes("amount"),')
    project.refused("needs-yes", "upgrade", "--from-base", exit_code=2)
    project.ok("plan", "--from-base", "--out", "plan.json")
    project.ok("upgrade", "--from-base", "--plan", "plan.json")
    assert not [item for item in project.items() if "amount" in item]


def test_a_protected_environment_is_upgraded_by_a_reviewed_plan_only(project: Project) -> None:
    project.configure(env="protected = true")
    project.put(tasks(4))
    project.migration("0001", OWNERS)
    project.refused("protected-environment", "upgrade", "--from-base", exit_code=2)
    project.ok("plan", "--from-base", "--out", "plan.json")
    project.ok("upgrade", "--from-base", "--plan", "plan.json")


def test_text_ends_with_what_to_do_next(project: Project) -> None:
    project.put(tasks(2))
    project.migration("0001", OWNERS)
    for done in project.run_all("plan --from-base", "status", "heads", "lock show"):
        assert done.last_line.startswith("next: "), done
    assert project.ok("upgrade", "--from-base").last_line.startswith("next: ")
    assert project.ok("downgrade", "base").last_line.startswith("next: ")
