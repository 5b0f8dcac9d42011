"""Control items of a real table damaged by hand, in the form in which they lie there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.sandbox import Sandbox
from tests.fuzz.bounds import bounded, tried
from tests.fuzz.edge import Answer, sound, typed

PREFIX = "__migrator__"
CONFIG = """
default_env = "local"
default_table = "app"
[tables.app]
name = "local-app"
[env.local]
endpoint_url = "{endpoint}"
region = "eu-west-1"
limits = {{ settle_time = 0, lock_timeout = 0, workers = 1, segments = 1 }}
"""
FIRST = """from migrator import Backfill
revision, down_revision = "1", None
operations = [Backfill(where={"SK": "person"}, set={"label": "L#{name}"}, undo="journal")]
"""
SECOND = """from migrator import Backfill
revision, down_revision = "2", "1"
operations = [Backfill(where={"SK": "person"}, set={"other": "{nick}"})]
"""
OTHERS: tuple[Any, ...] = (
    None,
    {"S": "x"},
    {"N": "0"},
    {"N": "-1"},
    {"N": "1.5"},
    {"N": "9E+125"},
    {"B": b"x"},
    {"BOOL": True},
    {"NULL": True},
    {"L": []},
    {"M": {}},
    {"SS": ["x"]},
    {"NS": ["1"]},
    {"M": {"S": {"S": "x"}}},
    {"L": [{"M": {}}]},
)
COMMANDS = (
    "status",
    "plan",
    "upgrade",
    "rollback",
    "downgrade -1",
    "lock show",
    "failed list",
    "failed retry",
    "check",
    "repair --drift",
)


class Desk:
    def __init__(self, folder: Path, sandbox: Sandbox):
        self.config = folder / "migrator.toml"
        self.config.write_text(CONFIG.format(endpoint=sandbox.endpoint_url))
        (folder / "migrations").mkdir()
        (folder / "migrations" / "1.py").write_text(FIRST)
        (folder / "migrations" / "2.py").write_text(SECOND)
        self.client = sandbox.client(unseen=True)
        self.client.create_table(
            TableName="local-app",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
            BillingMode="PAY_PER_REQUEST",
        )
        for number in range(3):
            self.put({"PK": {"S": f"P#{number}"}, "SK": {"S": "person"}, "name": {"S": f"n{number}"}})
        assert self.type("upgrade --from-base").code == 6
        self.kept = self.all()

    def type(self, line: str) -> Answer:
        return sound(typed(None, *line.split(), "-c", str(self.config)))

    def put(self, item: dict[str, Any]) -> None:
        self.client.put_item(TableName="local-app", Item=item)

    def all(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.scan(TableName="local-app")["Items"]
        return found

    @property
    def records(self) -> list[dict[str, Any]]:
        return [item for item in self.kept if item["PK"]["S"].startswith(PREFIX)]

    @property
    def people(self) -> list[dict[str, Any]]:
        found = [item for item in self.all() if not item["PK"]["S"].startswith(PREFIX)]
        return sorted(found, key=lambda item: item["PK"]["S"])

    def restore(self) -> None:
        for item in self.all():
            self.client.delete_item(TableName="local-app", Key={name: item[name] for name in ("PK", "SK")})
        for item in self.kept:
            self.put(item)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with Sandbox() as sandbox:
        yield Desk(tmp_path_factory.mktemp("wire"), sandbox)


def ways(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every attribute value inside a control item but its key."""
    ((kind, content),) = value.items()
    found = [way]
    if kind in ("M", "L"):
        for key, inner in content.items() if kind == "M" else enumerate(content):
            found += ways(inner, (*way, kind, key))
    return found


@bounded(6)
@given(st.data(), st.sampled_from(OTHERS), st.sampled_from(COMMANDS))
def test_a_damaged_control_item_is_named_or_does_no_harm(
    desk: Desk, data: st.DataObject, other: Any, command: str
) -> None:
    tried["damaged control items"] += 1
    desk.restore()
    item = copy.deepcopy(data.draw(st.sampled_from(desk.records)))
    way = (PREFIX, *data.draw(st.sampled_from(ways(item[PREFIX]))))
    at: Any = item
    for key in way[:-1]:
        at = at[key]
    if other is None:
        del at[way[-1]]
    else:
        at[way[-1]] = other
    desk.put(item)
    answer = desk.type(command)
    for number, person in enumerate(desk.people):
        told = f"{answer}\n{desk.people}"
        assert person["name"] == {"S": f"n{number}"}, told
        assert person.get("label", {"S": f"L#n{number}"}) == {"S": f"L#n{number}"}, told
        assert person.keys() <= {"PK", "SK", "name", "label"}, told
    assert len(desk.people) == 3
    if answer.code == 0 and command == "downgrade -1":
        assert not any("label" in person for person in desk.people)
