"""Runs every operation and every command on the sandbox, and says which IAM actions each of them used.

An action is noted with the kind of table that it was used on: `control`, or `tables` for the application's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from migrator.sandbox import Drop, Logged, Request, Response, Sandbox
from tests.docs.console import Desk

Used = set[tuple[str, str]]
"""(action, `control` | `tables` | `*`)"""

CONFIG = """
default_env = "local"
default_table = "app"
[tables.app]
name = "local-app"
[tables.log]
name = "local-log"
[control]
name = "local-migrator"
[env.local]
endpoint_url = "http://127.0.0.1:4566"
region = "eu-west-1"
limits = {{ settle_time = 0, poll_interval = "50ms", wait_timeout = "5s" }}
"""
IMPORTS = "from migrator import *\n"
FUNCTIONS = '''
def owner(item, lookup):
    """Looks at another item and at the item's collection."""
    head = lookup.get({"PK": item["PK"], "SK": "META"})
    return {"owner": head["name"], "siblings": len(lookup.collection())}


def plain(item):
    return {"shout": str(item["title"]).upper()}


def program(table):
    for item in list(table.scan()):
        if item["SK"] == "1":
            table.update({"PK": item["PK"], "SK": "1"}, expected={"title": item["title"]}, set={"seen": True})
    table.query("T")
    table.put_if_absent({"PK": "T", "SK": "new"})
    table.delete({"PK": "T", "SK": "new"}, expected={})
    table.get({"PK": "T", "SK": "1"})


def nothing(table):
    table.get({"PK": "T", "SK": "1"})
'''
PATTERNS = """
[[pattern]]
name = "get"
key = { PK = "T", SK = "1" }
[[pattern.example]]
[[pattern]]
name = "query"
key = { PK = "T" }
[[pattern.example]]
[[pattern]]
name = "index"
index = "ByHeading"
key = { heading = "bolts!" }
[[pattern.example]]
"""
OPERATIONS = {
    "CreateTable": 'CreateTable("log", partition_key="PK", ttl="expiresAt", point_in_time_recovery=True)',
    "AddIndex": 'AddIndex("ByTitle", partition_key="title", provisioned=(5, 5))',
    "UpdateIndex": 'UpdateIndex("ByTitle", provisioned=(6, 6))',
    "DropIndex": 'DropIndex("ByTitle")',
    "Backfill": 'Backfill(where={"SK": "1"}, set={"label": "{title}"})',
    "Backfill with lookups": 'Backfill(where={"SK": "1"}, transform=owner)',
    "Backfill with a journal": 'Backfill(where={"SK": "1"}, set={"title": "{title}!"}, once=True)',
    "RenameAttribute": 'RenameAttribute("colour", "color")',
    "RemoveAttributes": 'RemoveAttributes("color")',
    "PutItems": 'PutItems([{"PK": "P", "SK": "1", "note": "a"}])',
    "DeleteItems": 'DeleteItems({"PK": "P"})',
    "RunPython": "RunPython(program, undo=nothing)",
    "SetTimeToLive": 'SetTimeToLive("expiresAt")',
    "SetStream": 'SetStream("KEYS_ONLY")',
    "SetPointInTimeRecovery": "SetPointInTimeRecovery(True)",
    "SetDeletionProtection": "SetDeletionProtection(True)",
    "SetBillingMode": 'SetBillingMode("PAY_PER_REQUEST")',
}
"""Every operation, in an order in which each finds what it needs."""


MODEL = """{"DataModel": [{"TableName": "local-app", "KeyAttributes": {
  "PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
  "SortKey": {"AttributeName": "SK", "AttributeType": "S"}}}]}"""


def actions(request: Logged) -> Iterator[tuple[str, str]]:
    """The IAM actions of one request: a transaction is authorized by what it holds (there is no action for it)."""
    body = request.body
    if request.operation == "TransactWriteItems":
        names = {
            "Put": "PutItem",
            "Update": "UpdateItem",
            "Delete": "DeleteItem",
            "ConditionCheck": "ConditionCheckItem",
        }
        for entry in body["TransactItems"]:
            ((kind, action),) = entry.items()
            yield f"dynamodb:{names[kind]}", _kind(action["TableName"])
    elif request.operation == "TransactGetItems":
        for entry in body["TransactItems"]:
            yield "dynamodb:GetItem", _kind(entry["Get"]["TableName"])
    elif "TableName" in body:
        yield f"dynamodb:{request.operation}", _kind(body["TableName"])
    else:
        service = {
            "GetCallerIdentity": "sts",
            "GetMetricData": "cloudwatch",
            "DescribeLimits": "dynamodb",
            "DescribeScalableTargets": "application-autoscaling",
            "GetServiceQuota": "servicequotas",
        }[request.operation]
        yield f"{service}:{request.operation}", "*"


def _kind(table: str) -> str:
    return "control" if table == "local-migrator" else "tables"


class Bench:
    """A project with a table of a few items, and what each command used so far."""

    def __init__(self, desk: Desk, sandbox: Sandbox):
        self.desk = desk
        self.sandbox = sandbox
        self.client = sandbox.client(unseen=True)
        self.by_command: dict[str, Used] = {}
        self.by_operation: dict[tuple[str, str], Used] = {}
        self.number = 0

    def type(self, line: str, *, name: str = "", code: int = 0) -> Used:
        """Run a command that must exit with `code`; what it used."""
        self.sandbox.requests.clear()
        printed = self.desk.run(f"migrator {line}")
        assert self.desk.codes[-1] == code, f"{line}\n{printed}\n{self.desk.log[-600:]}"
        used = {action for request in self.sandbox.requests for action in actions(request)}
        words = line.split()
        command = name or (" ".join(words[:2]) if words[0] in ("failed", "lock") else words[0])
        self.by_command.setdefault(command, set()).update(used)
        return used

    def revision(self, operations: str) -> str:
        """A new file; it takes the place of one that was taken back."""
        self.number += 1
        text = (
            f"{IMPORTS}{FUNCTIONS}\nrevision = '{self.number}'\n"
            f"down_revision = {str(self.number - 1) if self.number > 1 else None!r}\noperations = [{operations}]\n"
        )
        self.desk.write(f"migrations/{self.number}.py", text)
        return str(self.number)

    def put(self, **attributes: str) -> None:
        item = {name: {"S": value} for name, value in attributes.items()}
        self.client.put_item(TableName="local-app", Item=item)

    def steps(self, operation: str, source: str) -> None:
        """Apply an operation, take it back, apply it again; the answer of its first write is lost each time.

        What later operations do not need is left taken back, and its file makes room for the next.
        """
        gated = operation == "RenameAttribute"
        is_left_back = operation.startswith(("Set", "Run", "Create"))
        # A RunPython function stops on a lost answer: it has to read before it goes on.
        losing = nullcontext if operation == "RunPython" else self.answers_lost
        self.revision(source)
        self.type("plan")
        for way, line, code in (
            ("up", "upgrade --yes", 9 if gated else 0),
            ("down", "rollback" if gated else "downgrade -1", 0),
            *([] if is_left_back else [("up", "upgrade --yes", 9 if gated else 0)]),
            *([("up", "contract --yes", 0)] if gated else []),
        ):
            with losing():
                used = self.type(line, code=code)
            self.by_operation.setdefault((operation, way), set()).update(used)
        if is_left_back:
            self.number -= 1

    @contextmanager
    def answers_lost(self) -> Iterator[None]:
        """The answer to the first write of an item of the application is lost, after it was applied."""
        lost: list[Request] = []

        def after(request: Request, _: Response) -> Drop | None:
            is_write = request.operation in ("UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems")
            if lost or not is_write or '"local-app"' not in json.dumps(request.body):
                return None
            lost.append(request)
            return Drop()

        with self.sandbox.intercept(after=after):
            yield


def every_operation(bench: Bench) -> None:
    bench.desk.write("migrator.toml", CONFIG.format())
    bench.revision('CreateTable(partition_key="PK", sort_key="SK", provisioned=(5, 5))')
    bench.type("upgrade", name="upgrade")
    bench.put(PK="T", SK="META", name="Harbour")
    bench.put(PK="T", SK="1", title="bolts", colour="red")
    bench.put(PK="T", SK="2", colour="blue")
    for operation, source in OPERATIONS.items():
        bench.steps(operation, source)


def every_command(bench: Bench) -> None:
    """The commands that `every_operation` did not run, each where it has something to do."""
    client, kind = bench.client, bench.type
    kind("status")
    kind("check", code=8)
    kind("diff")
    kind("doctor")
    kind("iam")
    kind("current")
    bench.desk.write("model.json", MODEL)
    kind("revision --autogenerate --from model.json --live --table app", name="revision --autogenerate")
    for drafted in (bench.desk.folder / "migrations").glob("2*_*.py"):
        drafted.unlink()
    kind("export --live --format terraform", name="export --live")
    kind("history --indicate-current", name="history")
    kind("lock show")
    bench.revision('Backfill(where={"SK": OneOf("1", "2")}, set={"heading": "{title}"})')
    kind("upgrade", code=6)
    kind("status")
    kind("failed list", code=6)
    kind("failed retry", code=6)
    kind("failed skip --because untitled " + str(bench.number))
    kind("upgrade")
    kind("stamp base --purge")
    kind("stamp head")
    path = f"migrations/{bench.number}.py"
    bench.desk.write(path, (bench.desk.folder / path).read_text(encoding="utf-8") + "\nedited = True\n")
    kind(f"repair --checksum {bench.number}", name="repair")
    bench.revision('AddIndex("ByHeading", partition_key="heading", provisioned=(1, 1))')
    kind("upgrade")
    kind("violations ByHeading")
    bench.desk.write("access_patterns.toml", PATTERNS)
    kind("patterns check --examples", name="patterns check --examples")
    client.update_table(TableName="local-app", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "ByHeading"}}])
    _until_gone(client)
    kind("repair --drift", name="repair")
    identity = {"PK": {"S": "__migrator__identity"}, "SK": {"S": "app"}}
    record = client.get_item(TableName="local-migrator", Key=identity)["Item"]
    record["__migrator__"]["M"]["body"]["M"]["table_id"] = {"S": "another"}
    client.put_item(TableName="local-migrator", Item=record)
    kind("repair --restored", name="repair")
    lock = client.get_item(TableName="local-migrator", Key={"PK": {"S": "__migrator__lock"}, "SK": {"S": "lock"}})[
        "Item"
    ]
    body: dict[str, Any] = lock["__migrator__"]["M"]["body"]["M"]
    body["released"] = {"BOOL": False}
    client.put_item(TableName="local-migrator", Item=lock)
    for line in ("pause", "throttle --write-units 5", "cancel", "resume"):
        kind(line, name=line.split()[0])
    kind(f"lock release --owner {body['owner']['S']}")
    client.delete_table(TableName="local-migrator")
    kind("stamp head")
    for old in (bench.desk.folder / "migrations").glob("*.py"):
        old.unlink()
    kind("init --from-table local-app", name="init --from-table")


def _until_gone(client: Any) -> None:
    while client.describe_table(TableName="local-app")["Table"].get("GlobalSecondaryIndexes"):
        pass
