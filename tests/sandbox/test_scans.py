"""A parallel scan divides a table by partitions, and its cursors belong to their segment."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.sandbox.shapes import attributes, create_table, index, keys, refused

SEGMENTS = 4


@pytest.fixture
def filled(dynamodb: Any) -> Any:
    create_table(
        dynamodb,
        KeySchema=keys("pk", "sk"),
        AttributeDefinitions=attributes(pk="S", sk="S", kind="S"),
        GlobalSecondaryIndexes=[index("by-kind", "kind")],
    )
    for partition in range(20):
        for sort in range(3):
            item = {"pk": {"S": f"p{partition}"}, "sk": {"S": str(sort)}, "kind": {"S": f"k{partition % 7}"}}
            dynamodb.put_item(TableName="orders", Item=item)
    return dynamodb


def segment(client: Any, number: int, **more: Any) -> list[tuple[str, str]]:
    """All keys of a segment, read in pages of four."""
    request = {"TableName": "orders", "TotalSegments": SEGMENTS, "Segment": number, "Limit": 4, **more}
    found: list[tuple[str, str]] = []
    while True:
        page = client.scan(**request)
        found += [(item["pk"]["S"], item["sk"]["S"]) for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@pytest.mark.parametrize("more", [{}, {"IndexName": "by-kind"}], ids=["table", "index"])
def test_segments_cover_the_table_once_and_keep_a_partition_together(filled: Any, more: dict[str, Any]) -> None:
    segments = [segment(filled, number, **more) for number in range(SEGMENTS)]
    assert sorted(key for keys_ in segments for key in keys_) == sorted(
        (f"p{partition}", str(sort)) for partition in range(20) for sort in range(3)
    )
    homes: dict[str, set[int]] = {}
    for number, keys_ in enumerate(segments):
        for partition, _ in keys_:
            homes.setdefault(partition, set()).add(number)
    assert all(len(numbers) == 1 for numbers in homes.values())


def test_a_cursor_of_another_segment_is_refused(filled: Any) -> None:
    pages = [
        filled.scan(TableName="orders", TotalSegments=SEGMENTS, Segment=number, Limit=1) for number in range(SEGMENTS)
    ]
    cursor = next(page["LastEvaluatedKey"] for page in pages[1:] if "LastEvaluatedKey" in page)
    with pytest.raises(ClientError) as caught:
        filled.scan(TableName="orders", TotalSegments=SEGMENTS, Segment=0, ExclusiveStartKey=cursor)
    assert refused(caught.value) == (
        "ValidationException",
        "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with "
        "correct Segment. TotalSegments: 4 Segment: 0",
    )


def test_a_global_index_has_no_consistent_reads(filled: Any) -> None:
    with pytest.raises(ClientError, match="Consistent reads are not supported on global secondary indexes"):
        filled.scan(TableName="orders", IndexName="by-kind", ConsistentRead=True)


def test_the_caller_has_an_account(sandbox: Any) -> None:
    assert sandbox.client("sts").get_caller_identity()["Account"] == "000000000000"
    assert sandbox.client("sts", account="123456789012").get_caller_identity()["Account"] == "123456789012"
