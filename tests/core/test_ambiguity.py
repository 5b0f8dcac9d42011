"""Templates and functions by which two different items get one key."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.ambiguity import ambiguities, collides, folding
from migrator.core.template import Template


def kinds(source: str, *numbers: str) -> list[tuple[str, str]]:
    return [(one.kind, one.delimiter) for one in ambiguities(Template.parse(source), numbers)]


@pytest.mark.parametrize(
    ("source", "numbers", "found"),
    [
        ("{a}", (), []),
        ("USER#{a}#X", (), []),
        ("{a}#{a}", (), []),
        ("{a}{b}", (), [("adjacent", "")]),
        ("T#{a}{b}#{c}", (), [("adjacent", ""), ("delimiter", "#")]),
        ("{a}#{b}", (), [("delimiter", "#")]),
        ("{a}#{b}#USER#{c}", (), [("delimiter", "#"), ("delimiter", "#USER#")]),
        ("{n}#{m}", ("n", "m"), []),
        ("{n}-{m}", ("n", "m"), [("delimiter", "-")]),
        ("{n}.{a}", ("n",), [("delimiter", ".")]),
        ("{n}#{a}#{m}", ("n", "m"), []),
        ("{a}#{n}#{b}", ("n",), [("delimiter", "#")]),
        ("{a[n]}#{b}", ("a",), [("delimiter", "#")]),
    ],
)
def test_what_cannot_be_inverted(source: str, numbers: tuple[str, ...], found: list[tuple[str, str]]) -> None:
    assert kinds(source, *numbers) == found


PIECES = ["x", "#", "1", "-", "x#", "#x", "1-1"]
NUMBERS = ["1", "-1", "1.5", "11"]


@pytest.mark.parametrize("source", ["{a}#{n}", "{n}#{a}#{m}", "{n}#{m}", "T{a}T", "{a}", "{n}:{a}:{m}"])
def test_of_a_template_that_is_called_unambiguous_no_two_items_have_one_key(source: str) -> None:
    template = Template.parse(source)
    assert ambiguities(template, ("n", "m")) == ()
    fields = sorted(template.attributes)
    seen: dict[str, tuple[str, ...]] = {}
    for values in product(*(NUMBERS if field in "nm" else PIECES for field in fields)):
        item = {f: {"N" if f in "nm" else "S": value} for f, value in zip(fields, values, strict=True)}
        rendered = str(next(iter(template.render(item).values())))
        assert seen.setdefault(rendered, values) == values


@given(st.text(max_size=6), st.text(max_size=6), st.text(max_size=6), st.text(max_size=6))
def test_values_without_the_delimiter_never_collide(a: str, b: str, c: str, d: str) -> None:
    template = Template.parse("{a}#{b}")
    one: dict[str, Any] = {"a": {"S": a}, "b": {"S": b}}
    two: dict[str, Any] = {"a": {"S": c}, "b": {"S": d}}
    if template.render(one) == template.render(two) and one != two:
        assert collides(template, one) or collides(template, two)


def test_a_value_that_holds_the_delimiter_is_named() -> None:
    template = Template.parse("{a}#{b}")
    assert collides(template, {"a": {"S": "x"}, "b": {"S": "y#z"}}) == "b"
    assert collides(template, {"a": {"N": "1"}, "b": {"S": "y"}}) == ""
    assert collides(Template.parse("T#{a}"), {"a": {"S": "x#y"}}) == ""


def test_a_function_that_folds_is_found_also_inside_another() -> None:
    def plain(item: Any) -> Any:
        return {"k": item["a"]}

    def folded(item: Any) -> Any:
        def key() -> Any:
            return item["a"].strip().lower()

        return {"k": key()}

    assert folding(plain) == ()
    assert folding(folded) == ("lower", "strip")
    assert folding(print) == ()
