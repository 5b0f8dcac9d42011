"""The drafted repair: what its function makes of each value, and a file that loads and that formatters leave alone."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.item import from_python, same
from migrator.core.transform import index_key_problem
from migrator.loader import load, repair_source, write_revision
from migrator.loader.repair import Role
from tests.loader.test_write import assert_clean

NOW = datetime(2026, 11, 30, 17, 22, 4, tzinfo=UTC)
CODES = ("index-key-null", "index-key-type", "index-key-empty", "index-key-size")


def repair_of(kind: Any, role: Role = "sort") -> Any:
    """The drafted function for one attribute `a` in which every kind of problem was found."""
    drafted = repair_source("by-a", [("a", kind, role)], {("a", code): 1 for code in CODES}, fixed=(), about="")
    assert drafted is not None
    names: dict[str, Any] = {}
    exec("\n".join([*drafted.imports, drafted.functions]), names)
    return names["repair_by_a"]


@pytest.mark.parametrize(
    ("kind", "value", "changes"),
    [
        ("N", None, {"a": None}),
        ("N", "12.5", {"a": Decimal("12.5")}),
        ("N", "-7", {"a": Decimal(-7)}),
        ("N", "0", {"a": Decimal(0)}),
        ("N", "9" * 38, {"a": Decimal("9" * 38)}),
        ("N", "9" * 39, {"a": None, "a_unindexed": "9" * 39}),
        ("N", "05", {"a": None, "a_unindexed": "05"}),
        ("N", "1.50", {"a": None, "a_unindexed": "1.50"}),
        ("N", "-0", {"a": None, "a_unindexed": "-0"}),
        ("N", "NaN", {"a": None, "a_unindexed": "NaN"}),
        ("N", " 1", {"a": None, "a_unindexed": " 1"}),
        ("N", "\N{ARABIC-INDIC DIGIT ONE}", {"a": None, "a_unindexed": "\N{ARABIC-INDIC DIGIT ONE}"}),
        ("N", True, {"a": None, "a_unindexed": True}),
        ("N", Decimal(5), {}),
        ("N", Decimal(0), {}),
        ("S", Decimal("1E+3"), {"a": "1000"}),
        ("S", Decimal("-0.5"), {"a": "-0.5"}),
        ("S", "", {"a": None}),
        ("S", b"x", {"a": None, "a_unindexed": b"x"}),
        ("S", ["x"], {"a": None, "a_unindexed": ["x"]}),
        ("S", "é" * 513, {"a": None, "a_unindexed": "é" * 513}),
        ("S", "é" * 512, {}),
        ("B", "text", {"a": None, "a_unindexed": "text"}),
        ("B", b"", {"a": None}),
        ("B", b"x" * 1025, {"a": None, "a_unindexed": b"x" * 1025}),
    ],
)
def test_each_value_is_converted_exactly_or_moved_whole(kind: Any, value: Any, changes: dict[str, Any]) -> None:
    assert repair_of(kind)({"a": value}) == changes


def test_an_item_without_the_attribute_is_left_alone() -> None:
    assert repair_of("N")({"b": 1}) == {}


def test_a_value_does_not_push_out_another_one() -> None:
    with pytest.raises(ValueError, match="a_unindexed holds something else"):
        repair_of("N")({"a": "high", "a_unindexed": "low"})


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.from_regex(r"-?[0-9]{1,40}(\.[0-9]{1,3})?", fullmatch=True),
    st.binary(max_size=3),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**20), max_value=10**20),
    st.sampled_from(["x" * 1025, "é" * 1024, b"x" * 2049, b"x" * 1024]),
)


@given(kind=st.sampled_from(["S", "N", "B"]), role=st.sampled_from(["partition", "sort"]), value=VALUES)
def test_what_it_leaves_is_indexable_and_nothing_but_null_and_emptiness_is_lost(
    kind: Any, role: Any, value: Any
) -> None:
    item = {"a": value}
    after = {name: one for name, one in {**item, **repair_of(kind, role)(item)}.items() if one is not None}
    if "a" in after:
        assert index_key_problem(from_python(after["a"]), kind, role) is None
        if after["a"] != value:
            # Back again it is the same, to the service.
            back = Decimal(after["a"]) if isinstance(after["a"], str) else format(after["a"], "f")
            assert same(from_python(back), from_python(value))
    else:
        assert value in (None, "", b"") or after == {"a_unindexed": value}
    assert repair_of(kind, role)(after) == {}


def test_the_file_loads_and_formatters_have_nothing_to_change(tmp_path: Path) -> None:
    keys: list[tuple[str, Any, Role]] = [("tenant", "S", "partition"), ("a" * 60, "N", "sort"), ('"q\\', "B", "sort")]
    for number, codes in enumerate([CODES, *((code,) for code in CODES)]):
        for table in ("", "log"):
            folder = tmp_path / f"{number}{table}"
            found = {(name, code): 1_204_331 for name, _, _ in keys for code in codes}
            about = "3 items of 1,204,331 in prod-saas."
            drafted = repair_source("by-tenant.and-what-else\n", keys, found, fixed=("SK",), about=about, table=table)
            assert drafted is not None
            parts = (drafted.operations, drafted.functions, drafted.imports)
            path = write_revision(folder, "Mend", [], NOW, "{rev}_{slug}", *parts)
            assert_clean(path)
            (migration,) = load(folder, project_root=tmp_path)
            (operation,) = migration.operations
            assert operation.table == table


def test_a_key_of_the_table_is_named_and_not_repaired() -> None:
    keys: list[tuple[str, Any, Role]] = [("PK", "S", "sort"), ("a", "S", "partition")]
    found = {("PK", "index-key-size"): 2, ("a", "index-key-null"): 1}
    drafted = repair_source("by-a", keys, found, fixed=("PK", "SK"), about="")
    assert drafted is not None
    assert "PK, 2 with index-key-size: NOT REPAIRED" in drafted.functions
    assert 'name = "PK"' not in drafted.functions
    assert repair_source("by-a", keys, {("PK", "index-key-size"): 2}, fixed=("PK",), about="") is None
