"""Queries and scans: each item once, in the client's form, in every phase, page by page."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.core.item import fingerprint, key_of
from migrator.core.rewrite.phases import PHASES, Phase, Side
from migrator.errors import MigratorError
from migrator.runtime import PageMoved
from migrator.runtime.sides import Sides
from tests.runtime.situation import Situation
from tests.runtime.test_calls import CASES, DEVICES, ELSEWHERE, GAME, KINDS, MERGED, Case, wire

STATIC_OR_HERE = {"game": GAME, "devices": DEVICES, "kinds": KINDS, "elsewhere": ELSEWHERE, "merged": MERGED}


def situation(case: Case, phase: Phase, form: Side) -> Situation:
    items = [*case.items, *([case.neither] if case.neither else [])]
    return Situation(case.rewrite, phase, form, {case.table: [wire(item) for item in items]})


def walk(method: Any, request: dict[str, Any]) -> tuple[list[Any], list[int]]:
    """All items over all pages, and how many each page had."""
    items: list[Any] = []
    sizes = []
    asked = dict(request)
    for _ in range(100):
        answer = method(**asked)
        items += answer.get("Items", [])
        sizes.append(answer["Count"])
        if "LastEvaluatedKey" not in answer:
            return items, sizes
        asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    raise AssertionError("a listing without an end")


def ids(found: Situation, table: str, items: list[Any]) -> list[str]:
    return sorted(fingerprint(item) for item in items if key_of(item, found.store.keys[table]))


@pytest.mark.parametrize("limit", [None, 1, 2])
@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", STATIC_OR_HERE)
def test_a_scan_gives_each_item_once(name: str, phase: Phase, form: Side, limit: int | None) -> None:
    found = situation(CASES[name], phase, form)
    for table in Sides(found.rewrite, form).rewrite.tables:
        request: dict[str, Any] = {"TableName": table, **({} if limit is None else {"Limit": limit})}
        seen, sizes = walk(found.app.scan, request)
        # An old table still has the old items when nobody speaks of them any more: they are not the new form's.
        expected = list(found.expected().get(table, {}).values())
        assert ids(found, table, seen) == ids(found, table, expected), table
        if limit is not None and seen:
            assert all(size <= limit for size in sizes)
            assert sum(size == limit for size in sizes) >= len(seen) // limit - 1, sizes


@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_page_is_filled_up_to_its_limit_whatever_stands_between(phase: Phase, form: Side) -> None:
    found = situation(GAME, phase, form)
    answer = found.app.scan(TableName="game", Limit=3)
    assert answer["Count"] == 3


@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_count_counts_one_side(phase: Phase, form: Side) -> None:
    found = situation(GAME, phase, form)
    answer = found.app.scan(TableName="game", Select="COUNT")
    assert (answer["Count"], answer.get("Items")) == (4, None)


@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_filter_and_a_projection_are_of_the_client_s_own_form(phase: Phase, form: Side) -> None:
    prefix = "USER#" if form == "old" else "PLAYER#"
    found = situation(GAME, phase, form)
    answer = found.app.scan(
        TableName="game",
        FilterExpression="begins_with(PK, :p) AND wins >= :w",
        ProjectionExpression="#n, PK",
        ExpressionAttributeNames={"#n": "note"},
        ExpressionAttributeValues={":p": {"S": prefix}, ":w": {"N": "1"}},
    )
    assert answer["Items"] == [{"note": {"S": "x"}, "PK": {"S": f"{prefix}ann"}}]


def collection(form: Side, side: Side) -> dict[str, Any]:
    """The seats of a game, as the form says it and as each side has it."""
    own = "USER#" if side == "old" else "PLAYER#"
    return {"ExpressionAttributeValues": {":g": {"S": "GAME#1"}, ":u": {"S": own}}}


@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_query_is_said_for_each_side_where_its_condition_differs(phase: Phase, form: Side) -> None:
    found = situation(GAME, phase, form)
    found_items, _ = walk(
        found.app.query,
        {
            "TableName": "game",
            "KeyConditionExpression": "PK = :g AND begins_with(SK, :u)",
            "Limit": 1,
            "old": collection(form, "old"),
            "new": collection(form, "new"),
        },
    )
    assert [item["SK"]["S"] for item in found_items] == ["USER#ann" if form == "old" else "PLAYER#ann"]


@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_whole_collection_has_each_thing_once(phase: Phase, form: Side) -> None:
    found = situation(GAME, phase, form)
    request = {
        "TableName": "game",
        "KeyConditionExpression": "PK = :g",
        "ExpressionAttributeValues": {":g": {"S": "GAME#1"}},
        "old": {},
        "new": {},
    }
    items, _ = walk(found.app.query, request)
    assert sorted(item["SK"]["S"] for item in items) == ["#METADATA#1", "USER#ann" if form == "old" else "PLAYER#ann"]


def test_a_query_whose_condition_is_not_said_for_the_other_side_is_refused() -> None:
    found = situation(GAME, "cutover", "old")
    with pytest.raises(MigratorError, match="said for the old side alone"):
        found.app.query(
            TableName="game",
            KeyConditionExpression="PK = :g",
            ExpressionAttributeValues={":g": {"S": "GAME#1"}},
        )


def test_other_tables_are_queried_by_other_names() -> None:
    found = situation(DEVICES, "cutover", "old")
    answer = found.app.query(
        TableName="log",
        KeyConditionExpression="DeviceID = :d AND #d < :t",
        ExpressionAttributeNames={"#d": "Date"},
        ExpressionAttributeValues={":d": {"S": "d1"}, ":t": {"S": "2020-01-02"}},
        new={
            "KeyConditionExpression": "DeviceID = :d",
            "ExpressionAttributeNames": {},
            "ExpressionAttributeValues": {":d": {"S": "d1"}},
        },
    )
    assert [item["Date"]["S"] for item in answer["Items"]] == ["2020-01-02", "2020-01-01"]
    assert all("State#Date" not in item for item in answer["Items"])


@pytest.mark.parametrize(("begun", "ended"), [("dual-write", "cutover"), ("cutover", "dual-write")])
@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("case", [GAME, DEVICES], ids=["one table", "two tables"])
def test_a_listing_goes_on_over_a_change_of_phase(case: Case, form: Side, begun: Phase, ended: Phase) -> None:
    found = situation(case, begun, form)
    table = next(iter(found.expected()))
    items: list[Any] = []
    request: dict[str, Any] = {"TableName": table, "Limit": 1}
    for number in range(20):
        answer = found.app.scan(**request)
        items += answer["Items"]
        if number == 0:
            found.reader.phase = ended
        if "LastEvaluatedKey" not in answer:
            break
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    assert ids(found, table, items) == ids(found, table, list(found.expected()[table].values()))


def test_a_listing_that_was_begun_on_a_side_that_goes_is_begun_again() -> None:
    found = situation(GAME, "cutover", "new")
    found.reader.phase = "dual-write"
    start = found.app.scan(TableName="game", Limit=1)["LastEvaluatedKey"]
    found.reader.phase = "contract"
    with pytest.raises(PageMoved):
        found.app.scan(TableName="game", Limit=1, ExclusiveStartKey=start)


@pytest.mark.parametrize("phase", PHASES)
def test_a_paginator_gives_all_pages(phase: Phase) -> None:
    found = situation(GAME, phase, "new")
    pages = list(found.app.get_paginator("scan").paginate(TableName="game", PaginationConfig={"PageSize": 2}))
    assert sum(page["Count"] for page in pages) == 4
    assert len(pages) >= 2
