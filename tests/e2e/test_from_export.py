"""`upgrade --from-export`: the installed command on a folder of files as the service writes them to S3."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.e2e.project import Project, tasks
from tests.exported import write_export

OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'


def export(project: Project, name: str = "export", time: datetime | None = None, number: int = 1) -> Path:
    """The table as it stands, control records and all, in eight files."""
    live = project.client.describe_table(TableName=project.table)["Table"]
    write_export(
        project.folder / name,
        [*project.items(), *project.control_records()],
        table_arn=live["TableArn"],
        table_id=live["TableId"],
        time=time or datetime.now(UTC),
        files=8,
        export_id=f"0170000000000{number}-1234abcd",
    )
    return project.folder / name


def scans(project: Project) -> int:
    return len(project.sent(lambda one: one.operation == "Scan"))


def test_two_processes_read_the_export_and_the_table_is_scanned_once(project: Project) -> None:
    project.configure(segments=2)
    project.migration("0001", OWNERS)
    project.put(tasks(200, photo={"B": b"\x00\xff"}))
    folder = export(project)
    key = {"PK": {"S": "TENANT#00"}, "SK": {"S": "TASK#000000"}}
    project.client.update_item(
        TableName=project.table,
        Key=key,
        UpdateExpression="SET #o = :o",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":o": {"S": "somebody-else"}},
    )
    project.client.delete_item(TableName=project.table, Key={"PK": {"S": "TENANT#01"}, "SK": {"S": "TASK#000001"}})
    plan = project.ok("plan", "--from-export", str(folder), "--from-base", "--samples", "0")
    assert "minutes old: 200 items in 8 files" in " ".join(plan.out.split())
    done = project.ok("upgrade", "--from-base", "--from-export", str(folder), "--workers", "2", "-o", "json")
    counts = done.document["outcomes"][0]["counts"]
    assert [counts[name] for name in ("scanned", "written", "conflicts", "gone")] == [200, 199, 1, 1]
    items = project.items()
    assert len(items) == 199
    assert all(item["GSI1PK"]["S"] == f"OWNER#{item['owner']['S']}" for item in items)
    assert all(item["photo"] == {"B": b"\x00\xff"} for item in items)


def test_a_later_export_checks_and_the_table_is_never_scanned(project: Project) -> None:
    project.migration("0001", OWNERS)
    project.put(tasks(120))
    options: list[Any] = ["--from-base", "--from-export", str(export(project)), "--from-export-check", "later"]
    before = scans(project)
    waits = project.ok("upgrade", *options, code=6)
    assert "export-table-to-point-in-time" in waits.out
    export(project, "later", datetime.now(UTC) + timedelta(minutes=3), 2)
    assert "applied" in project.ok("upgrade", *options).out
    assert scans(project) == before
    assert all("GSI1PK" in item for item in project.items())


def test_a_spoilt_file_is_named_and_nothing_is_written(project: Project) -> None:
    project.migration("0001", OWNERS)
    project.put(tasks(40))
    folder = export(project)
    file = next(folder.glob("AWSDynamoDB/*/data/file3.json.gz"))
    file.write_bytes(file.read_bytes()[:-9])
    done = project.refused("bad-export", "upgrade", "--from-base", "--from-export", str(folder), exit_code=2)
    assert file.name in done.err
    project.refused("usage", "upgrade", "--from-export", str(folder), "--engine", "spark", exit_code=2)
