"""The example workflow: who may do what in it, and that its commands exist and do what it says, on the sandbox."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from migrator.sandbox import Sandbox
from migrator.sandbox.load import load_file
from tests.docs.console import Desk, desk

yaml = pytest.importorskip("yaml")

FOLDER = Path(__file__).parents[2] / "examples" / "github-actions"
FILE = FOLDER / ".github" / "workflows" / "migrations.yml"
ENV = "local"
PROJECT = FOLDER.parent / "online-shop"
WORKFLOW: dict[Any, Any] = yaml.safe_load(FILE.read_text())
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
# YAML 1.1 reads the key `on` as true.
TRIGGERS: dict[str, Any] = WORKFLOW.get("on") or WORKFLOW[True]


def runs(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def runs_files(job: str) -> bool:
    """Whether it loads migration files."""
    return any("migrator " in line for line in runs(job))


def test_forks_never_get_a_trigger_with_this_repositorys_rights() -> None:
    assert TRIGGERS.keys() == {"pull_request", "push"}
    assert TRIGGERS["push"]["branches"] == ["main"]


def test_nothing_is_permitted_that_a_job_does_not_ask_for() -> None:
    assert WORKFLOW["permissions"] == {}
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "lint": {"contents": "read"},
        "plan": {"contents": "read", "id-token": "write"},
        "comment": {"pull-requests": "write"},
        "upgrade": {"contents": "read", "id-token": "write"},
    }
    assert not re.search(r"secrets\.", FILE.read_text())


def test_a_job_with_credentials_runs_no_file_of_a_fork() -> None:
    trusted = "github.event.pull_request.head.repo.full_name == github.repository"
    for name, job in JOBS.items():
        has_credentials = any("configure-aws-credentials" in step.get("uses", "") for step in job["steps"])
        assert has_credentials == (job["permissions"].get("id-token") == "write")
        if has_credentials and runs_files(name):
            assert trusted in job["if"] or job["if"].startswith("github.event_name == 'push' &&")


def test_the_job_that_writes_comments_has_no_code_of_the_repository() -> None:
    assert not runs_files("comment")
    assert not any("checkout" in step.get("uses", "") for step in JOBS["comment"]["steps"])
    for name, job in JOBS.items():
        if runs_files(name):
            assert not {scope for scope, right in job["permissions"].items() if right == "write"} - {"id-token"}


def test_a_checkout_leaves_no_token_behind() -> None:
    steps = [step for job in JOBS.values() for step in job["steps"] if "checkout" in step.get("uses", "")]
    assert len(steps) == 3
    assert all(step["with"]["persist-credentials"] is False for step in steps)


def test_an_expression_of_the_event_gets_into_a_script_by_its_environment_alone() -> None:
    assert not [line for job in JOBS for line in runs(job) if "${{" in line]


def test_the_upgrade_waits_for_a_reviewer_and_for_the_one_before_it() -> None:
    job = JOBS["upgrade"]
    assert (job["environment"], job["needs"]) == ("prod", "plan")
    assert job["concurrency"] == {"group": "migrator-prod", "cancel-in-progress": False}
    assert "github.ref == 'refs/heads/main'" in job["if"]


def test_a_signal_reaches_every_command() -> None:
    lines = [line for job in JOBS for line in runs(job) if "migrator " in line]
    assert len(lines) == 3
    assert all(line.startswith("exec migrator ") for line in lines)


def test_the_three_lines_of_the_bot_are_three_and_what_the_workflow_does() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    assert len(block.splitlines()) == 3
    plan, comment = yaml.safe_load(block)
    assert plan["run"].endswith("-o markdown > plan.md")
    (posts,) = [step for step in JOBS["comment"]["steps"] if "run" in step]
    assert comment["env"] == posts["env"]
    assert comment["run"] == posts["run"].replace(' --repo "$GITHUB_REPOSITORY"', "")


def typed(here: Desk, line: str) -> str:
    """What the line prints, with the environment of the sandbox instead of production; `> FILE` is written."""
    command, _, file = line.removeprefix("exec ").partition(" > ")
    printed = here.run(command.replace("-e prod", f"-e {ENV}"))
    if file:
        (here.folder / file).write_text(printed)
    return printed


def test_the_commands_of_the_workflow_lint_plan_and_apply_that_plan() -> None:
    with Sandbox(index_build=0.0) as sandbox, desk(sandbox) as here:
        shutil.copytree(PROJECT / "finished", here.folder / "finished", ignore=shutil.ignore_patterns("__pycache__"))
        here.write("migrator.toml", (PROJECT / "finished.toml").read_text())
        here.run("migrator upgrade 20200601090000")
        load_file(sandbox.client(), PROJECT / "model-v14.json", table="finished-online-shop", with_indexes=False)
        lines = {job: [line for line in runs(job) if "migrator " in line] for job in JOBS}
        annotations = typed(here, *lines["lint"])
        assert "::warning file=" in annotations
        typed(here, *lines["plan"])
        assert (here.folder / "plan.md").read_text().startswith("<!-- migrator plan -->")
        assert (here.folder / "plan.html").read_text().startswith("<!doctype html>")
        assert json.loads((here.folder / "plan.json").read_text())["state"] == "pending"
        applied = json.loads(typed(here, *lines["upgrade"]))
        assert (applied["state"], len(applied["outcomes"])) == ("applied", 1)
        assert here.codes == [0, 0, 0, 0]
