"""Files for `sandbox load` of any content: loaded as they say, or refused with the file and the place."""

from __future__ import annotations

import copy
import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.errors import MigratorError
from migrator.sandbox import Sandbox
from migrator.sandbox.load import LoadReport, load_file
from tests.fuzz.bounds import bounded, tried
from tests.fuzz.edge import refused_well

MODEL: dict[str, Any] = {
    "ModelName": "people",
    "DataModel": [
        {
            "TableName": "people",
            "KeyAttributes": {
                "PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
                "SortKey": {"AttributeName": "SK", "AttributeType": "N"},
            },
            "NonKeyAttributes": [{"AttributeName": "team", "AttributeType": "S"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-team",
                    "KeyAttributes": {"PartitionKey": {"AttributeName": "team", "AttributeType": "S"}},
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"]},
                }
            ],
            "TableData": [
                {"PK": {"S": "a"}, "SK": {"N": "1"}, "team": {"S": "t"}, "all": {"M": {"l": {"L": [{"NULL": True}]}}}}
            ],
            "BillingMode": "PROVISIONED",
            "ProvisionedCapacitySettings": {"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}},
        }
    ],
}
BATCH = {"people": [{"PutRequest": {"Item": {"PK": {"S": "a"}, "SK": {"N": "1"}, "b": {"B": "AAE="}}}}]}
ITEMS = [{"PK": {"S": "a"}, "SK": {"N": "1"}, "set": {"SS": ["a", "b"]}}]
PLAIN = [{"PK": "a", "SK": 1, "n": 1.10, "inner": {"list": [None, True]}}]
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=6),
        st.sampled_from(["", "S", "N", 10**400, 1e308, "\ud800", "x" * 3000, -1]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.text(max_size=6), st.sampled_from(["S", "N", "B", "L", "M", "SS", "PK", "Item", "DataModel"])),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with Sandbox() as sandbox:
        yield sandbox.client()


def load(client: Any, content: bytes, table: str | None = None) -> LoadReport | MigratorError:
    tried["model and item files"] += 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        path.write_bytes(content)
        try:
            report: LoadReport | MigratorError = load_file(client, path, table=table)
        except MigratorError as exc:
            refused_well(exc)
            return exc
        assert isinstance(report, LoadReport)
        for entry in report.tables:
            stored = client.scan(TableName=entry.name, Select="COUNT")["Count"]
            assert stored >= min(entry.put, 1)
        return report


def _clear(client: Any) -> None:
    for name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)


def _make(client: Any) -> None:
    client.create_table(
        TableName="people",
        AttributeDefinitions=[
            {"AttributeName": "PK", "AttributeType": "S"},
            {"AttributeName": "SK", "AttributeType": "N"},
        ],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        BillingMode="PAY_PER_REQUEST",
    )


def paths(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in entries for found in ((*way, key), *paths(inner, (*way, key)))]


@bounded(120)
@given(st.sampled_from([MODEL, BATCH, ITEMS, PLAIN]), st.data(), JSON)
def test_a_changed_file_is_loaded_as_it_says_or_refused(
    client: Any, whole: Any, data: st.DataObject, other: Any
) -> None:
    content = copy.deepcopy(whole)
    way = data.draw(st.sampled_from(paths(content)))
    at = content
    for key in way[:-1]:
        at = at[key]
    if data.draw(st.integers(0, 3)):
        at[way[-1]] = other
    else:
        del at[way[-1]]
    _clear(client)
    if whole is not MODEL:
        _make(client)
    load(client, json.dumps(content).encode("utf-8", "surrogatepass"), "people")


@bounded(60)
@given(
    st.one_of(
        st.binary(max_size=60),
        JSON.map(lambda value: json.dumps(value).encode()),
        st.binary(max_size=30).map(lambda b: b"\x1f\x8b" + b),
    )
)
def test_a_file_of_any_content_is_loaded_or_refused(client: Any, content: bytes) -> None:
    load(client, content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 100_000,
        b"{}\n" * 3,
        b"[]",
        gzip.compress(b"[]"),
        gzip.compress(json.dumps(MODEL).encode())[:-9],
        b"\x1f\x8b\x08" + b"\0" * 50,
        json.dumps(MODEL).encode("utf-16"),
        b'{"DataModel": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"people": [{"PutRequest": {"Item": {"PK": {"S": "a"}, "SK": {"N": "' + b"1" * 5000 + b'"}}}}]}',
        b'[{"PK": "a", "SK": ' + b"1" * 5000 + b"}]",
        b'[{"PK": "a", "SK": 1e999999999}]',
        b'[{"PK": "a", "SK": 1, "deep": ' + b"[" * 40 + b"]" * 40 + b"}]",
    ],
    ids=range(13),
)
def test_an_outlandish_file_is_loaded_or_refused(client: Any, content: bytes) -> None:
    _clear(client)
    _make(client)
    load(client, content, "people")
