"""What people write without a tool: loops over boto3, and one over our transport without an engine."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config

from migrator.core.change import Change, Update
from migrator.core.item import Key
from migrator.wire.items import FastItems
from tests.benchmarks.canned import TABLE

_GUARD = "attribute_exists(PK) AND tenantId = :t AND projectId = :p AND attribute_not_exists(GSI1PK)"
_STATEMENT = (
    f'UPDATE "{TABLE}" SET "GSI1PK"=? '
    'WHERE "PK"=? AND "SK"=? AND "tenantId"=? AND "projectId"=? AND "GSI1PK" IS MISSING'
)


def resource(url: str) -> int:
    """(a) The usual script: `Table.scan`, and a conditional `Table.update_item` for each item."""
    table = boto3.resource("dynamodb", "eu-west-1", endpoint_url=url).Table(TABLE)
    written, more = 0, {}
    while True:
        page = table.scan(ConsistentRead=True, **more)
        for item in page["Items"]:
            table.update_item(
                Key={"PK": item["PK"], "SK": item["SK"]},
                UpdateExpression="SET GSI1PK = :v",
                ConditionExpression=_GUARD,
                ExpressionAttributeValues={
                    ":v": f"TENANT#{item['tenantId']}#PROJECT#{item['projectId']}",
                    ":t": item["tenantId"],
                    ":p": item["projectId"],
                },
            )
            written += 1
        if "LastEvaluatedKey" not in page:
            return written
        more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def resource_reading(url: str) -> int:
    """The usual check: `Table.scan`, and a comparison."""
    table = boto3.resource("dynamodb", "eu-west-1", endpoint_url=url).Table(TABLE)
    right, more = 0, {}
    while True:
        page = table.scan(ConsistentRead=True, **more)
        for item in page["Items"]:
            right += item.get("GSI1PK") == f"TENANT#{item['tenantId']}#PROJECT#{item['projectId']}"
        if "LastEvaluatedKey" not in page:
            return right
        more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def batches(url: str) -> int:
    """(b) The boto3 client, with BatchExecuteStatement of 25 conditional updates."""
    client = boto3.client("dynamodb", "eu-west-1", endpoint_url=url, config=Config(parameter_validation=True))
    written, more = 0, {}
    while True:
        page: Any = client.scan(TableName=TABLE, ConsistentRead=True, **more)
        items = page["Items"]
        for begin in range(0, len(items), 25):
            statements: list[Any] = [
                {
                    "Statement": _STATEMENT,
                    "Parameters": [
                        {"S": f"TENANT#{item['tenantId']['S']}#PROJECT#{item['projectId']['S']}"},
                        item["PK"],
                        item["SK"],
                        item["tenantId"],
                        item["projectId"],
                    ],
                }
                for item in items[begin : begin + 25]
            ]
            answer = client.batch_execute_statement(Statements=statements, ReturnConsumedCapacity="INDEXES")
            written += sum("Error" not in one for one in answer["Responses"])
        if "LastEvaluatedKey" not in page:
            return written
        more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


class _Allowed:
    def check(self) -> None:
        return


def bare(items: FastItems) -> int:
    """(e) The fast transport in a loop of its own: no guards but existence, no checkpoints, no pace, no decisions."""
    written = 0
    start: Key | None = None
    while True:
        page = items.scan(TABLE, start=start)
        updates = [
            Update(
                {"PK": item["PK"], "SK": item["SK"]},
                Change(
                    {},
                    {"GSI1PK": {"S": f"TENANT#{item['tenantId']['S']}#PROJECT#{item['projectId']['S']}"}},
                ),
            )
            for item in page.items
        ]
        for begin in range(0, len(updates), items.most_writes):
            written += len(items.write(TABLE, updates[begin : begin + items.most_writes], _Allowed()).outcomes)
        start = page.next
        if start is None:
            return written
