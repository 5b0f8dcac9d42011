"""Models and items are loaded from the files that people have, and a bad file is told with its place."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from migrator.errors import MigratorError
from migrator.sandbox import ManualClock, Response, Sandbox
from migrator.sandbox.load import load_file
from tests.sandbox.shapes import attributes, create_table, describe, keys

DATA = Path(__file__).parent.parent / "data"


def rows(client: Any, table: str, name: str | None = None) -> list[dict[str, Any]]:
    request = {"TableName": table, **({"IndexName": name} if name else {})}
    return [item for page in client.get_paginator("scan").paginate(**request) for item in page["Items"]]


def entries(client: Any, table: str) -> dict[str, int]:
    indexes = describe(client, table).get("GlobalSecondaryIndexes", [])
    return {i["IndexName"]: len(rows(client, table, i["IndexName"])) for i in indexes}


@pytest.mark.parametrize(
    ("file", "tables", "indexes"),
    [
        ("nwb-devicestatelog-v1", {"DeviceStateLog": 11}, {}),
        ("nwb-devicestatelog-v3", {"DeviceStateLog": 11}, {}),
        ("nwb-devicestatelog-v7", {"DeviceStateLog": 11}, {"GSI1": 11, "GSI2": 1}),
        ("nwb-onlineshop-v9", {"OnlineShop": 16}, {}),
        ("nwb-onlineshop-v14", {"OnlineShop": 19}, {"GSI1": 8, "GSI2": 7}),
        ("nwb-socialnetwork", {"SNS": 17}, {}),
        (
            "nwb-complaints",
            {"Complaint_management_system": 9},
            {"Customer_Complaint_GSI": 4, "Escalations_GSI": 2, "Agents_Comments_GSI": 4},
        ),
    ],
)
def test_a_workbench_model_becomes_a_table_with_its_items_and_indexes(
    dynamodb: Any, file: str, tables: dict[str, int], indexes: dict[str, int]
) -> None:
    report = load_file(dynamodb, DATA / f"{file}.json")
    assert report.format == "workbench-model"
    assert {table.name: table.put for table in report.tables} == tables
    assert all(table.created for table in report.tables)
    name, count = next(iter(tables.items()))
    assert len(rows(dynamodb, name)) == report.items == count
    assert entries(dynamodb, name) == indexes


def test_a_model_of_two_tables_may_be_renamed_and_left_without_indexes(dynamodb: Any) -> None:
    names = {"PaymentScheduler": "dev-scheduler", "TransactionHistory": "dev-history"}
    report = load_file(dynamodb, DATA / "nwb-bankpayments.json", tables=names, with_indexes=False)
    assert [(table.name, table.put) for table in report.tables] == [("dev-scheduler", 4), ("dev-history", 2)]
    assert entries(dynamodb, "dev-scheduler") == entries(dynamodb, "dev-history") == {}
    assert describe(dynamodb, "dev-history")["AttributeDefinitions"] == attributes(AccountID="S", Timestamp="S")


def test_loading_twice_changes_nothing(dynamodb: Any) -> None:
    load_file(dynamodb, DATA / "nwb-complaints.json")
    before = rows(dynamodb, "Complaint_management_system")
    report = load_file(dynamodb, DATA / "nwb-complaints.json")
    assert not report.tables[0].created
    assert rows(dynamodb, "Complaint_management_system") == before
    assert any("SS" in value for item in before for value in item.values())


@pytest.fixture
def pair(dynamodb: Any) -> Any:
    create_table(dynamodb, "pair", KeySchema=keys("PK", "SK"), AttributeDefinitions=attributes(PK="S", SK="S"))
    return dynamodb


def test_plain_json_lines_are_loaded(pair: Any) -> None:
    report = load_file(pair, DATA / "battle-royale-items.jsonl", table="pair")
    assert (report.format, report.items, len(rows(pair, "pair"))) == ("items", 835, 835)


def test_a_batch_write_file_is_loaded_into_the_table_it_names_or_another(pair: Any) -> None:
    report = load_file(pair, DATA / "batchwrite-library.json", table="pair")
    assert (report.format, report.items, len(rows(pair, "pair"))) == ("batch-write", 13, 13)
    with pytest.raises(MigratorError) as caught:
        load_file(pair, DATA / "batchwrite-library.json")
    assert caught.value.code == "table-missing"
    assert "global-serverless" in caught.value.message


def test_an_exported_item_of_every_type_is_loaded_as_it_stands(dynamodb: Any) -> None:
    create_table(dynamodb, KeySchema=keys("id"), AttributeDefinitions=attributes(id="S"))
    load_file(dynamodb, DATA / "ddbjson-all-types.json", table="orders")
    (item,) = rows(dynamodb, "orders")
    assert item["binaryData"] == {"B": b"This is base64 encoded data"}
    assert item["binarySet"] == {"BS": [b"first", b"second", b"third"]}
    assert item["mixedList"]["L"][3] == {"M": {"nested": {"S": "object"}}}
    written = json.loads((DATA / "ddbjson-all-types.json").read_text())["Item"]
    assert item.keys() == written.keys()


NUMBERS = ["1318796827993409899", "110111111111111110000000000000000000000", "9" * 38, "1E-130", "0.1", "-5"]


def test_plain_numbers_keep_their_digits(pair: Any, tmp_path: Path) -> None:
    file = tmp_path / "numbers.json"
    file.write_text(f'[{{"PK": "a", "SK": "b", "n": [{", ".join(NUMBERS)}], "t": [true, null, "5", {{"x": 1}}]}}]')
    load_file(pair, file, table="pair")
    (item,) = rows(pair, "pair")
    sent = [float(number["N"]) for number in item["n"]["L"]]
    assert sent == [float(number) for number in NUMBERS]
    assert [number["N"] for number in item["n"]["L"]][:3] == NUMBERS[:3]
    assert item["t"]["L"] == [{"BOOL": True}, {"NULL": True}, {"S": "5"}, {"M": {"x": {"N": "1"}}}]


@pytest.mark.parametrize("form", ["wire", "item", "array", "gzip"])
def test_items_are_known_by_their_form(pair: Any, tmp_path: Path, form: str) -> None:
    items = [{"PK": {"S": str(number)}, "SK": {"S": "x"}, "n": {"N": "1"}} for number in range(60)]
    wrapped = [{"Item": item} for item in items] if form in ("item", "gzip") else items
    text = json.dumps(wrapped) if form == "array" else "\n".join(json.dumps(item) for item in wrapped) + "\n\n"
    file = tmp_path / "items"
    file.write_bytes(gzip.compress(text.encode()) if form == "gzip" else b"\xef\xbb\xbf" + text.encode())
    assert load_file(pair, file, table="pair").items == 60
    assert rows(pair, "pair")[0]["n"] == {"N": "1"}


def test_the_last_of_two_items_with_one_key_stands(pair: Any, tmp_path: Path) -> None:
    file = tmp_path / "twice.jsonl"
    file.write_text('{"PK":"a","SK":"b","n":1}\n{"PK":"a","SK":"b","n":2}\n')
    load_file(pair, file, table="pair")
    assert rows(pair, "pair") == [{"PK": {"S": "a"}, "SK": {"S": "b"}, "n": {"N": "2"}}]


def test_a_batch_write_file_may_delete(pair: Any, tmp_path: Path) -> None:
    key = {"PK": {"S": "a"}, "SK": {"S": "b"}}
    pair.put_item(TableName="pair", Item=key)
    file = tmp_path / "delete.json"
    file.write_text(json.dumps({"RequestItems": {"pair": [{"DeleteRequest": {"Key": key}}]}}))
    report = load_file(pair, file)
    assert (report.tables[0].put, report.tables[0].deleted, rows(pair, "pair")) == (0, 1, [])


def test_what_comes_back_unprocessed_is_sent_again(sandbox: Sandbox, pair: Any, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text("".join(f'{{"PK":"{number}","SK":"x"}}\n' for number in range(30)))
    sandbox.requests.clear()
    kept: list[int] = []

    def throttle(request: Any) -> Response | None:
        if kept:
            return None
        kept.append(len(request.body["RequestItems"]["pair"]))
        return Response.json({"UnprocessedItems": request.body["RequestItems"]})

    with sandbox.intercept(throttle, operation="BatchWriteItem"):
        load_file(pair, file, table="pair")
    assert kept == [25]
    assert [r.operation for r in sandbox.requests].count("BatchWriteItem") == 3
    assert len(rows(pair, "pair")) == 30


def model(**table: Any) -> str:
    whole = {
        "TableName": "t",
        "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}},
    }
    return json.dumps({"ModelName": "m", "DataModel": [{**whole, **table}]})


BAD = {
    "an empty file": ("", "bad-item", "the file is empty"),
    "a broken line": ('{"PK":"a","SK":"b"}\n{"PK":"a",}\n', "bad-item", "line 2: column"),
    "a broken document": ('{\n  "PK": {"S": "a"\n', "bad-item", "line 3, column 1"),
    "a broken model": ('{\n "DataModel": [\n  {,}]}', "bad-model", "line 3, column 4"),
    "no object": ('{"PK":"a","SK":"b"}\n5\n', "bad-item", "line 2: an item is an object"),
    "not a number": ('{"PK":"a","SK":"b","n":NaN}\n', "bad-item", "NaN is not JSON"),
    "an unknown type": (
        '{"Item":{"PK":{"S":"a"},"SK":{"S":"b"},"x":{"L":[{"Z":1}]}}}',
        "bad-item",
        "x[0]: expected",
    ),
    "a number that is none": (
        '{"PK":{"S":"a"},"SK":{"S":"b"},"n":{"N":"five"}}',
        "bad-item",
        "'five' is not a number",
    ),
    "a binary that is none": (
        '{"PK":{"S":"a"},"SK":{"S":"b"},"n":{"B":"*"}}',
        "bad-item",
        "n: binary values are base64",
    ),
    "an empty set": (
        '{"PK":{"S":"a"},"SK":{"S":"b"},"n":{"SS":[]}}',
        "bad-item",
        "n: this is no value of type SS",
    ),
    "no sort key": (
        '{"PK":"a"}\n{"PK":"b"}\n',
        "bad-item",
        "line 1: key attribute SK (S) of pair is missing",
    ),
    "a key of another type": (
        '{"PK":"a","SK":"b"}\n{"PK":"a","SK":1}\n',
        "bad-item",
        "line 2: key attribute SK (S) of pair is of type N",
    ),
    "a model without a key": (model(KeyAttributes={}), "bad-model", "t has no PartitionKey"),
    "a model with a key of type L": (
        model(KeyAttributes={"PartitionKey": {"AttributeName": "PK", "AttributeType": "L"}}),
        "bad-model",
        "its PartitionKey needs an AttributeName and a type S, N or B",
    ),
    "a model without a name": (model(TableName=None), "bad-model", "table 1 has no TableName"),
    "a model with a bad row": (
        model(TableData=[{"PK": {"S": 5}}]),
        "bad-item",
        "t row 1: PK: this is no value",
    ),
    "a model without tables": ('{"DataModel": []}', "bad-model", "DataModel is not a list of tables"),
    "a nameless index": (model(GlobalSecondaryIndexes=[{}]), "bad-model", "an index has no IndexName"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_told_by_its_place_and_nothing_of_it_is_loaded(
    sandbox: Sandbox, pair: Any, tmp_path: Path, case: str
) -> None:
    text, code, problem = BAD[case]
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(MigratorError) as caught:
        load_file(pair, file, table="pair")
    assert caught.value.code == code
    assert caught.value.message.startswith(f"{file}: ")
    assert problem in caught.value.message
    assert caught.value.hint
    assert rows(pair, "pair") == []


def test_a_file_that_is_not_there_or_no_text_is_told(pair: Any, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("absent.json", "binary"):
        with pytest.raises(MigratorError) as caught:
            load_file(pair, tmp_path / name, table="pair")
        assert caught.value.code == "unreadable-file"
        assert name in caught.value.message


def test_a_value_that_only_the_service_refuses_is_told_with_its_batch(pair: Any, tmp_path: Path) -> None:
    file = tmp_path / "large.jsonl"
    file.write_text(json.dumps({"PK": "a", "SK": "b", "x": "x" * 410_000}))
    with pytest.raises(MigratorError) as caught:
        load_file(pair, file, table="pair")
    assert caught.value.code == "bad-item"
    assert "item 1 to item 1: the service refuses one of them: Item size" in caught.value.message


@pytest.mark.parametrize(
    ("file", "options", "code"),
    [
        ("battle-royale-items.jsonl", {}, "table-missing"),
        ("battle-royale-items.jsonl", {"table": "absent"}, "table-missing"),
        ("nwb-bankpayments.json", {"table": "one"}, "several-tables"),
        ("nwb-onlineshop-v9.json", {"tables": {"Shop": "x"}}, "unknown-table"),
        ("nwb-onlineshop-v9.json", {"table": "other"}, "table-differs"),
    ],
)
def test_a_table_that_does_not_fit_is_told(pair: Any, file: str, options: dict[str, Any], code: str) -> None:
    create_table(pair, "other", KeySchema=keys("SK", "PK"), AttributeDefinitions=attributes(PK="S", SK="S"))
    with pytest.raises(MigratorError) as caught:
        load_file(pair, DATA / file, **options)
    assert caught.value.code == code
    assert caught.value.hint


@pytest.fixture
def slow_tables() -> Iterator[Sandbox]:
    with Sandbox(table_build=0.3) as sandbox:
        yield sandbox


def test_the_loader_waits_until_its_table_is_there(slow_tables: Sandbox) -> None:
    client = slow_tables.client()
    assert load_file(client, DATA / "nwb-devicestatelog-v1.json").items == 11
    assert len(rows(client, "DeviceStateLog")) == 11


def test_a_refusal_of_the_service_is_an_error_of_ours(clock: ManualClock, sandbox: Sandbox, dynamodb: Any) -> None:
    denied = Response.error("AccessDeniedException", "not authorized")
    with sandbox.intercept(lambda _: denied, operation="CreateTable"), pytest.raises(MigratorError) as caught:
        load_file(dynamodb, DATA / "nwb-devicestatelog-v1.json")
    assert caught.value.code == "load-refused"
    assert "not authorized" in caught.value.message
