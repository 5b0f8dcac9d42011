"""Two tables, field by field: what counts as a difference and what does not."""

from __future__ import annotations

from dataclasses import replace

from migrator import Index
from migrator.core.comparison import Difference, compare
from migrator.core.declared import DeclaredTable
from migrator.core.schema import KeyAttribute, Table, Throughput
from migrator.core.settings import PointInTimeRecovery, TimeToLive

BASE = DeclaredTable("app", "a", Table("app", KeyAttribute("PK"), KeyAttribute("SK")))


def with_indexes(*indexes: Index) -> DeclaredTable:
    return replace(BASE, shape=replace(BASE.shape, indexes={index.name: index for index in indexes}))


def differences(
    left: DeclaredTable | None, right: DeclaredTable | None, *, units: bool = False
) -> list[tuple[str, ...]]:
    sides = [{} if side is None else {"app": side} for side in (left, right)]
    found = compare(sides[0], sides[1], units=units)
    assert all(isinstance(one, Difference) for one in found)
    return [(one.object, one.field, one.left, one.right) for one in found]


def test_a_table_is_no_other_than_itself_whatever_it_is_called() -> None:
    assert differences(BASE, replace(BASE, label="x", name="b")) == []


def test_a_table_on_one_side_only_is_one_difference() -> None:
    assert differences(BASE, None) == [("table", "", "exists", "absent")]
    assert differences(None, BASE) == [("table", "", "absent", "exists")]


def test_each_field_of_an_index_is_a_difference_of_its_own() -> None:
    left = with_indexes(Index("I", partition_key="a", sort_key="b", projection=["x"]))
    right = with_indexes(Index("I", partition_key="c", projection="ALL"))
    assert differences(left, right) == [
        ("index I", "partition key", "a", "c"),
        ("index I", "sort key", "b", "absent"),
        ("index I", "projection", "INCLUDE [x]", "ALL"),
    ]


def test_an_index_on_one_side_only_is_shown_whole() -> None:
    left = with_indexes(Index("I", partition_key="a", sort_key="b", projection="KEYS_ONLY"))
    assert differences(left, BASE) == [("index I", "", "(a / b), KEYS_ONLY", "absent")]


def test_keys_that_are_listed_as_projected_are_no_difference() -> None:
    left = with_indexes(Index("I", partition_key="a", projection=["x", "PK"]))
    right = with_indexes(Index("I", partition_key="a", projection=["x", "a"]))
    assert differences(left, right) == []


def test_of_settings_only_those_count_of_which_both_sides_speak() -> None:
    left, right = BASE.with_setting(TimeToLive("t")), BASE.with_setting(PointInTimeRecovery(True))
    assert differences(left, right) == []
    assert differences(left, right.with_setting(TimeToLive(None))) == [
        ("setting time-to-live", "", "TTL on t", "TTL off")
    ]


def test_throughput_counts_only_where_it_is_asked_for() -> None:
    one, two = (
        replace(BASE, shape=replace(BASE.shape, billing_mode="PROVISIONED", provisioned=Throughput(n, n)))
        for n in (5, 9)
    )
    assert differences(one, two) == []
    assert differences(one, two, units=True) == [
        ("table", "provisioned", "5 read, 5 write units", "9 read, 9 write units")
    ]
