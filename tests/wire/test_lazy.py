"""Items decoded attribute by attribute are the items, and what is not read leaves as it came."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.item import from_json, item_size, same_item, to_json
from migrator.wire.lazy import LazyItem, encode

SCALARS = st.one_of(
    st.text(max_size=8).map(lambda text: {"S": text}),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda n: {"N": str(Decimal(n))}),
    st.binary(max_size=8).map(lambda data: {"B": data}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    st.sets(st.text(max_size=4), min_size=1, max_size=3).map(lambda texts: {"SS": sorted(texts)}),
    st.sets(st.binary(max_size=4), min_size=1, max_size=3).map(lambda found: {"BS": sorted(found)}),
)
VALUES: Any = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda entries: {"L": entries}),
        st.dictionaries(st.text(max_size=4), inner, max_size=3).map(lambda entries: {"M": entries}),
    ),
    max_leaves=6,
)
ITEMS = st.dictionaries(st.text(min_size=1, max_size=6), VALUES, min_size=1, max_size=5)


def lazy(item: dict[str, Any], *, escaped: bool = True) -> LazyItem:
    text = json.dumps(to_json(item), ensure_ascii=escaped).encode()
    return LazyItem(msgspec.Raw(text))


@given(ITEMS, st.booleans())
def test_a_lazy_item_is_the_item(item: dict[str, Any], escaped: bool) -> None:
    one = lazy(item, escaped=escaped)
    assert dict(one) == from_json(to_json(item))
    assert same_item(one, item)
    assert one == from_json(to_json(item))
    assert (len(one), set(one), "no such" in one, one.get("no such")) == (len(item), set(item), False, None)


@given(ITEMS)
def test_what_goes_out_is_what_came_in_byte_for_byte(item: dict[str, Any]) -> None:
    one = lazy(item)
    one.get(next(iter(item)))
    assert encode({"Item": one}) == b'{"Item":' + bytes(one.raw) + b"}"
    assert encode({"M": {"kept": {"M": one}}}) == b'{"M":{"kept":{"M":' + bytes(one.raw) + b"}}}"


@given(ITEMS)
def test_no_item_is_larger_than_its_bound(item: dict[str, Any]) -> None:
    for escaped in (True, False):
        assert item_size(item) <= lazy(item, escaped=escaped).most_bytes


@given(ITEMS)
def test_a_request_says_what_botocore_would_say(item: dict[str, Any]) -> None:
    sent = json.loads(encode({"Item": item}))["Item"]
    assert from_json(sent) == item


def test_an_attribute_is_decoded_once() -> None:
    one = lazy({"m": {"M": {"a": {"B": b"\x00"}}}})
    assert one["m"] is one["m"]
    assert one["m"] == {"M": {"a": {"B": b"\x00"}}}
