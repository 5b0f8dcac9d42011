"""What is proven of templates holds for every item; what is not proven is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrator.core.rewrite.form import Form
from migrator.core.rewrite.proofs import ambiguities, dropped, never_selected, remarks
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Image, NoImage, Route
from migrator.core.schema import KeyAttribute
from migrator.core.where import Absent, BeginsWith, Exists, OneOf
from tests.core.rewrite.routes import (
    ALL,
    CLAIMS,
    DEVICES,
    GAME,
    INDEXED,
    LOWER,
    LOWER_WITHIN,
    MERGED,
    PK_SK,
    PLAYERS,
    SEATS,
    TASKS,
    TASKS_ELSEWHERE,
)
from tests.core.rewrite.world import wire


def codes(*routes: Route, moves: bool = True) -> list[str]:
    return [remark.code for remark in remarks(Rewrite(routes, moves=moves))]


def route(where: Any = None, **forms: dict[str, str]) -> Route:
    return Route("t", "t", PK_SK, PK_SK, where={} if where is None else where,
                 **{name: Form.of(form) for name, form in forms.items()})  # fmt: skip


def test_changed_prefixes_prove_that_nothing_moves_twice() -> None:
    assert remarks(GAME) == ()
    assert never_selected(PLAYERS, PLAYERS) == "PK"
    assert never_selected(SEATS, SEATS) == "SK"
    assert never_selected(PLAYERS, SEATS) == "PK"
    assert never_selected(SEATS, PLAYERS) == "PK"
    assert never_selected(INDEXED, INDEXED) == "PK"


def test_each_table_of_a_merge_is_another_s_target_and_nobody_s_source() -> None:
    assert codes(*MERGED.routes) == []
    into = Route("users", "t", (KeyAttribute("id"),), PK_SK, key=Form.of({"PK": "U#{id}", "SK": "{id}"}))
    within = route({"PK": BeginsWith("U#")}, old={"PK": "U#{x}"}, key={"PK": "P#{x}"})
    assert "selection-not-proven" in codes(into, within)
    assert never_selected(into, within) is None
    assert never_selected(within, within) == "PK"


@pytest.mark.parametrize(
    ("where", "forms", "proof"),
    [
        ({"PK": BeginsWith("A#")}, {"key": {"PK": "B#{id}"}}, "PK"),
        ({"PK": BeginsWith("A#")}, {"key": {"PK": "A#{id}"}}, None),
        ({"PK": BeginsWith("A")}, {"key": {"PK": "A#{id}"}}, None),
        ({"PK": BeginsWith("A#B")}, {"key": {"PK": "A#{id}"}}, None),
        ({"PK": BeginsWith("A#")}, {"key": {"PK": "{id}"}}, None),
        ({"PK": BeginsWith("A#")}, {"key": {"PK": "FIXED"}}, "PK"),
        ({"PK": "A"}, {"key": {"PK": "A#{id}"}}, "PK"),
        ({"PK": "A#1"}, {"key": {"PK": "A#{id}"}}, None),
        ({"PK": "A#1B"}, {"key": {"PK": "A#{id}C"}}, "PK"),
        ({"PK": "A##B"}, {"key": {"PK": "A#{x}#{y}B"}}, None),
        ({"PK": OneOf("A", "B")}, {"key": {"PK": "C{id}"}}, "PK"),
        ({"PK": OneOf("A", "C1")}, {"key": {"PK": "C{id}"}}, None),
        ({"kind": "user"}, {"key": {"PK": "C{id}"}}, None),
        ({"kind": "user"}, {"key": {"PK": "C{id}"}, "set": {"kind": "player"}}, "kind"),
        ({"moved": Absent()}, {"key": {"PK": "C{id}"}, "set": {"moved": "yes"}}, "moved"),
        ({"moved": Exists()}, {"key": {"PK": "C{id}"}, "set": {"moved": "yes"}}, None),
        ({}, {"key": {"SK": "{x}#NEW"}, "old": {"SK": "{x}#OLD"}}, "SK"),
        ({}, {"key": {"SK": "{x}#LONG-OLD"}, "old": {"SK": "{x}OLD"}}, None),
        ({"n": 5}, {"key": {"SK": "a{x}"}, "set": {"n": "5{x}"}}, "n"),
    ],
)
def test_what_a_template_proves(where: Any, forms: dict[str, dict[str, str]], proof: str | None) -> None:
    one = route(where, **forms)
    assert never_selected(one, one) == proof


def test_an_attribute_that_is_not_kept_proves_it_too() -> None:
    one = route({"kind": "user"}, key={"PK": "C{id}"})
    assert never_selected(replace(one, keep=("name",)), one) == "kind"
    assert never_selected(replace(one, keep=("kind",)), one) is None


def test_functions_prove_nothing() -> None:
    assert codes(LOWER) == ["key-by-function", "no-way-back"]
    assert codes(LOWER_WITHIN) == ["key-by-function", "no-way-back", "selection-not-proven"]
    chosen = replace(PLAYERS, where=lambda item: True)
    assert never_selected(chosen, chosen) is None


def test_a_claim_is_no_item_that_moves() -> None:
    assert "selection-not-proven" not in codes(CLAIMS, moves=False)
    assert "no-way-back" not in codes(CLAIMS, moves=False)
    assert dropped(CLAIMS) == ("PK", "SK")


def test_two_sources_whose_keys_no_template_holds_apart_are_named() -> None:
    users, orders, _ = MERGED.routes
    blurred = replace(orders, key=Form.of({"PK": "USER#{user}", "SK": "USER#{number}"}))
    (remark,) = remarks(Rewrite((users, blurred)))
    assert remark.code == "key-may-collide"
    assert "users" in remark.text
    assert "orders" in remark.text


def test_what_the_new_key_does_not_hold_is_named() -> None:
    assert dropped(TASKS) == ("createdAt",)
    assert dropped(TASKS_ELSEWHERE) == ("createdAt",)
    assert dropped(DEVICES) == ()
    assert dropped(LOWER) == ("id",)
    (remark,) = [one for one in remarks(Rewrite((TASKS,))) if one.code == "key-may-collide"]
    assert "createdAt" in remark.text


def test_fields_that_cannot_be_told_apart_are_named_with_what_it_means() -> None:
    assert list(ambiguities(Form.of({"k": "{a}{b}#{c}#{a}"}))) == [("k", "a", None), ("k", "b", "#"), ("k", "c", "#")]
    assert list(ambiguities(Form.of({"k": "A#{a}", "l": "{b}", "m": "x"}))) == []
    texts = [one.text for one in remarks(Rewrite((DEVICES,)))]
    assert len(texts) == 1
    assert "two items may come to one key" in texts[0]
    within = route(old={"SK": "E#{a}#{b}"}, key={"SK": "F#{a}{b}"})
    texts = [one.text for one in remarks(Rewrite((within,))) if one.code == "ambiguous-template"]
    assert len(texts) == 2
    assert "nothing stands between {a}" in texts[0]
    assert all("would not come back" in text for text in texts)


def test_every_remark_says_what_and_about_what() -> None:
    for one in ALL.values():
        for remark in remarks(Rewrite((one,))):
            assert remark.code.replace("-", "").isalpha()
            assert len(remark.text) > 40


PIECES = st.sampled_from(["A", "B", "A#", "#", "{x}", "{y}", "{PK}"])
TEMPLATES = st.lists(PIECES, min_size=1, max_size=4).map("".join)
CONDITIONS: st.SearchStrategy[Any] = st.one_of(
    st.just(Exists()),
    st.just(Absent()),
    st.sampled_from(["A", "A#", "AB", ""]).map(BeginsWith),
    st.sampled_from(["A", "A#B", "#"]),
    st.lists(st.sampled_from(["A", "A#", "B#A"]), min_size=1, max_size=2).map(lambda values: OneOf(*values)),
)
TEXTS = st.sampled_from(["A", "B", "A#", "A#B", "#", "AB", "A#A#", "B#A"])


@st.composite
def routes(draw: st.DrawFn) -> Route:
    return route(
        draw(st.dictionaries(st.sampled_from(["PK", "SK", "x", "z"]), CONDITIONS, max_size=2)),
        key=draw(st.dictionaries(st.sampled_from(["PK", "SK"]), TEMPLATES, min_size=1, max_size=2)),
        old=draw(st.dictionaries(st.sampled_from(["PK", "SK", "z"]), TEMPLATES, max_size=1)),
        set=draw(st.dictionaries(st.sampled_from(["x", "z"]), TEMPLATES, max_size=1)),
    )


@settings(max_examples=100, deadline=None)
@given(made=routes(), by=routes(), data=st.data())
def test_a_proof_holds_for_every_item(made: Route, by: Route, data: st.DataObject) -> None:
    proof = never_selected(made, by)
    if proof is None:
        return
    item = wire(PK=data.draw(TEXTS), SK=data.draw(TEXTS))
    item = {**item, **{name: {"S": data.draw(TEXTS)} for name in data.draw(st.sets(st.sampled_from(["x", "y", "z"])))}}
    image = made._made_of(item)
    if isinstance(image, Image):
        assert isinstance(by._made_of(image.item), NoImage), (proof, image.item)
