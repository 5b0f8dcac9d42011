"""The parts of the demo that must be able to fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from migrator import wiring
from migrator.core.item import to_python
from migrator.demo.killed import upgrade_and_kill
from migrator.demo.project import ACCOUNT, ITEMS, TABLE, DemoProject, demo_project, no_aws
from migrator.demo.story import FIRST_RELEASE, refuse_wrong
from migrator.errors import MigratorError
from migrator.runner.results import PatternsResult, RunResult
from migrator.sandbox import Sandbox
from migrator.sandbox.load import load_file


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with no_aws(), Sandbox(index_build=0.2) as sandbox:
        yield sandbox


@pytest.fixture
def project(sandbox: Sandbox) -> Iterator[DemoProject]:
    """The model at its first release, with its items."""
    with demo_project(sandbox.endpoint_url) as project:
        upgrade(project, FIRST_RELEASE)
        load_file(client(sandbox), ITEMS, table=TABLE)
        yield project


def client(sandbox: Sandbox) -> Any:
    return sandbox.client(account=ACCOUNT, unseen=True)


def upgrade(project: DemoProject, target: str = "head") -> RunResult:
    opened = wiring.open_project(project.config, None, {})
    with wiring.open_runner(opened, lambda _event: None) as runner:
        return runner.upgrade(target)


def asked(project: DemoProject) -> PatternsResult:
    opened = wiring.open_project(project.config, None, {})
    with wiring.open_runner(opened, lambda _event: None, read_only=True) as runner:
        return runner.patterns()


def names(sandbox: Sandbox) -> dict[str, Any]:
    """The member's id -> its project's name, of the members that have one."""
    items = client(sandbox).scan(TableName=TABLE)["Items"]
    return {item["id"]["S"]: to_python(item["projectName"]) for item in items if "projectName" in item}


def test_the_killed_run_wrote_two_members_and_the_next_one_writes_the_third(
    sandbox: Sandbox, project: DemoProject
) -> None:
    assert upgrade_and_kill(sandbox, project.config, after_writes=2) == -9
    assert len(names(sandbox)) == 2
    assert upgrade(project).state == "applied"
    assert names(sandbox) == {"p1/u1": "Launch", "p1/u2": "Launch", "p2/u1": "Docs"}


def test_a_run_that_ends_before_it_can_be_killed_is_no_proof(sandbox: Sandbox, project: DemoProject) -> None:
    upgrade(project)
    with pytest.raises(MigratorError) as refused:
        upgrade_and_kill(sandbox, project.config, after_writes=2)
    assert refused.value.code == "demo-run-ended"


def test_an_answer_that_differs_is_found_and_ends_the_demo_with_an_error(
    sandbox: Sandbox, project: DemoProject
) -> None:
    upgrade(project)
    right = asked(project)
    assert [[one.state for one in line.asked] for line in right.patterns] == [["right"]] * 10
    refuse_wrong(right)
    key = {"PK": {"S": "TENANT#t1#PROJECT#p1"}, "SK": {"S": "TASK#2026-10-22T09:00:00Z#a3"}}
    client(sandbox).delete_item(TableName=TABLE, Key=key)
    wrong = asked(project)
    differing = [line.name for line in wrong.patterns if line.asked[0].state == "wrong"]
    assert differing == ["AP3", "AP5", "AP8", "AP9", "AP10"]
    assert "the answer lacks Task:a3" in wrong.findings[-1].message
    with pytest.raises(MigratorError, match="AP10 got nothing") as refused:
        refuse_wrong(wrong)
    assert (refused.value.code, refused.value.exit_code) == ("demo-differs", 1)


def test_escalations_hold_the_one_escalated_task(sandbox: Sandbox, project: DemoProject) -> None:
    upgrade(project)
    held = client(sandbox).scan(TableName=TABLE, IndexName="Escalations")["Items"]
    assert [item["id"]["S"] for item in held] == ["a3"]


def test_the_environment_is_as_it_was_after_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    before = dict(os.environ)
    with no_aws():
        assert "AWS_PROFILE" not in os.environ
        assert "HTTPS_PROXY" not in os.environ
    assert dict(os.environ) == before
