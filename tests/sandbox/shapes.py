"""Short forms of the requests that the tests of this folder send."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError


def keys(partition: str | list[str], sort: str | list[str] | None = None) -> list[dict[str, str]]:
    hashes = [partition] if isinstance(partition, str) else partition
    ranges = [sort] if isinstance(sort, str) else sort or []
    schema = [{"AttributeName": name, "KeyType": "HASH"} for name in hashes]
    return schema + [{"AttributeName": name, "KeyType": "RANGE"} for name in ranges]


def attributes(**types: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def index(name: str, *schema: Any, projection: Any = "ALL", **more: Any) -> dict[str, Any]:
    projected = (
        {"ProjectionType": projection}
        if isinstance(projection, str)
        else {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(projection)}
    )
    return {"IndexName": name, "KeySchema": keys(*schema), "Projection": projected, **more}


def create_table(client: Any, name: str = "orders", **more: Any) -> dict[str, Any]:
    request = {
        "KeySchema": keys("pk"),
        "AttributeDefinitions": attributes(pk="S"),
        "BillingMode": "PAY_PER_REQUEST",
    }
    made: dict[str, Any] = client.create_table(TableName=name, **{**request, **more})["TableDescription"]
    return made


def create_index(client: Any, name: str, *schema: Any, table: str = "orders", **types: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.update_table(
        TableName=table,
        AttributeDefinitions=attributes(**types),
        GlobalSecondaryIndexUpdates=[{"Create": index(name, *schema)}],
    )["TableDescription"]
    return answer


def delete_index(client: Any, name: str, table: str = "orders") -> dict[str, Any]:
    update = [{"Delete": {"IndexName": name}}]
    answer: dict[str, Any] = client.update_table(TableName=table, GlobalSecondaryIndexUpdates=update)[
        "TableDescription"
    ]
    return answer


def describe(client: Any, table: str = "orders") -> dict[str, Any]:
    described: dict[str, Any] = client.describe_table(TableName=table)["Table"]
    return described


def states(description: dict[str, Any]) -> tuple[str, dict[str, tuple[str, bool | None]]]:
    """TableStatus, and by index its IndexStatus and Backfilling (None when absent)."""
    indexes = description.get("GlobalSecondaryIndexes", [])
    return description["TableStatus"], {i["IndexName"]: (i["IndexStatus"], i.get("Backfilling")) for i in indexes}


def refused(error: ClientError) -> tuple[str, str]:
    return error.response["Error"]["Code"], error.response["Error"]["Message"]
