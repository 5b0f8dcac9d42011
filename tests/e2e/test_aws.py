"""The core path on AWS itself. Opt in with `pytest -m aws --table-prefix PREFIX tests/e2e/test_aws.py`.

It uses the credentials and the Region of the environment (MIGRATOR_TEST_AWS=1 lets the suite read them; AWS_REGION or
the profile names the Region), and makes one on-demand table, PREFIX-orders, of 200 items under 200 bytes. Needed
permissions: dynamodb:CreateTable, DeleteTable, DescribeTable, UpdateTable, DescribeTimeToLive,
DescribeContinuousBackups, PutItem, BatchWriteItem, UpdateItem, DeleteItem, GetItem, Query, Scan, ConditionCheckItem;
cloudwatch:GetMetricStatistics; sts:GetCallerIdentity.

Cost, at the on-demand prices of us-east-1 (0.625 USD a million write units, 0.125 USD a million read units): 200 puts,
200 backfilled items written to the table and to its index, the way back, and some hundred control records are about
2,000 write units and 2,000 read units, well under one cent; storage of an hour rounds to nothing. It takes about ten
to twenty minutes, nearly all of it waiting for index builds.

The tool never deletes a table. The test deletes the one that it made, at its end and after a failure. Should the
process be killed before that: `aws dynamodb delete-table --table-name PREFIX-orders`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.e2e.project import ROOT, tasks

pytestmark = [pytest.mark.aws, pytest.mark.timeout(3600)]
COUNT = 200


class Account:
    """A project folder on the environment's own AWS account, and the table that it may use."""

    def __init__(self, folder: Path, client: Any, table: str):
        self.folder = folder
        self.client = client
        self.table = table

    def run(self, *words: str, code: int = 0) -> dict[str, Any]:
        """The command's document."""
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "migrator", *words, "-o", "json"],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def migration(self, revision: str, operations: str, down: str | None) -> None:
        (self.folder / "migrations" / f"{revision}.py").write_text(
            f'"""Revision {revision}."""\n\nfrom migrator import *\n\nrevision = "{revision}"\n'
            f"down_revision = {json.dumps(down) if down else None}\noperations = [{operations}]\n"
        )

    def count(self, attribute: str, index: str | None = None) -> int:
        """How many items hold the attribute."""
        options: dict[str, Any] = {"IndexName": index} if index else {"ConsistentRead": True}
        pages = self.client.get_paginator("scan").paginate(TableName=self.table, **options)
        return sum(1 for page in pages for item in page["Items"] if attribute in item)


@pytest.fixture
def account(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Account]:
    if not os.environ.get("MIGRATOR_TEST_AWS"):
        pytest.skip("set MIGRATOR_TEST_AWS=1 so that the suite reads this environment's AWS credentials")
    client = boto3.client("dynamodb")
    table = f"{request.config.getoption('--table-prefix')}-orders"
    with contextlib.suppress(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName=table)
        pytest.fail(f"table {table} exists: choose another --table-prefix, or delete it if an earlier run left it")
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrator.toml").write_text(
        f'default_env = "aws"\ndefault_table = "app"\ntables.app.name = "{table}"\n'
        f'[env.aws]\nregion = "{client.meta.region_name}"\n'
    )
    try:
        yield Account(tmp_path, client, table)
    finally:
        with contextlib.suppress(client.exceptions.ResourceNotFoundException):
            client.get_waiter("table_exists").wait(TableName=table)
            client.delete_table(TableName=table)
            client.get_waiter("table_not_exists").wait(TableName=table)
        client.close()


def test_create_adopt_backfill_index_and_all_the_way_back(account: Account) -> None:
    account.migration("0001", 'CreateTable(partition_key="PK", sort_key="SK"),', None)
    assert account.run("plan")["state"] == "pending"
    assert account.run("upgrade")["state"] == "applied"
    items = list(tasks(COUNT))
    for start in range(0, COUNT, 25):
        puts = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
        assert not account.client.batch_write_item(RequestItems={account.table: puts})["UnprocessedItems"]

    # An index that another tool began: the run adopts its build and waits for it.
    account.client.update_table(
        TableName=account.table,
        AttributeDefinitions=[{"AttributeName": "owner", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "ByOwner",
                    "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            }
        ],
    )
    account.migration("0002", 'AddIndex("ByOwner", partition_key="owner", projection="KEYS_ONLY"),', "0001")
    account.run("upgrade", "--no-wait", code=5)
    account.run("upgrade")
    assert account.run("status")["revisions"][1]["objects"] == {"index:ByOwner": "adopted"}

    account.migration(
        "0003",
        'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'
        'AddIndex("ByTenant", partition_key="GSI1PK", sort_key="SK", projection=["name"]),',
        "0002",
    )
    assert account.run("upgrade")["outcomes"][0]["counts"]["written"] == COUNT
    assert account.count("GSI1PK") == COUNT
    assert account.count("GSI1PK", "ByTenant") == COUNT
    account.run("check")
    assert account.run("upgrade")["state"] == "up-to-date"

    account.run("downgrade", "0001")
    assert account.count("GSI1PK") == 0
    live = account.client.describe_table(TableName=account.table)["Table"]
    assert [index["IndexName"] for index in live["GlobalSecondaryIndexes"]] == ["ByOwner"], "adopted: left alone"
