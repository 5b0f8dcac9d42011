"""A rewrite of keys by the installed command, against a real engine: what the steps promise holds on the wire too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.project import Project

COUNT = 60
NEW = "local-new"
OPERATION = """
    RewriteKeys(
        key={"PK": "{PK}", "SK": "{status}#{number}"},
        old={"SK": "ORDER#{number}"},
        to="new",
        application="stopped",
    ),
"""
Item = dict[str, Any]


def order(number: int, **more: Any) -> Item:
    return {
        "PK": {"S": f"C#{number % 7}"},
        "SK": {"S": f"ORDER#{number:03}"},
        "status": {"S": f"s{number % 3}"},
        "total": {"N": "1.5"},
        "tags": {"SS": ["a", "b"]},
        **more,
    }


def twin(item: Item) -> Item:
    return {**item, "SK": {"S": f"{item['status']['S']}#{item['SK']['S'].removeprefix('ORDER#')}"}}


def by_key(items: list[Item]) -> dict[tuple[str, str], Item]:
    return {(item["PK"]["S"], item["SK"]["S"]): item for item in items}


@pytest.fixture
def rewriting(project: Project) -> Project:
    by_status = {
        "IndexName": "by-status",
        "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    project.make_table(
        NEW,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "status")],
        GlobalSecondaryIndexes=[by_status],
    )
    tables = f'[tables.app]\nname = "{project.table}"\n[tables.new]\nname = "{NEW}"'
    project.configure(tables=tables)
    project.put([order(number) for number in range(COUNT)])
    project.migration("0001", OPERATION)
    return project


def test_items_move_to_their_new_keys_and_the_old_side_goes(rewriting: Project) -> None:
    orders = [order(number) for number in range(COUNT)]
    rewriting.ok("upgrade", "--from-base", code=9)
    assert rewriting.items(NEW) == []
    rewriting.ok("upgrade", "--app-ready", code=9)
    assert by_key(rewriting.items(NEW)) == by_key([twin(item) for item in orders])
    rewriting.ok("cutover", code=9)
    assert by_key(rewriting.items()) == by_key(orders)
    rewriting.ok("contract", "--yes")
    assert rewriting.items() == []
    assert by_key(rewriting.items(NEW)) == by_key([twin(item) for item in orders])
    assert len(rewriting.items(NEW, index="by-status")) == COUNT


def test_strays_hold_up_the_cutover_until_they_are_repaired_and_the_way_back_takes_the_twins(
    rewriting: Project,
) -> None:
    rewriting.ok("upgrade", "--from-base", code=9)
    rewriting.ok("upgrade", "--app-ready", code=9)
    moved, changed, added = order(3, status={"S": "moved"}), order(4, total={"N": "2"}), order(900)
    rewriting.put([moved, changed, added])
    rewriting.client.delete_item(TableName=rewriting.table, Key={name: order(5)[name] for name in ("PK", "SK")})
    found = rewriting.ok("cutover", code=6)
    assert "4 pairs differ" in found.out + found.err
    rewriting.ok("verify", "--repair")
    wanted = [order(number) for number in range(COUNT) if number not in (3, 4, 5)] + [moved, changed, added]
    assert by_key(rewriting.items()) == by_key(wanted)
    assert by_key(rewriting.items(NEW)) == by_key([twin(item) for item in wanted])
    rewriting.ok("cutover", code=9)
    rewriting.ok("rollback")
    assert by_key(rewriting.items()) == by_key(wanted)
    assert rewriting.items(NEW) == []
