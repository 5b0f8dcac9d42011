"""DescribeTable lags behind: its counts by hours, its description by seconds."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.sandbox import ManualClock, Sandbox
from tests.sandbox.faults.conftest import put
from tests.sandbox.shapes import create_table, describe


def test_the_item_count_of_table_and_index_is_old(sandbox: Sandbox, client: Any) -> None:
    for key in "abcd":
        put(client, key, status="new")
    true = describe(client)
    with sandbox.fault("stale-item-count", items=2):
        shown = describe(client)
    assert (true["ItemCount"], shown["ItemCount"]) == (4, 2)
    assert shown["TableSizeBytes"] == true["TableSizeBytes"] // 2
    assert shown["GlobalSecondaryIndexes"][0]["ItemCount"] == 2
    with sandbox.fault("stale-item-count"):
        assert describe(client)["ItemCount"] == 0


def test_a_change_is_not_seen_at_once(still: Sandbox, clock: ManualClock, stopped: Any) -> None:
    still.faults.add("stale-describe", behind="5s")
    delete = [{"Delete": {"IndexName": "by-status"}}]
    stopped.update_table(TableName="orders", GlobalSecondaryIndexUpdates=delete)
    clock.advance(4.9)
    assert describe(stopped)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    clock.advance(0.1)
    assert "GlobalSecondaryIndexes" not in describe(stopped)


def test_a_table_just_made_is_not_found_yet_and_one_just_deleted_still_is(still: Sandbox, clock: ManualClock) -> None:
    client = still.client()
    still.faults.add("stale-describe", behind="5s")
    create_table(client)
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        describe(client)
    clock.advance(5)
    assert describe(client)["TableStatus"] == "ACTIVE"
    client.delete_table(TableName="orders")
    assert describe(client)["TableStatus"] == "ACTIVE"
    clock.advance(5)
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        describe(client)
