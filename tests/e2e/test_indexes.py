"""Index changes: one at a time, each build watched to its end, adopted where it runs already."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from migrator.sandbox import ManualClock, Request, Response
from tests.e2e.project import Done, Project, Running, tasks

BY_OWNER = 'AddIndex("by-owner", partition_key="owner"),'
BY_NAME = 'AddIndex("by-name", partition_key="name"),'


def changes(project: Project) -> list[dict[str, Any]]:
    """The index changes of the UpdateTable calls that were applied, one list entry a call."""
    found = []
    for one in project.sent(lambda one: one.operation == "UpdateTable" and not one.error):
        updates = one.body.get("GlobalSecondaryIndexUpdates", [])
        assert len(updates) == 1, one.body
        found += [{kind: what["IndexName"] for kind, what in update.items()} for update in updates]
    return found


def turn(project: Project, seconds: float) -> None:
    clock = project.sandbox.clock
    assert isinstance(clock, ManualClock)
    clock.advance(seconds)


@pytest.mark.parametrize("files", [1, 2])
def test_two_indexes_are_built_one_after_the_other_one_create_a_call(project: Project, files: int) -> None:
    if files == 1:
        project.migration("0001", BY_NAME + BY_OWNER)
    else:
        project.migration("0001", BY_NAME)
        project.migration("0002", BY_OWNER, down="0001")
    project.ok("upgrade", "--from-base")
    assert changes(project) == [{"Create": "by-name"}, {"Create": "by-owner"}]
    order = [
        (one.operation, one.body.get("GlobalSecondaryIndexUpdates"))
        for one in project.sent(lambda one: one.operation in ("UpdateTable", "DescribeTable"))
    ]
    between = [name for name, _ in order[order.index(next(one for one in order if one[1])) + 1 :]]
    assert between.index("UpdateTable") > 0, "the second waits for the first, which only DescribeTable can tell"


def test_a_new_table_with_two_indexes_is_one_call(empty: Project) -> None:
    empty.configure()
    empty.migration(
        "0001",
        'CreateTable(partition_key="PK", sort_key="SK", indexes=['
        'Index("by-owner", partition_key="owner"), Index("by-name", partition_key="name")]),',
    )
    empty.ok("upgrade")
    assert [
        len(one.body["GlobalSecondaryIndexes"]) for one in empty.sent(lambda one: one.operation == "CreateTable")
    ] == [2]
    assert changes(empty) == []


def test_refusals_of_a_second_index_change_are_waited_out(project: Project) -> None:
    answers = [
        Response.error(
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        ),
        Response.error("ResourceInUseException", "Attempt to change a resource which is still in use"),
    ]

    def refuse(_: Request) -> Response | None:
        return answers.pop(0) if answers else None

    project.migration("0001", BY_OWNER)
    with project.sandbox.intercept(refuse, operation="UpdateTable"):
        project.ok("upgrade", "--from-base")
    assert answers == []
    assert changes(project) == [{"Create": "by-owner"}]


def test_active_is_believed_only_when_the_index_is_listed_active_and_not_backfilling(project: Project) -> None:
    def index(status: str, backfilling: bool | None) -> dict[str, Any]:
        return {"IndexStatus": status} | ({} if backfilling is None else {"Backfilling": backfilling})

    # Behind the create: not listed although the table is ACTIVE, then by and by to the end.
    scenes = [None, index("ACTIVE", True), index("ACTIVE", True), index("ACTIVE", True), index("CREATING", False)]
    shown: list[object] = []
    created = threading.Event()

    def describe(_: Request, answer: Response) -> Response | None:
        if not created.is_set() or not scenes:
            return None
        body = answer.body
        scene = scenes.pop(0)
        shown.append(scene)
        indexes = body["Table"].pop("GlobalSecondaryIndexes", [])
        body["Table"]["TableStatus"] = "ACTIVE"
        if scene is not None and indexes:
            body["Table"]["GlobalSecondaryIndexes"] = [
                {name: what for name, what in one.items() if name != "Backfilling"} | scene for one in indexes
            ]
        return answer.with_body(body)

    project.migration("0001", BY_OWNER)
    with (
        project.sandbox.intercept(after=lambda *_: created.set(), operation="UpdateTable"),
        project.sandbox.intercept(after=describe, operation="DescribeTable"),
    ):
        done = project.ok("upgrade", "--from-base")
    assert scenes == [], "each was looked at before the revision counted as applied"
    assert len(shown) == 5
    assert changes(project) == [{"Create": "by-owner"}]
    assert "CREATING" in done.err


def test_an_index_that_another_tool_built_is_adopted_and_stays_at_a_downgrade(project: Project) -> None:
    _build(project, "by-owner", [("owner", "S")], {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["b", "a"]})
    project.migration("0001", 'AddIndex("by-owner", partition_key="owner", projection=["PK", "a", "b"]),')
    project.ok("upgrade", "--from-base")
    assert changes(project) == []
    status = project.ok("status", "-o", "json").document
    assert status["revisions"][0]["objects"] == {"index:by-owner": "adopted"}
    project.ok("downgrade", "base")
    assert project.index("by-owner")
    project.ok("upgrade")
    project.ok("downgrade", "base", "--drop-adopted")
    assert project.index("by-owner") is None


@pytest.mark.parametrize(
    ("keys", "projection", "named"),
    [
        pytest.param([("owner", "N")], {"ProjectionType": "ALL"}, "owner", id="type"),
        pytest.param([("owner", "S"), ("name", "S")], {"ProjectionType": "ALL"}, "name", id="sort key"),
        pytest.param(
            [("owner", "S")], {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"]}, "projection", id="projection"
        ),
    ],
)
def test_a_standing_index_with_another_definition_is_refused_with_the_difference(
    project: Project, keys: list[tuple[str, str]], projection: dict[str, Any], named: str
) -> None:
    _build(project, "by-owner", keys, projection)
    project.migration("0001", BY_OWNER)
    with project.changing_nothing():
        done = project.run("upgrade", "--from-base")
    assert done.code == 3, done
    assert "index-differs" in done.err
    assert "by-owner" in done.err
    assert named in done.err


def test_without_waiting_it_exits_5_and_the_next_run_adopts_the_build(slow: Project) -> None:
    slow.migration("0001", BY_OWNER)
    done = slow.ok("upgrade", "--from-base", "--no-wait", code=5)
    assert "migrator upgrade" in done.last_line or "run the same command again" in done.last_line
    assert slow.ok("status", "-o", "json").document["state"] == "building"
    slow.ok("upgrade", "--wait-timeout", "300ms", code=5)
    turn(slow, 1_000)
    slow.ok("upgrade")
    assert changes(slow) == [{"Create": "by-owner"}]
    status = slow.ok("status", "-o", "json").document
    assert status["revisions"][0]["objects"] == {"index:by-owner": "created"}


def test_killed_while_building_the_next_run_adopts_the_build_with_no_second_call(slow: Project) -> None:
    slow.configure(lease="2s")
    slow.migration("0001", BY_OWNER)
    running = slow.start("upgrade", "--from-base")
    slow.until(lambda: slow.index("by-owner") is not None)
    running.kill()
    running.wait()
    second = slow.start("upgrade")
    slow.until(lambda: _polls(slow, second) > 2)
    turn(slow, 1_000)
    assert second.wait().code == 0, second.err
    assert changes(slow) == [{"Create": "by-owner"}]
    assert slow.ok("status", "-o", "json").document["revisions"][0]["objects"] == {"index:by-owner": "created"}


def test_an_index_that_is_being_deleted_is_waited_for_then_created(slow: Project) -> None:
    _build(slow, "by-owner", [("owner", "S")], {"ProjectionType": "ALL"})
    turn(slow, 1_000)
    slow.client.update_table(TableName=slow.table, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-owner"}}])
    slow.migration("0001", BY_OWNER)
    running = slow.start("upgrade", "--from-base")
    slow.until(lambda: _polls(slow, running) > 2)
    assert changes(slow) == []
    turn(slow, 1_000)
    slow.until(lambda: changes(slow) == [{"Create": "by-owner"}])
    turn(slow, 1_000)
    assert running.wait().code == 0, running.err


def test_items_that_no_index_can_hold_are_listed_by_key_and_reason_before_the_build(project: Project) -> None:
    def item(name: str, **attributes: dict[str, Any]) -> dict[str, Any]:
        return {"PK": {"S": "P"}, "SK": {"S": name}, **attributes}

    project.put(
        [
            item("number", score={"N": "5"}, email={"S": "a@b"}),
            item("string", score={"S": "high"}),
            item("null", score={"NULL": True}),
            item("absent"),
            item("empty", email={"S": ""}),
            item("long", email={"S": "x" * 2049}),
        ]
    )
    project.migration("0001", 'AddIndex("by-score", partition_key=N("score")),')
    done = project.run("upgrade", "--from-base", "-o", "json")
    _refused_as_unindexable(done, {"string", "null"})

    project.migration("0001", 'AddIndex("by-email", partition_key="email"),')
    _refused_as_unindexable(project.run("upgrade", "--from-base", "-o", "json"), {"empty", "long"})
    assert changes(project) == []

    project.migration("0001", 'AddIndex("by-email", partition_key="email", unindexable="allow"),')
    project.ok("upgrade", "--from-base")
    assert [one["SK"]["S"] for one in project.items(index="by-email")] == ["number"]


def test_an_index_that_somebody_deleted_is_drift_and_repair_builds_it_again(project: Project) -> None:
    project.put(tasks(3))
    project.migration("0001", BY_OWNER)
    project.ok("upgrade", "--from-base")
    project.client.update_table(
        TableName=project.table, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-owner"}}]
    )
    project.until(lambda: project.index("by-owner") is None)
    done = project.ok("check", "-o", "json", code=3)
    assert [one["rule"] for one in done.document["findings"]] == ["drift"]
    project.ok("repair", "--drift")
    project.ok("check")
    assert len(project.items(index="by-owner")) == 3


def _refused_as_unindexable(done: Done, keys: set[str]) -> None:
    """The items of these sort keys, and no others, are named with the reason."""
    assert done.code == 3, done
    found = done.document
    assert "unindexable" in found["outcomes"][0]["error"], done
    told = done.out + done.err
    for key in ("number", "string", "null", "absent", "empty", "long"):
        assert (f'SK=\\"{key}\\"' in told) == (key in keys), (key, told)


def _build(project: Project, name: str, keys: list[tuple[str, str]], projection: dict[str, Any]) -> None:
    """Add an index as another tool would."""
    project.client.update_table(
        TableName=project.table,
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": kind} for key, kind in keys],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": name,
                    "KeySchema": [
                        {"AttributeName": key, "KeyType": role}
                        for (key, _), role in zip(keys, ("HASH", "RANGE"), strict=False)
                    ],
                    "Projection": projection,
                }
            }
        ],
    )
    if not isinstance(project.sandbox.clock, ManualClock):
        project.until(lambda: (project.index(name) or {}).get("IndexStatus") == "ACTIVE")


def _polls(project: Project, running: Running) -> int:
    return len(project.sent(lambda one: one.app == running.app and one.operation == "DescribeTable"))
