"""Keys that cannot be: two items that would be one are named before anything is written. And three tables as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.rewrites.moving import Item, Moving, ordered, rows

HISTORY = """
operations = [
    CreateTable(
        partition_key="AccountID",
        sort_key="Timestamp",
        indexes=[Index("Query_TransactionID", partition_key="TransactionID")],
    )
]
"""
BY_TRANSACTION = """
operations = [
    CopyTable("history", "transactions", partition_key="TransactionID", key={"TransactionID": "{TransactionID}"})
]
"""
LOWER = """
def lower(item: ItemView) -> dict[str, str]:
    return {"PK": item["PK"].lower()}


operations = [RewriteKeys(key=lower, where={"PK": BeginsWith("B")}, to="folded")]
"""
PLAIN = 'CreateTable({}partition_key="PK", sort_key="SK")'
MERGE = """
operations = [
    CopyTable(
        ["users", "orders", "notes"],
        "all",
        partition_key="PK",
        sort_key="SK",
        keys={
            "users": {"PK": "USER#{id}", "SK": "PROFILE"},
            "orders": {"PK": "USER#{userId}", "SK": "ORDER#{orderId}"},
            "notes": {"PK": "USER#{userId}", "SK": "NOTE#{at}"},
        },
    )
]
"""


def refused(project: Moving) -> list[str]:
    """The groups that an upgrade names; it writes nothing of the application's."""
    before = {alias: project.scan(alias) for alias in project.settings.tables if alias in project.reached}
    with project.runner() as runner:
        result = runner.upgrade(from_base=True)
    assert (result.exit_code, result.state) == (6, "incomplete")
    assert {alias: project.scan(alias) for alias in before} == before
    (outcome,) = result.outcomes
    assert outcome.error.startswith("nothing was written: ")
    return list(outcome.examples)


def wire(**item: str) -> Item:
    return {name: {"S": value} for name, value in item.items()}


def test_a_transaction_id_that_two_rows_have_is_refused_as_a_key_and_both_rows_are_named(
    moving: Callable[..., Moving],
) -> None:
    project = moving({"history": "history", "transactions": "transactions"}, r1=HISTORY, r2=BY_TRANSACTION)
    project.upgrade("r1")
    project.put("history", rows("nwb-bankpayments.json", "TransactionHistory"))
    (group,) = refused(project)
    assert group == (
        'key-collision: transactions TransactionID="UUID-UUID-UUID-UUID": '
        'history AccountID="Account1" Timestamp="2019-09-24T010101" and '
        'history AccountID="Account2" Timestamp="2019-09-25T120501"'
    )
    assert project.scan("transactions") == []


def test_names_that_a_key_function_makes_one_are_listed_in_groups_before_any_write(
    moving: Callable[..., Moving],
) -> None:
    created = f"operations = [{PLAIN.format('')}, {PLAIN.format(repr('folded') + ', ')}]"
    project = moving({"app": "app", "folded": "folded"}, r1=created, r2=LOWER)
    project.upgrade("r1")
    names = ("Bob", "bob", "BOB", "Bea", "BEA", "Ben")
    project.put("app", [wire(PK=name, SK="profile") for name in names])
    # `bob` is not selected by its small letter, and `Ben` is alone.
    assert sorted(refused(project)) == [
        'key-collision: folded PK="bea" SK="profile": app PK="BEA" SK="profile" and app PK="Bea" SK="profile"',
        'key-collision: folded PK="bob" SK="profile": app PK="BOB" SK="profile" and app PK="Bob" SK="profile"',
    ]
    assert project.scan("folded") == []


@pytest.mark.deep
def test_three_tables_become_one_and_its_items_lead_back_to_their_tables(moving: Callable[..., Moving]) -> None:
    created = """
operations = [
    CreateTable("users", partition_key="id"),
    CreateTable("orders", partition_key="orderId"),
    CreateTable("notes", partition_key="userId", sort_key="at"),
]
"""
    tables = {"control": "control", "users": "users", "orders": "orders", "notes": "notes", "all": "everything"}
    project = moving(tables, control="control", r1=created, r2=MERGE)
    project.upgrade("r1")
    given: dict[str, list[Item]] = {
        "users": [wire(id=f"u{n}", name=f"name {n}") for n in range(3)],
        "orders": [wire(orderId=f"o{n}", userId=f"u{n % 2}", item="book") for n in range(4)],
        "notes": [wire(userId="u1", at=f"2026-0{n}", text="hello") for n in (1, 2)],
    }
    for alias, items in given.items():
        project.put(alias, items)
    wanted: list[dict[str, Any]] = [
        *({**wire(PK=f"USER#u{n}", SK="PROFILE"), **item} for n, item in enumerate(given["users"])),
        *({**wire(PK=f"USER#u{n % 2}", SK=f"ORDER#o{n}"), **item} for n, item in enumerate(given["orders"])),
        *({**wire(PK="USER#u1", SK=f"NOTE#{item['at']['S']}"), **item} for item in given["notes"]),
    ]
    project.advance("upgrade", "ready", "cutover", "rollback")
    assert {alias: project.scan(alias) for alias in given} == {alias: ordered(items) for alias, items in given.items()}
    assert project.scan("all") == []
    project.advance("upgrade", "ready", "cutover", "contract")
    assert project.scan("all") == ordered(wanted)
    assert [project.scan(alias) for alias in given] == [[], [], []]
