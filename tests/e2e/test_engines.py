"""The core path on each engine there is: the sandbox, and DynamoDB Local where Docker can be reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import boto3
import pytest

from tests.contract.adapters import dynamodb_local
from tests.e2e.conftest import Engine, NewProject
from tests.e2e.project import REGION, Project, tasks


@dataclass
class Elsewhere:
    """Stands in for a sandbox where only its address and its clients are asked for."""

    endpoint_url: str
    _opened: list[object] = field(default_factory=list)

    def client(self, *, account: str, unseen: bool) -> object:
        made = boto3.client(
            "dynamodb",
            region_name=REGION,
            endpoint_url=self.endpoint_url,
            aws_access_key_id=account,
            aws_secret_access_key="local",
        )
        self._opened.append(made)
        return made

    def close(self) -> None:
        for client in self._opened:
            client.close()  # type: ignore[attr-defined]


@pytest.fixture(scope="module", params=["sandbox", pytest.param("dynamodb-local", marks=pytest.mark.docker)])
def each(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Engine]:
    if request.param == "sandbox":
        yield engine
        return
    with dynamodb_local() as url:
        elsewhere = Elsewhere(url)
        yield Engine(elsewhere, engine.wire)  # type: ignore[arg-type]
        elsewhere.close()


@pytest.fixture
def here(new_project: NewProject, each: Engine, request: pytest.FixtureRequest) -> Project:
    made = new_project(each)
    # DynamoDB Local is shared by all accounts: tables differ by name.
    made.table = f"{request.node.originalname[5:60]}"
    made.configure()
    return made


def test_create_backfill_index_and_all_the_way_back(here: Project) -> None:
    here.migration("0001", 'CreateTable(partition_key="PK", sort_key="SK"),')
    here.migration(
        "0002",
        'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),\n'
        'AddIndex("ByOwner", partition_key="GSI1PK", sort_key="SK", projection=["name"]),',
        down="0001",
    )
    here.ok("upgrade", "0001")
    here.put([*tasks(60), {"PK": {"S": "NOTE"}, "SK": {"S": "1"}}])
    before = {item["SK"]["S"]: item for item in here.items()}
    assert "0002" in here.ok("plan").out
    here.ok("upgrade")
    found = here.items(index="ByOwner")
    assert len(found) == 60
    assert found[0].keys() == {"PK", "SK", "GSI1PK", "name"}
    here.ok("check")
    here.ok("downgrade", "-1")
    assert here.index("ByOwner") is None
    assert {item["SK"]["S"]: item for item in here.items()} == before
    here.ok("upgrade")
    assert here.ok("status", "-o", "json").document["state"] == "up-to-date"


def test_an_append_journal_and_a_rename_to_its_end(here: Project) -> None:
    here.make_table()
    here.put(tasks(20))
    here.migration(
        "0001",
        'Backfill(where={"entity": "Task"}, transform=shout, once=True),',
        code='def shout(item):\n    return {"name": item["name"] + "!"}',
    )
    here.migration("0002", 'RenameAttribute("owner", "holder"),', down="0001")
    here.ok("upgrade", "--from-base", code=9)
    here.ok("contract", "--yes")
    assert {item["name"]["S"].count("!") for item in here.items()} == {1}
    assert all("owner" not in item and "holder" in item for item in here.items())


def test_failed_items_are_listed_and_skipped(here: Project) -> None:
    here.make_table()
    here.put([*tasks(5), {"PK": {"S": "T"}, "SK": {"S": "1"}, "entity": {"S": "Task"}}])
    here.migration("0001", 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),')
    here.ok("upgrade", "--from-base", code=6)
    here.ok("failed", "list", code=6)
    here.ok("failed", "skip", "0001", '{"PK": {"S": "T"}, "SK": {"S": "1"}}', "--because", "has no owner")
    here.ok("upgrade")
    assert len([item for item in here.items() if "GSI1PK" in item]) == 5


def test_the_lock_of_a_killed_run_is_taken_over(here: Project) -> None:
    here.configure(lease="2s", segments=1)
    here.make_table()
    here.put(tasks(300))
    here.migration("0001", 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),')
    running = here.start("upgrade", "--from-base")
    here.until(here.holds_lock)
    running.kill()
    running.wait()
    here.ok("upgrade", "--from-base")
    assert all("GSI1PK" in item for item in here.items())
