from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from migrator.core.template import Reference, Template
from migrator.errors import UsageError

AWKWARD = (
    "State", "Date", "name", "ttl", "size", "State#Date", "GSI1-PK", "follower#", "_x", "a b", "a.b", "ümlaut", ":",
    "#n0",
)  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_any_attribute_name_can_be_a_field(name: str) -> None:
    template = Template.parse("X#{" + name + "}#Y")
    assert template.attributes == {name}
    assert template.render({name: {"S": "v"}}) == {"S": "X#v#Y"}
    assert template.invert("X#v#Y") == {name: "v"}


def test_a_dot_is_part_of_the_name_and_brackets_go_into_a_map() -> None:
    item = {"a.b": {"S": "flat"}, "a": {"M": {"b": {"M": {"c d": {"S": "deep"}}}}}}
    assert Template.parse("{a.b}").render(item) == {"S": "flat"}
    assert Template.parse("{a[b][c d]}").render(item) == {"S": "deep"}
    assert Template.parse("{a[b][c d]}").attributes == {"a"}
    assert Template.parse("{a[b][c d]}").references == (Reference("a", ("b", "c d")),)


@pytest.mark.parametrize("item", [{}, {"a": {"S": "x"}}, {"a": {"M": {}}}, {"a": {"M": {"b": {"L": []}}}}])
def test_a_path_that_leads_nowhere_is_missing(item: dict) -> None:
    template = Template.parse("{a[b][c]}")
    assert [str(reference) for reference in template.missing(item)] == ["a[b][c]"]
    with pytest.raises(ValueError, match="absent"):
        template.render(item)


def test_a_field_alone_copies_the_value_with_its_type() -> None:
    for value in ({"N": "1.50"}, {"SS": ["a"]}, {"NULL": True}, {"M": {"a": {"B": b"x"}}}):
        assert Template.parse("{v}").render({"v": value}) == value


@pytest.mark.parametrize(
    ("number", "rendered"),
    [("1.50", "1.5"), ("1E+3", "1000"), ("-0", "0"), ("9" * 38, "9" * 38), ("1318796827993409899",) * 2],
)
def test_a_number_in_a_longer_template_keeps_every_digit(number: str, rendered: str) -> None:
    assert Template.parse("n#{n}").render({"n": {"N": number}}) == {"S": "n#" + rendered}


@pytest.mark.parametrize("value", [{"BOOL": True}, {"NULL": True}, {"B": b"x"}, {"SS": ["a"]}, {"L": []}])
def test_only_text_and_numbers_fit_into_a_longer_template(value: dict) -> None:
    with pytest.raises(ValueError, match="not text or a number"):
        Template.parse("x#{v}").render({"v": value})


@pytest.mark.parametrize(
    "source", ["{", "}", "a{b", "a}b", "{}", "{a}}", "{a[}", "{[b]}", "{a[]}", "{a]}", "{{}", "{a{b}}"]
)
def test_a_malformed_template_is_refused_with_its_text(source: str) -> None:
    with pytest.raises(UsageError) as caught:
        Template.parse(source)
    assert caught.value.code == "bad-template"
    assert repr(source) in caught.value.message


def test_doubled_braces_stand_for_braces() -> None:
    assert Template.parse("{{{a}}}").render({"a": {"S": "x"}}) == {"S": "{x}"}
    assert Template.parse("{{a}}").attributes == frozenset()
    assert Template.parse("{{a}}").render({}) == {"S": "{a}"}


def test_a_template_is_text_and_never_code() -> None:
    item = {"a": {"S": "x"}, "a.__class__": {"S": "y"}, "a!r": {"S": "z"}, "a:>5": {"S": "w"}}
    assert [Template.parse("{" + name + "}").render(item)["S"] for name in item] == ["x", "y", "z", "w"]


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]{}"), min_size=1, max_size=8)


@given(names, names, st.text(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="#")))
def test_a_rendered_key_gives_its_fields_back(first: str, second: str, left: str, right: str) -> None:
    assume(first != second)
    template = Template.parse("T#{" + first + "}#P#{" + second + "}")
    rendered = template.render({first: {"S": right}, second: {"S": left}})["S"]
    assert template.invert(rendered) == {first: right, second: left}


def test_a_field_that_stands_twice_is_found_where_both_agree() -> None:
    template = Template.parse("{a}-{a}")
    assert template.invert("x-y-x-y") == {"a": "x-y"}
    assert template.invert("x-y") is None
    assert Template.parse("{a}#{b}#{a}").invert("1#2#1") == {"a": "1", "b": "2"}


@pytest.mark.parametrize("text", ["USER#1", "TASK#", "task#1#", "xTASK#1#y"])
def test_what_a_template_did_not_make_is_not_inverted(text: str) -> None:
    assert Template.parse("TASK#{date}#{id}").invert(text) is None


def test_templates_are_equal_by_their_text() -> None:
    assert Template.parse("a{b}") == Template.parse("a{b}") != Template.parse("a{c}")
