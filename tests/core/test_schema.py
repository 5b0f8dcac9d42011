from __future__ import annotations

import pytest

from migrator.core.schema import (
    B,
    Index,
    KeyAttribute,
    N,
    Projection,
    Schema,
    Table,
    Throughput,
    differences,
    key_attributes,
    projection,
)
from migrator.errors import UsageError

TABLE = Table("app", KeyAttribute("PK"), KeyAttribute("SK"))


def index(**changes: object) -> Index:
    given = {"name": "ByOwner", "partition_key": key_attributes("owner"), "sort_key": key_attributes(["at"])}
    return Index(**given | changes)  # type: ignore[arg-type]


def test_a_plain_name_is_a_string_attribute_and_letters_give_the_other_types() -> None:
    assert key_attributes(["a", N("n"), B("h")]) == (
        KeyAttribute("a"),
        KeyAttribute("n", "N"),
        KeyAttribute("h", "B"),
    )
    assert key_attributes("a") == key_attributes(KeyAttribute("a")) == (KeyAttribute("a"),)
    assert key_attributes(None) == ()
    assert str(N("n")) == "N(n)"


@pytest.mark.parametrize("spec", ["INCLUDE", "all", ""])
def test_an_unknown_projection_is_refused(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        projection(spec)
    assert caught.value.code == "bad-projection"


def test_projections() -> None:
    assert projection("ALL") == Projection()
    assert projection("KEYS_ONLY") == Projection("KEYS_ONLY")
    assert projection(["b", "a"]) == projection(("a", "b"))
    assert str(projection(["b", "a"])) == "INCLUDE [a, b]"


@pytest.mark.parametrize(
    "wanted",
    [
        index(),
        index(provisioned=Throughput(5, 5)),
        index(on_demand_maximum=Throughput(5, 5)),
        index(warm=Throughput(5, 5)),
    ],
)
def test_throughput_is_no_difference(wanted: Index) -> None:
    assert differences(index(), wanted, TABLE.key_names) == ()


def test_projected_attributes_in_another_order_or_with_keys_among_them_are_no_difference() -> None:
    live = index(projection=projection(["a", "b"]))
    wanted = index(projection=projection(["b", "a", "PK", "owner"]))
    assert differences(live, wanted, TABLE.key_names) == ()


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (index(partition_key=key_attributes("other")), "partition key: live [owner], wanted [other]"),
        (index(partition_key=key_attributes(N("owner"))), "partition key: live [owner], wanted [N(owner)]"),
        (index(partition_key=key_attributes(["owner", "b"])), "partition key: live [owner], wanted [owner, b]"),
        (index(sort_key=()), "sort key: live [at], wanted []"),
        (index(projection=Projection("KEYS_ONLY")), "projection: live ALL, wanted KEYS_ONLY"),
        (index(projection=projection(["a"])), "projection: live ALL, wanted INCLUDE [a]"),
    ],
)
def test_a_difference_is_told_field_by_field(wanted: Index, field: str) -> None:
    assert differences(index(), wanted, TABLE.key_names) == (field,)


def test_key_attributes_in_another_order_are_a_difference() -> None:
    live = index(partition_key=key_attributes(["a", "b"]))
    assert differences(live, index(partition_key=key_attributes(["b", "a"])), TABLE.key_names)


def test_a_table_knows_what_its_indexes_ask_of_an_attribute() -> None:
    table = TABLE.with_index(index()).with_index(index(name="ByAt", partition_key=key_attributes("at"), sort_key=()))
    assert table.index_key_types()["at"] == {"ByOwner": ("S", "sort"), "ByAt": ("S", "partition")}
    assert table.without_index("ByOwner").index_key_types() == {"at": {"ByAt": ("S", "partition")}}
    assert "ByOwner" not in TABLE.indexes


def test_an_empty_alias_is_the_default_table() -> None:
    schema = Schema({"app": TABLE}, "app")
    assert schema.table("") is TABLE
    with pytest.raises(UsageError, match=r"no table 'nope' here \(known: app\)"):
        schema.table("nope")


def test_throughput_reads_as_words() -> None:
    assert str(Throughput(5, 10)) == "5 read, 10 write units"
