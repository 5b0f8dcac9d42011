from __future__ import annotations

import re

import pytest

from migrator.core.change import Change
from migrator.core.expression import Substitutions, absent, condition, guard_is_too_large, update

AWKWARD = (
    "State", "Date", "name", "ttl", "size", "State#Date", "GSI1-PK", "follower#", "_x", "a b", "a.b", "ümlaut",
)  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_no_attribute_name_reaches_an_expression(name: str) -> None:
    subs = Substitutions()
    texts = [
        condition(subs, {name: {"S": "x"}, "other": None}, ("PK", "SK")),
        update(subs, {name: {"S": "y"}}, ["old"]),
    ]
    assert all(re.fullmatch(r"[#:a-zA-Z0-9_ =(),]*", text) for text in texts)
    assert name in subs.names.values()
    assert set(subs.names.values()) == {"PK", name, "other", "old"}


def test_a_condition_asks_that_the_item_exists_and_is_as_read() -> None:
    subs = Substitutions()
    text = condition(subs, {"a": {"N": "1"}, "b": None}, ("PK", "SK"))
    assert text == "attribute_exists(#n0) AND #n1 = :v0 AND attribute_not_exists(#n2)"
    assert subs.names == {"#n0": "PK", "#n1": "a", "#n2": "b"}
    assert subs.values == {":v0": {"N": "1"}}


def test_an_update_names_what_changes_and_nothing_else() -> None:
    subs = Substitutions()
    assert update(subs, {"a": {"S": "x"}, "b": {"S": "y"}}, ["c"]) == "SET #n0 = :v0, #n1 = :v1 REMOVE #n2"
    assert update(Substitutions(), {}, ["c", "d"]) == "REMOVE #n0, #n1"
    assert absent(Substitutions(), ("PK",)) == "attribute_not_exists(#n0)"


def test_a_name_used_twice_is_substituted_once() -> None:
    subs = Substitutions()
    condition(subs, {"a": {"S": "x"}}, ("PK",))
    update(subs, {"a": {"S": "y"}}, [])
    assert sorted(subs.names.values()) == ["PK", "a"]
    assert len(subs.values) == 2


@pytest.mark.parametrize(
    ("attributes", "too_large"), [(1, False), (100, False), (149, False), (150, True), (400, True)]
)
def test_a_guard_of_more_than_300_operators_is_too_large(attributes: int, too_large: bool) -> None:
    change = Change(guard={f"a{n}": None for n in range(attributes)}, set={"x": {"S": "y"}})
    # attribute_not_exists(…) and AND: two an attribute; the bytes run out first beyond 130.
    bytes_needed = len(condition(Substitutions(), change.guard, ("PK",)))
    assert guard_is_too_large(change, ("PK",)) == (too_large or bytes_needed > 4096)


def test_an_update_over_4_kb_is_too_large() -> None:
    change = Change(guard={}, set={f"a{n}": {"S": "x"} for n in range(400)})
    assert guard_is_too_large(change, ("PK",))
