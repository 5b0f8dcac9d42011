"""Each example happens as its README tells it, and the items are then what its model says."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.docs.console import Command, Desk, follow, loose, seat

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/migrator.toml"))
Item = dict[str, Any]
KEYS = ("GSI1-PK", "GSI1-SK", "GSI2-PK", "GSI2-SK")


@dataclass
class Session:
    """What an example's README printed, and what its tables held each time it counted entries."""

    said: list[tuple[Command, str]] = field(default_factory=list)
    tables: dict[str, list[Item]] = field(default_factory=dict)
    indexes: dict[str, dict[str, list[Item]]] = field(default_factory=dict)


@cache
def told(example: str) -> Session:
    """The session of an example, held once."""
    session = Session()
    path = EXAMPLES / example / "README.md"
    with seat(path) as here:
        for command, printed in follow(path, here):
            session.said.append((command, printed))
            if command.line.startswith("python ../entries.py"):
                look(here, session)
    return session


def look(here: Desk, session: Session) -> None:
    """Every table, with the entries of its indexes; without migrator's own records."""
    client: Any = boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{here.port}",
        region_name="eu-west-1",
        aws_access_key_id="sandbox",
        aws_secret_access_key="sandbox",
    )
    try:
        for table in client.list_tables()["TableNames"]:
            described = client.describe_table(TableName=table)["Table"]
            partition = described["KeySchema"][0]["AttributeName"]

            def scanned(partition: str = partition, table: str = table, **more: Any) -> list[Item]:
                pages = client.get_paginator("scan").paginate(TableName=table, **more)
                items = [item for page in pages for item in page["Items"]]
                return [item for item in items if not item[partition]["S"].startswith("__migrator__")]

            session.tables[table] = scanned()
            session.indexes[table] = {
                index["IndexName"]: scanned(IndexName=index["IndexName"])
                for index in described.get("GlobalSecondaryIndexes", ())
            }
    finally:
        client.close()


def rows(name: str) -> list[Item]:
    (table,) = json.loads((EXAMPLES / name).read_text())["DataModel"]
    return list(table["TableData"])


def ordered(items: list[Item]) -> list[str]:
    return sorted(json.dumps(item, sort_keys=True) for item in items)


def by_key(items: list[Item]) -> dict[tuple[str, str], Item]:
    return {(item["PK"]["S"], item["SK"]["S"]): item for item in items}


@pytest.mark.parametrize("example", NAMES)
def test_every_command_prints_what_the_page_shows(example: str) -> None:
    held = told(example)
    assert len(held.said) >= 6
    for command, printed in held.said:
        assert loose(printed) == loose(command.printed), command.line


def test_every_example_is_listed_and_says_where_its_model_comes_from() -> None:
    overview, sources = (EXAMPLES / "README.md").read_text(), (EXAMPLES / "SOURCES.md").read_text()
    for name in NAMES:
        assert f"({name}/README.md)" in overview
        assert f"{name}/" in sources
        assert "(../SOURCES.md)" in (EXAMPLES / name / "README.md").read_text()


def test_the_log_has_its_eleven_items_unchanged_and_one_of_them_is_escalated() -> None:
    held = told("device-state-log")
    model = rows("device-state-log/model-v7.json")
    indexes = held.indexes["local-device-state-log"]
    assert ordered(held.tables["local-device-state-log"]) == ordered(model)
    assert ordered(indexes["GSI1"]) == ordered(model)
    assert ordered(indexes["GSI2"]) == ordered([row for row in model if "EscalatedTo" in row])
    assert (len(indexes["GSI1"]), len(indexes["GSI2"])) == (11, 1)


def test_nine_games_are_open_and_the_inverted_index_has_every_item_of_the_application() -> None:
    held = told("battle-royale")
    indexes = held.indexes["local-battle-royale"]
    table = held.tables["local-battle-royale"]
    assert len(table) == len(indexes["InvertedIndex"]) == 835
    assert ordered(indexes["InvertedIndex"]) == ordered(table)
    assert ordered(indexes["OpenGamesIndex"]) == ordered([item for item in table if "open_timestamp" in item])
    assert len(indexes["OpenGamesIndex"]) == 9


def test_the_finished_shop_has_the_entries_of_version_14() -> None:
    held = told("online-shop")
    assert ordered(held.tables["finished-online-shop"]) == ordered(rows("online-shop/model-v14.json"))
    indexes = held.indexes["finished-online-shop"]
    assert (len(indexes["GSI1"]), len(indexes["GSI2"])) == (8, 7)


def test_the_shop_brought_forward_has_five_and_eight_entries() -> None:
    indexes = told("online-shop").indexes["local-online-shop"]
    assert (len(indexes["GSI1"]), len(indexes["GSI2"])) == (5, 8)


def test_the_shop_brought_forward_has_the_key_values_of_version_14_but_for_those_that_its_page_names() -> None:
    here = by_key(told("online-shop").tables["local-online-shop"])
    there = by_key(rows("online-shop/model-v14.json"))
    different = {
        (key, name, item.get(name, {}).get("S"), there[key].get(name, {}).get("S"))
        for key, item in here.items()
        for name in KEYS
        if item.get(name) != there[key].get(name)
    }
    half, first, second = ("p#99887", "w#12376"), ("o#12345", "p#12345"), ("o#12345", "p#99887")
    ordered_at = "2020-06-21T19:10:00"
    assert different == {
        (half, "GSI2-PK", "w#12376", None),
        (half, "GSI2-SK", "p#99887", None),
        *((first, name, ordered_at, "2020-06-21T19:18:00") for name in ("GSI1-SK", "GSI2-SK")),
        *((second, name, ordered_at, "2020-06-21T19:20:00") for name in ("GSI1-SK", "GSI2-SK")),
    }
    page = (EXAMPLES / "online-shop" / "README.md").read_text()
    for key, name, mine, theirs in different:
        row = next(line for line in page.splitlines() if line.startswith(f"| `{key[0]}` / `{key[1]}`"))
        assert f"`{name}`" in row
        assert f"`{mine}`" in row
        assert (f"`{theirs}`" if theirs else "none") in row
    assert {key[1][:3] for key in there.keys() - here.keys()} == {"shp"}


def test_the_shop_brought_forward_keeps_every_other_value_of_version_9() -> None:
    before = by_key(rows("online-shop/model-v9.json"))
    after = by_key(told("online-shop").tables["local-online-shop"])
    assert before.keys() == after.keys()
    for key, item in before.items():
        kept = {name: value for name, value in item.items() if name != "WarehouseId"}
        assert {name: value for name, value in after[key].items() if name not in KEYS} == kept
        assert after[key].get("GSI2-PK") == item.get("WarehouseId", after[key].get("GSI2-PK"))
