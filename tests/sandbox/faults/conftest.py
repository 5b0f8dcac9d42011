"""A table `orders` (pk) with an index `by-status`, on the folder's sandbox and on one whose clock stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.sandbox import Sandbox
from tests.sandbox.shapes import attributes, create_table, index

Answers = Callable[[], Any]


def make_table(client: Any, **more: Any) -> None:
    create_table(
        client,
        AttributeDefinitions=attributes(pk="S", status="S"),
        GlobalSecondaryIndexes=[index("by-status", "status")],
        **more,
    )


@pytest.fixture
def client(sandbox: Sandbox) -> Any:
    """With the table, which has no items yet."""
    client = sandbox.client()
    make_table(client)
    return client


@pytest.fixture
def stopped(still: Sandbox) -> Any:
    """A client of the sandbox whose clock stands still, with the table."""
    client = still.client()
    make_table(client)
    return client


def put(client: Any, key: str, **values: str) -> Any:
    return client.put_item(
        TableName="orders", Item={"pk": {"S": key}, **{name: {"S": value} for name, value in values.items()}}
    )


def stored(sandbox: Sandbox) -> list[str]:
    """The keys in the table, as a client sees them that no fault meets."""
    items = sandbox.client(unseen=True).scan(TableName="orders")["Items"]
    return sorted(item["pk"]["S"] for item in items)


def error_of(call: Answers) -> dict[str, Any]:
    """The parsed response of the error that `call` raises."""
    with pytest.raises(ClientError) as caught:
        call()
    return dict(caught.value.response)


def code_of(call: Answers) -> str:
    return str(error_of(call)["Error"]["Code"])


def struck(calls: list[Answers]) -> list[bool]:
    """Which of the calls raise."""
    results = []
    for call in calls:
        try:
            call()
        except ClientError:
            results.append(True)
        else:
            results.append(False)
    return results
