"""What `migrator iam` prints is enough for the command, and no more: requests are held against the policy."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterator
from typing import Any

import pytest

from migrator.sandbox import Logged, Sandbox
from tests.docs.console import Desk, desk

CONFIG = """
default_env = "local"
default_table = "app"
[tables.app]
name = "local-app"
[tables.log]
name = "local-log"
{control}
[env.local]
endpoint_url = "http://127.0.0.1:4566"
region = "eu-west-1"
limits = {{ settle_time = 0, poll_interval = "50ms" }}
"""
SHARED, OWN = "", '[control]\nname = "local-migrator"\n'
HEAD = "from migrator import *\n\nrevision = {0!r}\ndown_revision = {1!r}\n"
FILES = (
    'operations = [CreateTable(partition_key="PK", sort_key="SK"), CreateTable("log", partition_key="PK", ttl="e")]',
    """
def owner(item, lookup):
    return {"owner": lookup.get({"PK": item["PK"], "SK": "META"})["name"]}

operations = [
    Backfill(where={"SK": "1"}, transform=owner),
    AddIndex("ByTitle", partition_key="title"),
    SetPointInTimeRecovery(True, table="log"),
]
""",
    'operations = [RenameAttribute("colour", "color")]',
)
PATTERNS = """
[[pattern]]
name = "table"
key = { PK = "T" }
[[pattern.example]]
[[pattern]]
name = "index"
index = "ByTitle"
key = { title = "bolts" }
[[pattern.example]]
"""
TRANSACTED = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}


class Site:
    def __init__(self, desk: Desk, sandbox: Sandbox, control: str):
        self.desk, self.sandbox = desk, sandbox
        desk.write("migrator.toml", CONFIG.format(control=control))
        desk.write("access_patterns.toml", PATTERNS)
        for number, text in enumerate(FILES, 1):
            desk.write(
                f"migrations/{number}.py", HEAD.format(str(number), str(number - 1) if number > 1 else None) + text
            )

    def policy(self, line: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.desk.run(f"migrator iam {line} -o json"))
        assert self.desk.codes[-1] == 0, found
        return found

    def sent(self, line: str, code: int = 0) -> list[tuple[str, str, str]]:
        """(action, ARN, partition key) of everything that the command asked for; the key is "" where there is none."""
        self.sandbox.requests.clear()
        printed = self.desk.run(f"migrator {line}")
        assert self.desk.codes[-1] == code, printed
        return [one for request in self.sandbox.requests for one in asked(request)]


def asked(request: Logged) -> Iterator[tuple[str, str, str]]:
    body = request.body
    if request.operation == "TransactWriteItems":
        for entry in body["TransactItems"]:
            ((kind, action),) = entry.items()
            yield f"dynamodb:{TRANSACTED[kind]}", arn(action["TableName"]), leading(action)
    elif "TableName" in body:
        index = f"/index/{body['IndexName']}" if "IndexName" in body else ""
        yield f"dynamodb:{request.operation}", arn(body["TableName"]) + index, leading(body)
    else:
        service = {"GetCallerIdentity": "sts", "GetMetricData": "cloudwatch"}[request.operation]
        yield f"{service}:{request.operation}", "*", ""


def arn(table: str) -> str:
    return f"arn:aws:dynamodb:eu-west-1:000000000000:table/{table}"


def leading(body: dict[str, Any]) -> str:
    """The partition key that a request names."""
    if "KeyConditionExpression" in body:
        return str(next(iter(body["ExpressionAttributeValues"].values()))["S"])
    item = body.get("Key") or body.get("Item") or {}
    return str(item.get("PK", {}).get("S", ""))


def allows(policy: dict[str, Any], action: str, resource: str, key: str) -> bool:
    for statement in policy["Statement"]:
        resources = statement["Resource"]
        if action not in statement["Action"] or resource not in (
            [resources] if isinstance(resources, str) else resources
        ):
            continue
        condition = statement.get("Condition")
        if condition is None:
            return True
        (pattern,) = condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        if fnmatch.fnmatchcase(key, pattern):
            return True
    return False


def granted(policy: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (action, resource)
        for one in policy["Statement"]
        for action in one["Action"]
        for resource in ([one["Resource"]] if isinstance(one["Resource"], str) else one["Resource"])
    }


@pytest.fixture(params=[SHARED, OWN], ids=["shared", "own"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with Sandbox(index_build=0.1) as sandbox, desk(sandbox) as here:
        yield Site(here, sandbox, request.param)


def put(site: Site) -> None:
    client = site.sandbox.client(unseen=True)
    for sort, more in {"META": {"name": "Harbour"}, "1": {"title": "bolts", "colour": "red"}}.items():
        item = {"PK": "T", "SK": sort, **more}
        client.put_item(TableName="local-app", Item={name: {"S": value} for name, value in item.items()})


def test_each_command_is_allowed_what_it_asks_and_an_upgrade_of_exactly_what_is_pending(site: Site) -> None:
    whole = site.policy("--target 1")
    assert whole["revisions"] == ["1"]
    held(site, "upgrade --target 1", "upgrade 1", 0)
    put(site)
    for asked_for, line, code in (
        ("plan", "plan", 0),
        ("violations", "violations ByTitle", 0),
        ("check", "check", 8),
        ("upgrade", "upgrade", 9),
        ("patterns", "patterns check --examples", 0),
        ("status", "status", 0),
        ("iam", "iam", 0),
        ("lock", "lock show", 0),
        ("failed", "failed list", 0),
        ("rollback", "rollback 3", 0),
        ("downgrade", "downgrade 1", 0),
        ("upgrade", "upgrade", 9),
        ("contract", "contract --yes", 0),
        ("stamp", "stamp base --purge", 0),
    ):
        held(site, asked_for, line, code)


def held(site: Site, asked_for: str, line: str, code: int) -> None:
    policy = site.policy(asked_for)["policy"]
    sent = site.sent(line, code)
    assert sent
    assert [one for one in sent if not allows(policy, *one)] == [], line


def test_an_index_that_a_pattern_asks_is_a_resource_of_its_own(site: Site) -> None:
    found = granted(site.policy("patterns")["policy"])
    assert ("dynamodb:Query", arn("local-app") + "/index/ByTitle") in found
    assert not any("/index/" in resource for _, resource in granted(site.policy("")["policy"]))


def test_a_pending_revision_grants_what_its_steps_use_and_nothing_of_those_that_are_applied(site: Site) -> None:
    before = granted(site.policy("")["policy"])
    assert ("dynamodb:CreateTable", arn("local-log")) in before
    assert ("dynamodb:UpdateTimeToLive", arn("local-log")) in before
    site.sent("upgrade 2")
    found = site.policy("")
    assert found["revisions"] == ["3"]
    items = {action for action, resource in granted(found["policy"]) if resource == arn("local-app")}
    expected = {f"dynamodb:{name}" for name in ("DescribeTable", "Scan", "GetItem", "UpdateItem")}
    control = {f"dynamodb:{name}" for name in ("Query", "GetItem", "PutItem", "DeleteItem", "ConditionCheckItem")}
    is_shared = ("dynamodb:PutItem", arn("local-app")) in granted(found["policy"])
    assert items == (expected | control if is_shared else expected)
    log = {action for action, resource in granted(found["policy"]) if resource == arn("local-log")}
    assert log == {"dynamodb:DescribeTable"}
    assert not any(action.startswith("cloudwatch:") for action, _ in granted(found["policy"]))


def test_no_item_of_the_application_is_written_by_who_may_only_build_indexes() -> None:
    with Sandbox(index_build=0.1) as sandbox, desk(sandbox) as here:
        site = Site(here, sandbox, SHARED)
        here.write("migrations/2.py", HEAD.format("2", "1") + 'operations = [AddIndex("by-a", partition_key="a")]')
        here.write("migrations/3.py", HEAD.format("3", "2") + "operations = []")
        site.sent("upgrade 1")
        policy = site.policy("")["policy"]
        for action in ("PutItem", "DeleteItem", "GetItem", "Query", "ConditionCheckItem"):
            assert not allows(policy, f"dynamodb:{action}", arn("local-app"), "TENANT#1")
            assert allows(policy, f"dynamodb:{action}", arn("local-app"), "__migrator__lock")
        held(site, "upgrade", "upgrade", 0)


def test_without_credentials_the_files_are_enough_and_placeholders_stand_for_the_rest(site: Site) -> None:
    found = site.policy("--files-only")
    assert found["revisions"] == ["1", "2", "3"]
    assert any("as if no revision were applied" in note for note in found["notes"])
    resources = {resource for _, resource in granted(found["policy"])} - {"*"}
    assert all(one.startswith("arn:aws:dynamodb:eu-west-1:ACCOUNT:table/local-") for one in resources)
    assert site.sandbox.requests == []
    assert site.policy("contract --files-only")["revisions"] == ["1", "2", "3"]


def test_a_command_that_does_not_talk_to_aws_is_refused(site: Site) -> None:
    for word in ("heads", "merge", "nonsense"):
        printed = json.loads(site.desk.run(f"migrator iam {word} -o json"))
        assert (site.desk.codes[-1], printed["error"]["code"]) == (2, "usage")


def test_the_files_are_enough_for_tables_and_indexes_that_no_file_made(site: Site) -> None:
    text = """operations = [
        UpdateIndex("by-hand", provisioned=(1, 1)), DropIndex("by-hand"), SetTimeToLive("e", table="log"),
    ]"""
    for path in (site.desk.folder / "migrations").glob("*.py"):
        path.unlink()
    site.desk.write("migrations/1.py", HEAD.format("1", None) + text)
    found = granted(site.policy("--files-only")["policy"])
    assert ("dynamodb:UpdateTable", arn("local-app").replace("000000000000", "ACCOUNT")) in found
    assert ("dynamodb:UpdateTimeToLive", arn("local-log").replace("000000000000", "ACCOUNT")) in found
    back = granted(site.policy("downgrade --files-only")["policy"])
    assert ("dynamodb:Scan", arn("local-app").replace("000000000000", "ACCOUNT")) in back
