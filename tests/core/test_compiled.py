"""Pages decided at once are decided as their items one by one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.change import Update
from migrator.core.compiled import PageDecider
from migrator.core.item import Item, from_python, to_json
from migrator.core.schema import KeyType
from migrator.core.template import Template
from migrator.core.transform import Decided, Decider, Decision, NotSelected, Transform, Unchanged
from migrator.core.where import Absent, BeginsWith, Exists, OneOf
from migrator.wire.lazy import Wanted
from migrator.wire.page import LazyPage

NAMES = ("PK", "SK", "a", "b", "c d", 'e"f', "g.h", "100%s", "\u00e9\U0001f600", "\\u0041", "version")
TEXTS = st.sampled_from(
    ["", "x", "y", "x#y", "1", "1.5", "%s", '"', "\\", "\\u0078", "\u00e9", "\U0001f600", "z" * 300]
)
VALUES: Any = st.one_of(
    TEXTS.map(lambda text: {"S": text}),
    st.sampled_from(["1", "1.5", "1.50", "-0", "1E2"]).map(lambda number: {"N": number}),
    st.sampled_from([{"BOOL": True}, {"NULL": True}, {"SS": ["x"]}, {"NS": ["1.50"]}, {"B": b"x"}, {"L": []}]),
    st.just({"M": {"S": {"S": "x"}}}),
)
KEYS: Any = st.sampled_from([{}, {"PK": {"S": "p"}, "SK": {"S": "s"}}])
ITEMS = st.builds(
    lambda rest, key: {"PK": {"S": "p"}, "SK": {"N": "7"}, **rest, **key},
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8),
    KEYS,
)
ORDINARY = st.builds(
    lambda texts, there: {
        **{name: {"S": text} for name, text in zip(NAMES[:4], texts, strict=True)},
        **({} if there is None else {"GSI1PK": {"S": there}}),
    },
    st.tuples(*[st.sampled_from(["x", "y"])] * 4),
    st.sampled_from([None, "x#y", "y#x", "T#x", "T#y", ""]),
)
PARTS = st.sampled_from(
    ["#", "T#", "%", "{PK}", "{SK}", "{a}", "{b}", "{c d}", "{100%s}", '{e"f}', "{g.h}", "{version}"]
)
TEMPLATES = st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: Template.parse("".join(parts)))
CONDITIONS = st.one_of(
    st.just(Exists()),
    st.just(Absent()),
    TEXTS,
    TEXTS.map(BeginsWith),
    st.lists(TEXTS, max_size=2).map(lambda texts: OneOf(*texts)),
    st.sampled_from([1, True, None, OneOf("x", 1)]),
)
TRANSFORMS = st.builds(
    Transform,
    where=st.dictionaries(st.sampled_from([*NAMES, "GSI1PK"]), CONDITIONS, max_size=2),
    set=st.dictionaries(
        st.sampled_from(["GSI1PK", "a", "SK", 'e"f', "version", "100%s"]),
        st.one_of(TEMPLATES, TEMPLATES, VALUES),
        min_size=1,
        max_size=2,
    ),
    missing=st.sampled_from(["fail", "skip", "remove"]),
    version=st.sampled_from([None, None, None, "version"]),
    once=st.booleans(),
)
INDEXED = st.sampled_from(
    [{}, {"GSI1PK": {"ByIt": ("S", "partition")}}, {"GSI1PK": {"A": ("S", "sort"), "B": ("N", "partition")}}]
)


def page(items: Sequence[Item], *, escaped: bool) -> LazyPage:
    return LazyPage(msgspec.Raw(json.dumps([to_json(one) for one in items], ensure_ascii=escaped).encode()), Wanted())


def decisions(decider: Decider, items: Sequence[Item]) -> tuple[int, int, list[tuple[Any, Decision]]]:
    """How many stay as they are, how many are not selected, and what becomes of the rest."""
    found = PageDecider(decider).of(items)
    unchanged, not_selected = found.unchanged, found.not_selected
    rest: list[tuple[Any, Decision]] = []
    for item, decision in [*((item, Decided(update.change)) for item, update in found.updates), *found.others]:
        unchanged += isinstance(decision, Unchanged)
        not_selected += isinstance(decision, NotSelected)
        if not isinstance(decision, Unchanged | NotSelected):
            rest.append((dict(item), decision))
    for item, update in found.updates:
        assert update == Update({name: item[name] for name in decider.key_names}, update.change)
    return unchanged, not_selected, rest


def reference(decider: Decider, items: Sequence[Item]) -> tuple[int, int, list[tuple[Any, Decision]]]:
    made: list[tuple[Any, Decision]] = [(dict(item), decider.decide(item)) for item in items]
    counts = [sum(isinstance(decision, kind) for _, decision in made) for kind in (Unchanged, NotSelected)]
    rest: list[tuple[Any, Decision]] = [one for one in made if not isinstance(one[1], Unchanged | NotSelected)]
    return counts[0], counts[1], rest


def in_order(rest: list[tuple[Any, Decision]]) -> list[str]:
    return sorted(json.dumps(to_json(item), sort_keys=True) + repr(_sorted(decision)) for item, decision in rest)


def _sorted(decision: Decision) -> Any:
    if not isinstance(decision, Decided):
        return decision
    change = decision.change
    return (sorted(change.guard.items(), key=repr), sorted(change.set.items()), change.remove, change.checks)


@given(TRANSFORMS, st.lists(st.one_of(ITEMS, ORDINARY), max_size=4), INDEXED, st.booleans())
def test_a_page_is_decided_as_its_items_are(
    transform: Transform, items: list[Item], index_keys: dict[str, dict[str, tuple[KeyType, Any]]], escaped: bool
) -> None:
    decider = Decider(transform, "app", ("PK", "SK"), index_keys, None)  # type: ignore[arg-type]
    expected = reference(decider, items)
    for source in (items, page(items, escaped=escaped)):
        unchanged, not_selected, rest = decisions(decider, source)
        assert (unchanged, not_selected, in_order(rest)) == (*expected[:2], in_order(expected[2]))


def test_templates_of_text_are_decided_without_looking_at_items_one_by_one() -> None:
    """Else the comparison above compares the Decider with itself."""
    sets = {"GSI1PK": Template.parse("T#{a}"), "GSI1SK": Template.parse("100%{a}#{b}")}
    where = {"kind": "x", "a": Exists(), "gone": Absent(), "b": BeginsWith("x"), "SK": OneOf("s", "t")}
    decider = Decider(Transform(where=where, set=sets), "app", ("PK", "SK"), {}, None)  # type: ignore[arg-type]
    one = {name: from_python(value) for name, value in {"PK": "p", "SK": "s", "kind": "x", "a": "1", "b": "x"}.items()}
    found = PageDecider(decider).of([one])
    assert [update.change for _, update in found.updates] == [decider.decide(one).change]  # type: ignore[union-attr]
    assert not found.others


@pytest.mark.parametrize("where", [{"a": 1}, {"a": OneOf("x", 1)}, lambda item: item["a"] == "x"])
def test_what_texts_cannot_tell_is_left_to_the_decider(where: Any) -> None:
    transform = Transform(where=where, set={"GSI1PK": Template.parse("T#{b}")})
    decider = Decider(transform, "app", ("PK", "SK"), {}, None)  # type: ignore[arg-type]
    item = {"PK": {"S": "p"}, "SK": {"S": "s"}, "a": {"S": "x"}, "b": {"S": "y"}}
    assert len(PageDecider(decider).of([item]).others) == 1


def test_a_page_says_that_it_lacks_a_text_only_where_that_is_certain() -> None:
    items: list[Item] = [{"PK": {"S": "TENANT#1"}}]
    assert page(items, escaped=False).surely_lacks("__migrator__")
    assert not page(items, escaped=False).surely_lacks("TENANT")
    escaped = LazyPage(msgspec.Raw(rb'[{"PK":{"S":"\u005f_migrator__#x"}}]'), Wanted())
    assert not escaped.surely_lacks("__migrator__")
    assert not page(items, escaped=False).surely_lacks('a"b')
