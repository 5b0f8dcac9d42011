"""The demo's acts, in order. Each runs what the command of the same name runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from migrator.core.item import to_python
from migrator.demo.killed import upgrade_and_kill
from migrator.demo.project import ACCOUNT, ITEMS, LEASE_SECONDS, TABLE, DemoProject, demo_project, no_aws
from migrator.demo.stage import Stage
from migrator.errors import MigratorError
from migrator.runner.results import PatternsResult
from migrator.sandbox import Sandbox
from migrator.sandbox.load import load_file

INDEX_BUILD_SECONDS = 1.5
FIRST_RELEASE = "20261012090000"


def run(console: Console) -> None:
    """Tell and do it all. Raises MigratorError `demo-differs` where an access pattern got a wrong answer."""
    with no_aws(), Sandbox(index_build=INDEX_BUILD_SECONDS) as sandbox, demo_project(sandbox.endpoint_url) as project:
        client = sandbox.client(account=ACCOUNT, unseen=True)
        stage = Stage(console, project.config)
        stage.say(
            "A project management service keeps tenants, users, projects, members and tasks in one table.",
            f"DynamoDB is a sandbox in this process, {sandbox.endpoint_url}; nothing of yours is touched.",
        )
        _first_release(stage, client)
        _plan(stage)
        _die(stage, sandbox, project)
        _go_on(stage)
        asked = _ask(stage, client)
        _back_and_forth(stage, client)
        _afterwards(stage)
    refuse_wrong(asked)


def _first_release(stage: Stage, client: Any) -> None:
    stage.chapter("The first release", "Two migrations make the table and its two indexes.")
    stage.command(f"migrator upgrade {FIRST_RELEASE}")
    with stage.runner() as runner:
        stage.answer(runner.upgrade(FIRST_RELEASE))
    loaded = load_file(client, ITEMS, table=TABLE)
    stage.say("", f"The application goes live and writes {loaded.items} items.")


def _plan(stage: Stage) -> None:
    stage.chapter(
        "The next release",
        "It wants the escalations to a user (AP10), which need an index, and the name of the project on",
        "each member. The plan reads real items; it holds a client that cannot write.",
    )
    stage.command("migrator plan")
    with stage.runner(read_only=True) as runner:
        stage.answer(runner.plan(samples=1))


def _die(stage: Stage, sandbox: Sandbox, project: DemoProject) -> None:
    stage.chapter(
        "A run that dies",
        "The upgrade runs in a process of its own and builds the index. When two of three members are",
        "written, and before it hears of the second, it is killed: no signal handler, no clean-up.",
    )
    stage.command("migrator upgrade")
    status = upgrade_and_kill(sandbox, project.config, after_writes=2)
    stage.say(f"killed with SIGKILL (exit status {status})")
    stage.command("migrator status")
    with stage.runner(read_only=True) as runner:
        stage.answer(runner.status())


def _go_on(stage: Stage) -> None:
    stage.chapter(
        "The same command again",
        f"It waits until the dead run's lease of {LEASE_SECONDS} s has passed in silence, takes the lock over, and",
        "goes on. What is written already stays as it is.",
    )
    stage.command("migrator upgrade")
    with stage.runner() as runner:
        stage.answer(runner.upgrade())
    stage.say("", "And once more: nothing is pending, so nothing is written, not even the lock.")
    stage.command("migrator upgrade")
    with stage.runner() as runner:
        stage.answer(runner.upgrade())


def _ask(stage: Stage, client: Any) -> PatternsResult:
    stage.chapter(
        "What the application gets",
        "Its ten access patterns stand in access_patterns.toml, each with an example and the right answer.",
    )
    stage.command("migrator patterns check --examples")
    with stage.runner(read_only=True) as runner:
        result = runner.patterns()
        stage.answer(result)
    named = ", ".join(str(to_python(item["projectName"])) for item in projects_of_user(client))
    stage.say("", f"AP6 now brings the names along: {named}.")
    return result


def projects_of_user(client: Any) -> list[Mapping[str, Any]]:
    """What AP6 gets for user u1."""
    found: list[Mapping[str, Any]] = client.query(
        TableName=TABLE,
        IndexName="Relationships",
        KeyConditionExpression="GSI1PK = :user AND begins_with(GSI1SK, :projects)",
        ExpressionAttributeValues={":user": {"S": "TENANT#t1#USER#u1"}, ":projects": {"S": "PROJECT#"}},
    )["Items"]
    return found


def _back_and_forth(stage: Stage, client: Any) -> None:
    stage.chapter("The way back, and up again", "The backfill kept a journal of what it changed.")
    for line, command in (("migrator downgrade -1", "down"), ("migrator upgrade", "up")):
        stage.command(line)
        with stage.runner() as runner:
            stage.answer(runner.downgrade("-1") if command == "down" else runner.upgrade())
        members = projects_of_user(client)
        named = sum("projectName" in item for item in members)
        stage.say("", f"{named} of {len(members)} members of AP6 carry projectName.")


def _afterwards(stage: Stage) -> None:
    stage.chapter("Your turn", "In an empty folder:")
    stage.say(
        "",
        "  migrator sandbox start --detach        a DynamoDB on this machine",
        "  migrator init --table orders           migrator.toml and a folder for migrations",
        '  migrator revision -m "what it does"    the first one',
        "  migrator plan                          what it would do; then `migrator upgrade`",
        "",
        "For a table that exists already: migrator init --from-table NAME",
        "",
    )


def refuse_wrong(asked: PatternsResult) -> None:
    """Raises MigratorError `demo-differs` unless every example of every pattern got its answer."""
    wrong = [line for line in asked.patterns if any(one.state != "right" for one in line.asked) or not line.asked]
    if wrong:
        named = "; ".join(
            f"{line.name} got {', '.join(item for one in line.asked for item in one.answer) or 'nothing'}"
            for line in wrong
        )
        raise MigratorError(
            "demo-differs",
            f"the migrated table answers differently than it should: {named}",
            hint="report it with the output above: this is a fault of migrator, not of yours",
        )
