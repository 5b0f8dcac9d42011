from __future__ import annotations

import enum
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.item import (
    BadValue,
    fingerprint,
    from_json,
    from_python,
    item_size,
    key_of,
    key_text,
    number_size,
    number_text,
    same,
    same_item,
    text,
    to_json,
    to_python,
    value_size,
)

# What DynamoDB can hold exactly: 38 digits, 1E-130 to 9.99E+125.
numbers = st.builds(
    lambda digits, exponent, sign: Decimal(sign * digits).scaleb(exponent),
    st.integers(0, 10**20),
    st.integers(-60, 60),
    st.sampled_from([1, -1]),
)
scalars = st.one_of(st.text(), numbers, st.binary(), st.booleans(), st.none(), st.integers(-(10**30), 10**30))
sets = st.one_of(
    st.frozensets(st.text(), min_size=1), st.frozensets(numbers, min_size=1), st.frozensets(st.binary(), min_size=1)
)
values = st.recursive(
    st.one_of(scalars, sets),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=12,
)


# --- equality ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"N": "1.50"}, {"N": "1.5"}),
        ({"N": "-0"}, {"N": "0"}),
        ({"N": "1E+3"}, {"N": "1000"}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"NS": ["1", "2.0"]}, {"NS": ["2", "1.0"]}),
        ({"BS": [b"a", b"b"]}, {"BS": [b"b", b"a"]}),
        ({"M": {"a": {"N": "1"}}}, {"M": {"a": {"N": "1.0"}}}),
        ({"L": [{"N": "1"}, {"S": "x"}]}, {"L": [{"N": "01"}, {"S": "x"}]}),
        ({"B": bytearray(b"x")}, {"B": b"x"}),
    ],
)
def test_values_that_are_the_same_to_the_service_are_the_same(left: dict, right: dict) -> None:
    assert same(left, right)
    assert fingerprint({"a": left}) == fingerprint({"a": right})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"N": "1"}, {"S": "1"}),
        ({"S": "a"}, {"B": b"a"}),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
        ({"SS": ["a"]}, {"L": [{"S": "a"}]}),
        ({"NULL": True}, {"BOOL": True}),
        ({"N": "99999999999999999999999999999999999999"}, {"N": "99999999999999999999999999999999999998"}),
        ({"M": {}}, {"L": []}),
        ({"S": "é"}, {"S": "e\u0301"}),
    ],
)
def test_values_that_differ_in_type_order_or_digits_differ(left: dict, right: dict) -> None:
    assert not same(left, right)
    assert fingerprint({"a": left}) != fingerprint({"a": right})


def test_an_absence_equals_only_an_absence() -> None:
    assert same(None, None)
    assert not same(None, {"NULL": True})
    assert same_item(None, None)
    assert not same_item({}, None)


def test_items_are_the_same_by_content_whatever_the_order() -> None:
    assert same_item({"a": {"N": "1"}, "b": {"S": "x"}}, {"b": {"S": "x"}, "a": {"N": "1.0"}})
    assert not same_item({"a": {"N": "1"}}, {"a": {"N": "1"}, "b": {"S": "x"}})


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "size"),
    [
        ("0", 1),
        ("1", 2),
        ("42", 2),
        ("100", 2),
        ("1000", 2),
        ("123", 3),
        ("-5", 3),
        ("12.5", 3),
        ("0.001", 2),
        ("3.14159", 5),
        ("99999999999999999999999999999999999999", 20),
        ("-99999999999999999999999999999999999999", 21),
        ("1E-130", 2),
    ],
)
def test_a_number_takes_a_byte_for_two_digits_and_one_more(number: str, size: int) -> None:
    assert number_size(number) == size


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "ümlaut"}, 7),
        ({"S": ""}, 0),
        ({"B": b"\x00\x01"}, 2),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"L": []}, 3),
        ({"M": {}}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 3 + (1 + 2) + (1 + 1)),
        ({"M": {"key": {"S": "ab"}}}, 3 + 1 + 3 + 2),
        ({"SS": ["ab", "c"]}, 3),
        ({"NS": ["1", "123"]}, 5),
        ({"BS": [b"abc"]}, 3),
    ],
)
def test_a_value_takes_what_the_service_counts(value: dict, size: int) -> None:
    assert value_size(value) == size


def test_an_items_size_includes_the_names_in_utf_8() -> None:
    assert item_size({"PK": {"S": "a"}, "ümlaut": {"N": "5"}}) == (2 + 1) + (7 + 2)


# --- to and from Python -----------------------------------------------------------------------------------------------


@given(values)
def test_a_value_survives_the_way_to_the_wire_and_back(value: object) -> None:
    assert to_python(from_python(value)) == value


@given(values)
def test_an_item_survives_dynamodb_json(value: object) -> None:
    item = {"a": from_python(value)}
    assert same_item(from_json(to_json(item)), item)


@given(st.floats())
def test_a_float_is_refused_wherever_it_stands(number: float) -> None:
    for value in (number, [number], {"x": [number]}, {number}):
        with pytest.raises(BadValue) as caught:
            from_python(value)
        assert caught.value.code == "float-value"


def test_a_refusal_names_the_place_in_the_value() -> None:
    with pytest.raises(BadValue, match=r"price\.eur\[1\]: a float"):
        from_python({"eur": [1, 2.5]}, "price")


@pytest.mark.parametrize(
    "number",
    [
        10**38 + 1,
        Decimal("1E-131"),
        Decimal("1E+126"),
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("0.123456789012345678901234567890123456789"),
    ],
)
def test_a_number_that_dynamodb_cannot_hold_is_refused(number: object) -> None:
    with pytest.raises(BadValue) as caught:
        from_python(number)
    assert caught.value.code == "number-range"


@pytest.mark.parametrize(
    ("number", "wire"),
    [
        (1318796827993409899, "1318796827993409899"),
        (110111111111111110000000000000000000000, "110111111111111110000000000000000000000"),
        (10**38 - 1, "9" * 38),
        (Decimal("1E-130"), "1E-130"),
        (Decimal("-0"), "0"),
        (Decimal("1.50"), "1.50"),
        (10**100, "1" + "0" * 100),
    ],
)
def test_a_number_goes_to_the_wire_without_losing_a_digit(number: object, wire: str) -> None:
    assert from_python(number) == {"N": wire}


@pytest.mark.parametrize(
    ("value", "code"),
    [(set(), "empty-set"), ({1, "a"}, "mixed-set"), ({True}, "mixed-set"), (object(), "unknown-type")],
)
def test_a_value_without_a_dynamodb_form_is_refused(value: object, code: str) -> None:
    with pytest.raises(BadValue) as caught:
        from_python(value)
    assert caught.value.code == code


def test_a_boolean_is_no_number_and_an_enum_is_its_text() -> None:
    class Plain(str, enum.Enum):  # noqa: UP042 - the older kind, whose str() is not its text
        OPEN = "open"

    class Status(enum.StrEnum):
        OPEN = "open"

    assert from_python(True) == {"BOOL": True}
    for one in (Plain.OPEN, Status.OPEN):
        wire = from_python(one)
        assert wire == {"S": "open"}
        assert type(wire["S"]) is str


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("1.50", "1.5"),
        ("-0", "0"),
        ("-0.00", "0"),
        ("1E+3", "1000"),
        ("15E-1", "1.5"),
        ("9" * 38, "9" * 38),
        ("-" + "9" * 38, "-" + "9" * 38),
        ("1000", "1000"),
    ],
)
def test_a_number_has_one_plain_text_with_every_digit(written: str, plain: str) -> None:
    assert number_text(written) == plain


@pytest.mark.parametrize(
    "item",
    [
        {"a": "x"},
        {"a": {"X": 1}},
        {"a": {"S": "x", "N": "1"}},
        {"a": {"N": "one"}},
        {"a": {"N": 5}},
        {"a": {"N": "NaN"}},
        {"a": {"S": 5}},
        {"a": {"B": "not base64!"}},
        {"a": {"BOOL": "yes"}},
        {"a": {"NULL": False}},
        {"a": {"SS": "ab"}},
        {"a": {"NS": ["1", "x"]}},
        {"a": {"L": {"S": "x"}}},
        {"a": {"M": []}},
        {"a": {"M": {"b": {"N": "x"}}}},
    ],
)
def test_what_is_no_dynamodb_json_is_refused(item: dict) -> None:
    with pytest.raises(BadValue) as caught:
        from_json(item)
    assert caught.value.code == "bad-item"


def test_a_value_of_no_known_type_is_refused() -> None:
    for read in (value_size, to_python):
        with pytest.raises(BadValue) as caught:
            read({"X": "y"})
        assert caught.value.code == "unknown-type"


# --- for people -------------------------------------------------------------------------------------------------------


def test_a_key_is_shown_in_the_order_asked_for() -> None:
    item = {"SK": {"N": "5"}, "PK": {"S": 'say "x"'}, "other": {"S": "y"}}
    assert key_text(key_of(item, ("PK", "SK"))) == 'PK="say \\"x\\"" SK=5'


def test_a_long_value_is_cut_for_people() -> None:
    assert len(text({"S": "x" * 500})) == 118
    assert text(None) == "(absent)"
    assert text({"B": b"\x00"}) == "b64:AA=="
    assert text({"NULL": True}) == "NULL"
    assert text({"BOOL": False}) == "false"
    assert text({"SS": ["b", "a"]}) == 'SS ["a", "b"]'
