"""What a write costs the table and each index, case by case of the facts (§4.1, §4.2)."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.core.costs import index_units, is_indexed, read_units, write_cost, write_units
from migrator.core.schema import Index, KeyAttribute, Projection

BY_OWNER = Index("by-owner", (KeyAttribute("owner"),), projection=Projection("INCLUDE", frozenset({"title"})))
BASE: dict[str, Any] = {"PK": {"S": "p"}, "owner": {"S": "ada"}, "title": {"S": "t"}, "rest": {"S": "r" * 3000}}


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, BASE, 1),  # enters
        (BASE, None, 1),  # leaves with its item
        (BASE, {**BASE, "owner": {"S": "bob"}}, 2),  # its key changes: one out, one in
        (BASE, {k: v for k, v in BASE.items() if k != "owner"}, 1),
        (BASE, {**BASE, "title": {"S": "u"}}, 1),
        (BASE, {**BASE, "rest": {"S": "other"}}, 0),  # outside the projection
        (BASE, BASE, 0),
        ({"PK": {"S": "p"}}, {"PK": {"S": "p"}, "title": {"S": "t"}}, 0),  # not in it before or after
        (BASE, {**BASE, "title": {"S": "u" * 2000}}, 2),  # by the larger entry
        (BASE, {**BASE, "owner": {"N": "1"}}, 1),  # a value that cannot be a key takes the entry out
    ],
)
def test_a_write_costs_an_index_by_its_entries(before: Any, after: Any, units: float) -> None:
    assert index_units(BY_OWNER, before, after, ["PK"]) == units


def test_the_table_pays_for_the_larger_image_and_an_untouched_index_is_left_out() -> None:
    assert write_cost(BASE, {"PK": {"S": "p"}, "owner": {"S": "ada"}, "title": {"S": "t"}}, [BY_OWNER], ["PK"]) == (
        3,
        {},
    )


def test_units_round_up_and_are_never_less_than_one() -> None:
    assert (write_units(None), write_units({"a": {"S": "x" * 1023}}), write_units({"a": {"S": "x" * 1024}})) == (
        1,
        1,
        2,
    )
    assert (read_units(0), read_units(4096), read_units(4097)) == (1, 1, 2)


@pytest.mark.parametrize("owner", [{"NULL": True}, {"S": ""}, {"N": "1"}, {"S": "x" * 2049}])
def test_what_cannot_be_a_key_is_not_indexed(owner: dict[str, Any]) -> None:
    assert not is_indexed(BY_OWNER, {**BASE, "owner": owner})
