"""Drafts of access patterns from NoSQL Workbench models, loaded, checked and asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from migrator.config import parse_patterns
from migrator.core.item import from_python
from migrator.core.patterns.judge import judge
from migrator.core.patterns.pattern import AccessPattern
from migrator.core.schema import Index, KeyAttribute, Table
from migrator.errors import UsageError
from migrator.loader import drafted_patterns

DATA = Path(__file__).parents[1] / "data"
MODELS = sorted(DATA.glob("nwb-*.json"))


def drafted(path: Path) -> tuple[AccessPattern, ...]:
    tables = [table["TableName"] for table in json.loads(path.read_text())["DataModel"]]
    return parse_patterns(Path("ap.toml"), drafted_patterns(path, {}, tables, tables[0]))


def shapes(path: Path) -> dict[str, Table]:
    """The tables of a model, by name."""
    found = {}
    for table in json.loads(path.read_text())["DataModel"]:
        partition, *rest = _keys(table["KeyAttributes"])
        indexes = {}
        for index in table.get("GlobalSecondaryIndexes", []):
            first, *more = _keys(index["KeyAttributes"])
            indexes[index["IndexName"]] = Index(index["IndexName"], (first,), tuple(more))
        found[table["TableName"]] = Table(table["TableName"], partition, rest[0] if rest else None, indexes)
    return found


def _keys(given: dict[str, Any]) -> list[KeyAttribute]:
    members = [given[name] for name in ("PartitionKey", "SortKey") if name in given]
    return [KeyAttribute(one["AttributeName"], one["AttributeType"]) for one in members]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_what_a_model_gives_is_served_by_the_models_own_tables(path: Path) -> None:
    tables = shapes(path)
    default = next(iter(tables))
    found = drafted(path)
    assert {one.index for one in found} - {""} == {index for table in tables.values() for index in table.indexes}
    for pattern in found:
        assert judge(pattern, tables[pattern.table or default]) == (), pattern.name
        assert pattern.examples, pattern.name


def test_an_example_of_an_index_has_its_items_in_order_and_one_that_lacks_a_key_part() -> None:
    escalated = next(one for one in drafted(DATA / "nwb-devicestatelog-v7.json") if one.index == "GSI2")
    (example,) = escalated.examples
    assert example.given == {"EscalatedTo": from_python("Sara")}
    assert example.answer is not None
    assert [one["State#Date"]["S"] for one in example.answer if not isinstance(one, str)] == [
        "WARNING4#2020-04-27T16:15:00"
    ]
    assert len(example.absent) == 1


def test_facets_become_patterns_with_the_beginning_that_their_sort_keys_share(tmp_path: Path) -> None:
    model = json.loads((DATA / "nwb-onlineshop-v9.json").read_text())
    rows = model["DataModel"][0]["TableData"]
    orders = [row for row in rows if row["SK"]["S"].startswith("c#")]
    model["DataModel"][0]["TableFacets"] = [
        {
            "FacetName": "customers",
            "KeyAttributeAlias": {"PartitionKeyAlias": "customer", "SortKeyAlias": "same"},
            "TableData": orders,
        },
        {"FacetName": "any", "KeyAttributeAlias": {"PartitionKeyAlias": "thing"}},
    ]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model))
    customers, anything = drafted(path)
    assert (customers.name, customers.holds) == ("customers", ("customer",))
    assert str(customers.key[0]) == 'PK = "{customer}"'
    assert str(customers.key[1]).startswith(("begins_with(SK, ", "SK = "))
    assert [str(one) for one in anything.key] == ['PK = "{thing}"']


def test_a_table_that_is_none_of_the_configuration_is_asked_for() -> None:
    with pytest.raises(UsageError, match="table PaymentScheduler of the model") as refused:
        drafted_patterns(DATA / "nwb-bankpayments.json", {}, ["app"], "app")
    assert refused.value.hint == "say which one it is: --table PaymentScheduler=ALIAS"
    names = {"PaymentScheduler": "app", "TransactionHistory": "log"}
    text = drafted_patterns(DATA / "nwb-bankpayments.json", names, ["app", "log"], "app")
    assert {one.table for one in parse_patterns(Path("ap.toml"), text)} == {"", "log"}


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"DataModel": 1}', '{"DataModel": [{"TableName": "T"}]}',
        '{"DataModel": [{"TableName": "T", "KeyAttributes": {}}]}',
        '{"DataModel": [{"TableName": "T", "KeyAttributes": {"PartitionKey": {"Name": "a"}}}]}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(UsageError) as refused:
        drafted_patterns(tmp_path / "model.json", {}, ["T"], "T")
    assert refused.value.code == "bad-model"
    with pytest.raises(UsageError):
        drafted_patterns(tmp_path / "none.json", {}, ["T"], "T")
