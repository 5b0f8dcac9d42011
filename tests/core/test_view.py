from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from migrator.core.change import Check
from migrator.core.item import Item, Key, fingerprint, key_of
from migrator.core.view import ItemView, Lookup, LookupTooWide, WholeItemRead

ITEM = {"PK": {"S": "a"}, "SK": {"S": "b"}, "n": {"N": "1.50"}, "tags": {"SS": ["x"]}, "gone": {"NULL": True}}


@dataclass
class Reads:
    """Other items by table alias, and how often they were asked for."""

    items: dict[str, list[Item]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    keys: tuple[str, ...] = ("PK", "SK")

    def get(self, alias: str, key: Key) -> Item | None:
        self.asked.append(f"get {alias}")
        wanted = fingerprint(key)
        return next((i for i in self.items.get(alias, ()) if fingerprint(key_of(i, self.keys)) == wanted), None)

    def collection(self, alias: str, partition: Key, most: int) -> Sequence[Item]:
        self.asked.append(f"collection {alias}")
        ((name, value),) = partition.items()
        return [item for item in self.items.get(alias, ()) if item[name] == value][: most + 1]

    def key_names(self, alias: str) -> tuple[str, ...]:
        return self.keys

    def physical(self, alias: str) -> str:
        return f"prod-{alias}"


def own(pk: str = "a", sk: str = "b", **more: str) -> dict[str, dict[str, Any]]:
    return {"PK": {"S": pk}, "SK": {"S": sk}} | {name: {"S": value} for name, value in more.items()}


# --- the item ---------------------------------------------------------------------------------------------------------


def test_a_view_gives_python_values_and_records_what_was_read() -> None:
    view = ItemView(ITEM)
    assert view["n"] == Decimal("1.5")
    assert view.get("tags") == {"x"}
    assert "absent" not in view
    assert view.get("none", 7) == 7
    assert view.reads == {"n": {"N": "1.50"}, "tags": {"SS": ["x"]}, "absent": None, "none": None}


def test_an_absent_attribute_raises_key_error_and_counts_as_read() -> None:
    view = ItemView(ITEM)
    with pytest.raises(KeyError):
        view["absent"]
    assert view.reads == {"absent": None}


def test_null_is_a_value_and_not_an_absence() -> None:
    view = ItemView(ITEM)
    assert "gone" in view
    assert view.get("gone", "default") is None


def matched(view: ItemView) -> Any:
    match view:
        case {"n": value}:
            return value
    return None


WHOLE: list[Callable[[ItemView], Any]] = [
    iter, list, sorted, len, dict, set, tuple, hash, copy.copy, copy.deepcopy, pickle.dumps, reversed, matched,
    lambda view: view == {}, lambda view: view != {}, lambda view: view == ItemView({}),
    lambda view: view.items(), lambda view: view.keys(), lambda view: view.values(), lambda view: view.copy(),
    lambda view: {**view}, lambda view: {} | dict(view), lambda view: [*view], lambda view: max(view),
]  # fmt: skip


@pytest.mark.parametrize("read", WHOLE)
def test_what_reads_the_whole_item_is_refused(read: Callable[[ItemView], Any]) -> None:
    with pytest.raises(WholeItemRead) as caught:
        read(ItemView(ITEM))
    assert caught.value.code == "reads-whole-item"
    assert "version=" in (caught.value.hint or "")


@pytest.mark.parametrize("show", [repr, str, "{}".format])
def test_showing_a_view_shows_no_value(show: Callable[[ItemView], str]) -> None:
    assert show(ItemView(ITEM)) == "<item, 0 attributes read>"


def test_asking_whether_there_is_an_item_reads_nothing_of_it() -> None:
    view = ItemView({})
    assert bool(view)
    assert view.reads == {}


def test_a_version_attribute_allows_reading_the_whole_item() -> None:
    view = ItemView(ITEM, may_read_whole=True)
    assert dict(view)["n"] == Decimal("1.5")
    assert len(view) == 5
    assert copy.deepcopy(view)["PK"] == "a"
    assert sorted(view) == sorted(ITEM)


def test_changing_a_value_that_was_read_changes_nothing() -> None:
    view = ItemView({"m": {"M": {"l": {"L": [{"S": "x"}]}}}})
    view["m"]["l"].append("y")
    assert view["m"] == {"l": ["x"]}


def test_a_view_is_not_json() -> None:
    with pytest.raises(TypeError):
        json.dumps(ItemView(ITEM))


# --- lookups ----------------------------------------------------------------------------------------------------------


def test_what_a_lookup_found_is_guarded_as_far_as_it_was_read() -> None:
    reads = Reads({"app": [own("p", "META", name="Launch", other="x")]})
    lookup = Lookup(reads, "app", own(), ItemView(own()))
    project = lookup.get({"PK": "p", "SK": "META"})
    assert project is not None
    assert (project["PK"], project["name"]) == ("p", "Launch")
    key = {"PK": {"S": "p"}, "SK": {"S": "META"}}
    assert lookup.checks == (Check("prod-app", key, present=True, guard={"name": {"S": "Launch"}}),)


def test_an_absence_that_was_looked_up_is_guarded_as_absence() -> None:
    lookup = Lookup(Reads(), "app", own(), ItemView(own()))
    assert lookup.get({"PK": "p", "SK": "META"}) is None
    assert lookup.checks == (Check("prod-app", {"PK": {"S": "p"}, "SK": {"S": "META"}}, present=False),)


def test_looking_up_twice_reads_once_and_answers_alike() -> None:
    reads = Reads({"app": [own("p", "1")]})
    lookup = Lookup(reads, "app", own(), ItemView(own()))
    assert lookup.get({"PK": "p", "SK": "1"}) is lookup.get({"PK": "p", "SK": "1"})
    assert reads.asked == ["get app"]


def test_looking_up_the_item_itself_gives_the_item_and_no_check() -> None:
    view = ItemView(own(name="x"))
    lookup = Lookup(Reads(), "app", own(name="x"), view)
    found = lookup.get({"PK": "a", "SK": "b"})
    assert found is view
    assert found["name"] == "x"
    assert view.reads == {"name": {"S": "x"}}
    assert lookup.checks == ()


def test_long_keys_that_share_their_beginning_are_different_items() -> None:
    first, second = ("TENANT#" + "x" * 200 + end for end in "12")
    reads = Reads({"app": [own(first, "s", name="first"), own(second, "s", name="second")]})
    lookup = Lookup(reads, "app", own(), ItemView(own()))
    found = [lookup.get({"PK": key, "SK": "s"}) for key in (first, second)]
    assert [one["name"] for one in found if one is not None] == ["first", "second"]


def test_a_collection_gives_the_others_in_order_and_guards_each() -> None:
    reads = Reads({"app": [own("a", "a"), own("a", "b"), own("a", "c")]})
    lookup = Lookup(reads, "app", own("a", "b"), ItemView(own("a", "b")))
    others = lookup.collection()
    assert [one["SK"] for one in others] == ["a", "c"]
    assert lookup.used_collections
    assert [(check.key["SK"], check.present) for check in lookup.checks] == [({"S": "a"}, True), ({"S": "c"}, True)]


def test_an_item_looked_up_before_its_collection_is_one_item_with_one_check() -> None:
    reads = Reads({"app": [own("a", "a", name="x"), own("a", "c")]})
    lookup = Lookup(reads, "app", own("a", "b"), ItemView(own("a", "b")))
    single = lookup.get({"PK": "a", "SK": "a"})
    assert lookup.get({"PK": "a", "SK": "nothing"}) is None
    assert lookup.collection()[0] is single
    assert [check.present for check in lookup.checks] == [True, False, True]


def test_a_collection_is_the_callers_own_list() -> None:
    reads = Reads({"app": [own("a", "c")]})
    lookup = Lookup(reads, "app", own(), ItemView(own()))
    lookup.collection().clear()
    assert len(lookup.collection()) == 1
    assert reads.asked == ["collection app"]


def test_a_collection_of_another_table_and_partition() -> None:
    reads = Reads({"users": [own("u", "1"), own("v", "1")]})
    lookup = Lookup(reads, "app", own(), ItemView(own()))
    assert len(lookup.collection("u", table="users")) == 1
    assert lookup.checks[0].table == "prod-users"


@pytest.mark.parametrize(("others", "fits"), [(97, True), (98, False), (99, False), (500, False)])
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_collection_that_no_transaction_can_guard_is_refused_and_never_cut(
    others: int, fits: bool, place: str
) -> None:
    sort = {"first": "0", "last": "zzz"}[place]
    items = sorted([own("a", sort), *(own("a", f"k{n:03}") for n in range(others))], key=lambda item: item["SK"]["S"])
    lookup = Lookup(Reads({"app": items}), "app", own("a", sort), ItemView(own("a", sort)))
    if fits:
        assert len(lookup.collection()) == others
    else:
        with pytest.raises(LookupTooWide) as caught:
            lookup.collection()
        assert caught.value.code == "lookup-too-wide"
        assert 'PK="a"' in caught.value.message


def test_more_single_lookups_than_a_transaction_holds_are_refused() -> None:
    lookup = Lookup(Reads(), "app", own(), ItemView(own()))
    for n in range(97):
        lookup.get({"PK": "p", "SK": str(n)})
    with pytest.raises(LookupTooWide):
        lookup.get({"PK": "p", "SK": "97"})


def test_a_looked_up_item_may_not_be_read_whole() -> None:
    reads = Reads({"app": [own("p", "1")]})
    found = Lookup(reads, "app", own(), ItemView(own(), may_read_whole=True)).get({"PK": "p", "SK": "1"})
    with pytest.raises(WholeItemRead):
        dict(found or {})


def test_seen_from_another_state_the_item_is_new_and_the_answers_are_old() -> None:
    reads = Reads({"app": [own("p", "1", name="x")]})
    lookup = Lookup(reads, "app", own(n="1"), ItemView(own(n="1")))
    lookup.get({"PK": "p", "SK": "1"})
    after = ItemView(own(n="2"))
    again = lookup.seen_from(after)
    assert again.get({"PK": "a", "SK": "b"}) is after
    assert again.get({"PK": "p", "SK": "1"}) is lookup.get({"PK": "p", "SK": "1"})
    assert reads.asked == ["get app"]
