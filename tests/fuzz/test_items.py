"""Items of every type and size through data steps: written exactly, or failed with their key and a reason."""

from __future__ import annotations

import string
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.item import (
    MAX_ITEM_BYTES,
    AttributeValue,
    from_json,
    from_python,
    item_size,
    key_text,
    same,
    to_json,
    to_python,
)
from migrator.core.schema import KeyAttribute
from migrator.core.template import Template
from migrator.errors import MigratorError
from migrator.operations import AddIndex, Backfill, PutItems, RemoveAttributes, RenameAttribute
from tests.fuzz.bounds import bounded, tried
from tests.fuzz.edge import SiteHouse, refused_well, sound, typed
from tests.simulation.world import TABLE, Site, chain, migration, quick_world

NUMBERS = st.one_of(
    st.integers(-(10**37), 10**37).map(str),
    st.sampled_from(
        [
            "0",
            "-0",
            "1E-130",
            "9.9999999999999999999999999999999999999E+125",
            "-1E+125",
            "1E+2",
            "0.10",
            "12345678901234567890123456789012345678",
            "0.00000000000000000000000000000000000000000000001",
        ]
    ),
)
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.sampled_from(
        ["", "\0", "🧨" * 3, "a#b", "{name}", "{{", "%s", "x" * 3000, "\u202e", "e\u0301", "é", " ", "'\"`$("]
    ),
)
SCALARS: st.SearchStrategy[AttributeValue] = st.one_of(
    TEXTS.map(lambda text: {"S": text}),
    NUMBERS.map(lambda number: {"N": number}),
    st.binary(max_size=12).map(lambda content: {"B": content}),
    st.booleans().map(lambda content: {"BOOL": content}),
    st.just({"NULL": True}),
    st.sets(TEXTS, min_size=1, max_size=3).map(lambda texts: {"SS": sorted(texts)}),
    st.sets(st.integers(-9, 9), min_size=1, max_size=3).map(lambda numbers: {"NS": [str(n) for n in numbers]}),
    st.sets(st.binary(max_size=4), min_size=1, max_size=3).map(lambda contents: {"BS": sorted(contents)}),
)
NAMES = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
    st.sampled_from(
        ["name", "a.b", "a[0]", "#n", ":v", "size", "SET", "é", "🧨", " ", "x" * 255, "0", "a-b", "__migrator__", "{}"]
    ),
)
ATTRIBUTES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda entries: {"L": entries}),
        st.dictionaries(NAMES, inner, max_size=3).map(lambda entries: {"M": entries}),
    ),
    max_leaves=6,
)
KEYS = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).map(lambda text: {"S": text}),
    st.sampled_from([{"S": "x" * 2048}, {"S": "🧨"}, {"S": "\0"}, {"S": "__migrator"}, {"S": 'a" SK="b'}]),
)
ITEMS = st.builds(
    lambda pk, sk, rest: {**rest, "PK": pk, "SK": sk},
    KEYS,
    KEYS.filter(lambda key: len(key["S"]) <= 1024),
    st.dictionaries(NAMES.filter(lambda name: name not in ("PK", "SK")), ATTRIBUTES, max_size=5),
)


@bounded(150)
@given(ATTRIBUTES)
def test_a_value_comes_back_from_every_form_as_it_was(value: AttributeValue) -> None:
    tried["attribute values"] += 1
    assert same(from_python(to_python(value)), value)
    assert same(from_json(to_json({"a": value}))["a"], value)
    assert len(key_text({"a": value})) < 140


def nested(depth: int) -> AttributeValue:
    value: AttributeValue = {"S": "deep"}
    for _ in range(depth):
        value = {"L": [value]}
    return value


EXTREMES: Mapping[str, dict[str, Any]] = {
    "nothing but its key": {},
    "nested 31 deep": {"a": nested(31)},
    "400 KB of text": {"a": {"S": "x" * (MAX_ITEM_BYTES - 40)}},
    "400 KB of attributes": {f"attribute-{n:05d}": {"N": "1"} for n in range(20_000)},
    "38 digits": {"a": {"N": "1." + "2" * 36 + "1"}},
    "empty ones": {"a": {"S": ""}, "b": {"B": b""}, "c": {"L": []}, "d": {"M": {}}, "e": {"SS": [""]}},
    "a name of 64 KB": {"n" * 60_000: {"S": "x"}},
}


def wrote(site: Site) -> Any:
    return sound(typed(SiteHouse(site), "upgrade", "--from-base", "--yes"))


def check_backfill(item: dict[str, Any], attribute: str) -> None:
    """A template that copies and one that joins: right, or failed with a reason, and nothing else touched."""
    tried["items through data steps"] += 1
    site = Site(
        chain(
            migration(
                "001", Backfill(set={"copied": f"{{{attribute}}}", "joined": f"J#{{{attribute}}}"}, missing="skip")
            )
        ),
        quick_world(page_bytes=1_048_576),
    ).with_table()
    site.world.items.put(TABLE, item)
    answer = wrote(site)
    (after,) = site.world.items.all(TABLE)
    rest = {name: value for name, value in after.items() if name not in ("copied", "joined")}
    was = {name: value for name, value in item.items() if name not in ("copied", "joined")}
    assert rest == was
    value = item.get(attribute)
    kind = next(iter(value)) if value else ""
    if value is None or kind not in ("S", "N"):
        assert after == item, "left as it is"
        assert answer.code == (0 if value is None else 6)
    elif answer.code == 0:
        assert same(after["copied"], value)
        assert after["joined"]["S"].startswith("J#")
    else:
        assert answer.code == 6, answer
        assert after == item


@bounded(40)
@given(ITEMS, st.data())
def test_a_template_copies_exactly_or_fails_the_item(item: dict[str, Any], data: st.DataObject) -> None:
    names = [name for name in item if not set(name) & set("{}[]")]
    check_backfill(item, data.draw(st.sampled_from(names)))


@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("attribute", ["a", "SK"])
def test_items_at_the_limits_are_copied_exactly_or_failed(extreme: str, attribute: str) -> None:
    item = {"PK": {"S": "p"}, "SK": {"S": "s"}, **EXTREMES[extreme]}
    if item_size(item) <= MAX_ITEM_BYTES:
        check_backfill(item, attribute)


@bounded(30)
@given(st.lists(ITEMS, min_size=1, max_size=4, unique_by=lambda item: (item["PK"]["S"], item["SK"]["S"])))
def test_renaming_and_removing_leave_every_other_attribute_as_it_was(items: list[dict[str, Any]]) -> None:
    tried["items through data steps"] += len(items)
    site = Site(chain(migration("001", RenameAttribute("name", "title"), RemoveAttributes("a.b")))).with_table()
    site.world.items.put(TABLE, *items)
    answer = sound(typed(SiteHouse(site), "upgrade", "--from-base", "--yes", "--offline"))
    after = {(item["PK"]["S"], item["SK"]["S"]): item for item in site.world.items.all(TABLE)}
    for item in items:
        now = after[item["PK"]["S"], item["SK"]["S"]]
        moved = {"name", "title", "a.b"}
        assert {n: v for n, v in now.items() if n not in moved} == {n: v for n, v in item.items() if n not in moved}
        if answer.code == 0:
            assert "name" not in now
            assert same(now.get("title"), item.get("name", item.get("title")))
            assert "a.b" not in now


RETURNED = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.binary(max_size=5),
        st.just("\ud800"),
        st.decimals(),
        st.sampled_from([10**200, Decimal("1E-200"), object(), set(), {1, "a"}, {None}, ..., int, {frozenset()}]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3)
    ),
    max_leaves=4,
)


results: list[Any] = [None]


def result_of_test(item: Any) -> Any:
    """A transform that returns, or raises, what the running test says."""
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]


@bounded(50)
@given(
    st.one_of(RETURNED, st.dictionaries(st.text(max_size=4) | st.integers() | st.just("\ud800"), RETURNED, max_size=3))
)
def test_whatever_a_function_returns_is_written_exactly_or_fails_the_item(result: Any) -> None:
    tried["results of functions"] += 1
    results[0] = result
    site = Site(chain(migration("001", Backfill(transform=result_of_test)))).with_table(
        {"PK": "p", "SK": "s", "kept": 1}
    )
    answer = wrote(site)
    (after,) = site.world.items.all(TABLE)
    assert after["kept"] == {"N": "1"} or (isinstance(result, dict) and "kept" in result)
    if answer.code:
        assert answer.code == 6, answer
        assert after == {"PK": {"S": "p"}, "SK": {"S": "s"}, "kept": {"N": "1"}}
    for value in after.values():
        item_size({"a": value})  # whatever is written has an exact form


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize(
    "exc",
    [
        SystemExit(0),
        GeneratorExit(),
        StopIteration(),
        RecursionError(),
        MemoryError(),
        KeyError("nick"),
        AssertionError(),
    ],
    ids=repr,
)
def test_whatever_a_function_raises_fails_the_item_and_never_ends_the_run_well(
    exc: BaseException, workers: int
) -> None:
    results[0] = exc
    site = Site(chain(migration("001", Backfill(transform=result_of_test)))).with_table({"PK": "p", "SK": "s"})
    object.__setattr__(site.limits, "workers", workers)
    answer = wrote(site)
    assert answer.code == 6
    assert type(exc).__name__ in answer.out


@bounded(200)
@given(st.text(st.sampled_from(string.ascii_letters + "{}[]#.!:_0 "), max_size=20))
def test_a_template_of_any_text_is_parsed_or_refused(source: str) -> None:
    tried["templates"] += 1
    try:
        template = Template.parse(source)
    except MigratorError as exc:
        refused_well(exc)
        return
    item = {name: {"S": "v"} for name in template.attributes}
    if not template.missing(item) and not (len(template.parts) == 1 and template.references):
        assert template.invert(template.render(item)["S"]) is not None


@bounded(40)
@given(ATTRIBUTES, st.sampled_from(["S", "N", "B"]))
def test_a_value_that_an_index_cannot_hold_is_never_written_to_its_key(value: AttributeValue, kind: Any) -> None:
    tried["index keys"] += 1
    site = Site(
        chain(
            migration("001", AddIndex("by-key", partition_key=KeyAttribute("key", kind))),
            migration("002", Backfill(set={"key": "{source}"})),
        ),
    ).with_table()
    site.world.items.put(TABLE, {"PK": {"S": "p"}, "SK": {"S": "s"}, "source": value})
    answer = wrote(site)
    (after,) = site.world.items.all(TABLE)
    if "key" in after:
        assert answer.code == 0
        assert list(value) == [kind]
        assert value[kind] not in ("", b"")
    else:
        assert answer.code == 6


SEEDS = st.dictionaries(st.sampled_from(["PK", "SK", "a", "b"]), RETURNED, max_size=4)


@bounded(30)
@given(st.lists(SEEDS, max_size=3))
def test_seed_items_of_any_kind_are_put_exactly_or_refused(items: list[dict[str, Any]]) -> None:
    tried["seed items"] += 1
    try:
        operation = PutItems(items)
    except MigratorError as exc:
        refused_well(exc)
        return
    site = Site(chain(migration("001", operation))).with_table()
    answer = wrote(site)
    if answer.code == 0:
        assert len(site.items) == len(items)
