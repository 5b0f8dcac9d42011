from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from migrator.core.view import ItemView
from migrator.core.where import Absent, BeginsWith, Exists, OneOf, selects

ITEM = {
    "entity": {"S": "Task"}, "n": {"N": "1.50"}, "none": {"NULL": True}, "done": {"BOOL": False},
    "tags": {"SS": ["b", "a"]}, "PK": {"S": "TENANT#t1"}, "raw": {"B": b"ab"}, "a.b": {"S": "dot"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("where", "selected"),
    [
        ({}, True),
        ({"entity": "Task"}, True),
        ({"entity": "User"}, False),
        ({"entity": "Task", "done": False}, True),
        ({"entity": "Task", "done": True}, False),
        ({"n": 1.5}, None),
        ({"n": Decimal("1.5")}, True),
        ({"n": "1.50"}, False),
        ({"done": 0}, False),
        ({"none": None}, True),
        ({"absent": None}, False),
        ({"tags": {"a", "b"}}, True),
        ({"a.b": "dot"}, True),
        ({"entity": Exists()}, True),
        ({"none": Exists()}, True),
        ({"absent": Exists()}, False),
        ({"absent": Absent()}, True),
        ({"none": Absent()}, False),
        ({"PK": BeginsWith("TENANT#")}, True),
        ({"PK": BeginsWith("tenant#")}, False),
        ({"raw": BeginsWith("a")}, False),
        ({"absent": BeginsWith("")}, False),
        ({"entity": OneOf("User", "Task")}, True),
        ({"entity": OneOf("User")}, False),
        ({"absent": OneOf(None)}, False),
        ({"n": OneOf(Decimal("1.500"), "x")}, True),
    ],
)
def test_a_where_selects_by_exact_values_and_conditions(where: dict[str, Any], selected: bool | None) -> None:
    if selected is None:
        with pytest.raises(Exception, match="float"):
            selects(where, ItemView(ITEM))
    else:
        assert selects(where, ItemView(ITEM)) is selected


def test_what_a_where_read_is_recorded_up_to_the_first_that_fails() -> None:
    view = ItemView(ITEM)
    assert not selects({"entity": "Task", "absent": Exists(), "n": 5}, view)
    assert view.reads == {"entity": {"S": "Task"}, "absent": None}


def is_task(item: ItemView) -> bool:
    return bool(item["entity"] == "Task")


def test_a_function_selects_and_its_reads_are_recorded() -> None:
    view = ItemView(ITEM)
    assert selects(is_task, view)
    assert view.reads == {"entity": {"S": "Task"}}


def test_conditions_are_equal_by_content() -> None:
    assert OneOf("a", "b") == OneOf("a", "b") != OneOf("b", "a")
    assert BeginsWith("x") == BeginsWith("x")
    assert Exists() != Absent()
