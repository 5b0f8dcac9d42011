from __future__ import annotations

import enum
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core import steps
from migrator.core.canonical import NotCanonical, canonical_form, canonical_text, digest
from migrator.core.schema import Index, KeyAttribute, Projection, Throughput, key_attributes
from migrator.core.template import Template
from migrator.core.transform import Transform
from migrator.core.where import BeginsWith, OneOf


def tidy(item: Any) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, None),
        (True, True),
        (10**40, 10**40),
        (Decimal("1.50"), {"$decimal": "1.50"}),
        (b"\x00", {"$bytes": "AA=="}),
        ({"b": 1, "a": [1, (2,)]}, {"a": [1, [2]], "b": 1}),
        (frozenset({"b", "a"}), {"$set": ["a", "b"]}),
        (Template.parse("X#{a}"), {"$template": "X#{a}"}),
        (tidy, {"$function": "tidy"}),
        (KeyAttribute("a"), {"$": "KeyAttribute", "name": "a"}),
        (KeyAttribute("a", "N"), {"$": "KeyAttribute", "name": "a", "type": "N"}),
        (BeginsWith("x"), {"$": "BeginsWith", "prefix": "x"}),
        (OneOf("x", 1), {"$": "OneOf", "values": ["x", 1]}),
        ({"$bytes": "AA=="}, {"$$bytes": "AA=="}),
        (enum.StrEnum("E", {"A": "a"}).A, "a"),  # type: ignore[attr-defined]
    ],
)
def test_forms(value: Any, form: Any) -> None:
    assert canonical_form(value) == form
    json.dumps(canonical_form(value))


def test_the_digest_of_a_step_does_not_move() -> None:
    step = steps.TransformItems(
        "app",
        Transform(where={"entity": OneOf("Task", 1, b"x")}, set={"a": Template.parse("{b}"), "c": {"SS": ["x", "y"]}}),
        undo="journal",
    )
    # A change of this value gives every applied revision the look of an edited file.
    assert canonical_text(step) == (
        '{"$":"TransformItems","table":"app","transform":{"$":"Transform","set":{"a":{"$template":"{b}"},'
        '"c":{"SS":["x","y"]}},"where":{"entity":{"$":"OneOf","values":["Task",1,{"$bytes":"eA=="}]}}},"undo":"journal"}'
    )
    assert digest(step) == "7698df6d424c6b7e5d008990951ebc7179de9c930b30410f4e8f07dc542ce81f"


def test_a_field_at_its_default_is_left_out() -> None:
    explicit = Index("X", key_attributes("a"), (), Projection("ALL"), None)
    assert canonical_form(explicit) == canonical_form(Index("X", key_attributes("a")))
    assert canonical_form(explicit) == {
        "$": "Index",
        "name": "X",
        "partition_key": [{"$": "KeyAttribute", "name": "a"}],
    }


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": "1"}),
        ({"a": Decimal(1)}, {"a": 1}),
        ({"a": b"x"}, {"a": {"$bytes": "eA=="}}),
        ({"a": {"N": "1"}}, {"a": {"S": "1"}}),
        (Throughput(1, 2), Throughput(2, 1)),
        (Transform(remove=("a", "b")), Transform(remove=("b", "a"))),
        (Transform(once=True), Transform()),
        ({"a": Template.parse("x{b}")}, {"a": "x{b}"}),
    ],
)
def test_different_values_have_different_digests(left: Any, right: Any) -> None:
    assert digest(left) != digest(right)


@given(st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.binary(), st.booleans(), st.none())))
def test_the_order_of_a_mapping_does_not_count(value: dict[str, Any]) -> None:
    assert canonical_text(value) == canonical_text(dict(reversed(value.items())))


@pytest.mark.parametrize("value", [1.5, object(), {"a": [object()]}, int])
def test_what_has_no_stable_form_is_refused(value: object) -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical_form(value)
    assert caught.value.code == "not-canonical"
