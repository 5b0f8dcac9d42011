"""What devices report, kept in DynamoDB: the same calls in the old form of the keys and in the new one.

`OldLog` is the code as it was, with one change: its client is a RewritingClient. `NewLog` is the code that replaces it.
Both run through every phase of the rewrite, side by side while one is deployed over the other.
"""

from __future__ import annotations

from typing import Any, Protocol

Report = dict[str, Any]
"""device, date, state, count."""


class Log(Protocol):
    def report(self, device: str, date: str, state: str) -> None: ...

    def change(self, device: str, date: str, before: str, state: str) -> None: ...

    def count(self, device: str, date: str, state: str) -> None: ...

    def withdraw(self, device: str, date: str, state: str) -> None: ...

    def read(self, device: str, date: str, state: str) -> Report | None: ...

    def in_state(self, device: str, state: str) -> list[Report]: ...


def _report(item: dict[str, Any]) -> Report:
    return {
        "device": item["DeviceID"]["S"],
        "date": item["Date"]["S"],
        "state": item["State"]["S"],
        "count": int(item.get("Count", {"N": "0"})["N"]),
    }


class OldLog:
    """Sort key `Date`: a change of state is an update."""

    def __init__(self, client: Any, table: str = "device-log"):
        self._client = client
        self._table = table

    def _key(self, device: str, date: str) -> dict[str, Any]:
        return {"DeviceID": {"S": device}, "Date": {"S": date}}

    def report(self, device: str, date: str, state: str) -> None:
        self._client.put_item(
            TableName=self._table,
            Item={**self._key(device, date), "State": {"S": state}},
            ConditionExpression="attribute_not_exists(DeviceID)",
        )

    def change(self, device: str, date: str, before: str, state: str) -> None:
        self._client.update_item(
            TableName=self._table,
            Key=self._key(device, date),
            UpdateExpression="SET #s = :s",
            ConditionExpression="#s = :b",
            ExpressionAttributeNames={"#s": "State"},
            ExpressionAttributeValues={":s": {"S": state}, ":b": {"S": before}},
        )

    def count(self, device: str, date: str, state: str) -> None:
        self._client.update_item(
            TableName=self._table,
            Key=self._key(device, date),
            UpdateExpression="ADD #c :one",
            ConditionExpression="#s = :s",
            ExpressionAttributeNames={"#c": "Count", "#s": "State"},
            ExpressionAttributeValues={":one": {"N": "1"}, ":s": {"S": state}},
        )

    def withdraw(self, device: str, date: str, state: str) -> None:
        self._client.delete_item(
            TableName=self._table,
            Key=self._key(device, date),
            ConditionExpression="#s = :s",
            ExpressionAttributeNames={"#s": "State"},
            ExpressionAttributeValues={":s": {"S": state}},
        )

    def read(self, device: str, date: str, state: str) -> Report | None:
        item = self._client.get_item(TableName=self._table, Key=self._key(device, date), ConsistentRead=True).get(
            "Item"
        )
        return None if item is None or item["State"]["S"] != state else _report(item)

    def in_state(self, device: str, state: str) -> list[Report]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="DeviceID = :d",
            FilterExpression="#s = :s",
            ExpressionAttributeNames={"#s": "State"},
            ExpressionAttributeValues={":d": {"S": device}, ":s": {"S": state}},
            ConsistentRead=True,
            # On the new side the same: it is the table that differs, and the runtime knows it.
            new={},
        )
        return [_report(item) for page in pages for item in page["Items"]]


class NewLog:
    """Sort key `State#Date`: a change of state is another key, so a deletion and a put in one transaction."""

    def __init__(self, client: Any, table: str = "device-log-by-state"):
        self._client = client
        self._table = table

    def _key(self, device: str, date: str, state: str) -> dict[str, Any]:
        return {"DeviceID": {"S": device}, "State#Date": {"S": f"{state}#{date}"}}

    def _item(self, device: str, date: str, state: str) -> dict[str, Any]:
        return {**self._key(device, date, state), "State": {"S": state}, "Date": {"S": date}}

    def report(self, device: str, date: str, state: str) -> None:
        self._client.put_item(
            TableName=self._table,
            Item=self._item(device, date, state),
            ConditionExpression="attribute_not_exists(DeviceID)",
        )

    def change(self, device: str, date: str, before: str, state: str) -> None:
        key = self._key(device, date, before)
        item = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item", {})
        names, values, asked = {}, {}, ["attribute_exists(DeviceID)"]
        if "Count" in item:
            names, values = {"#c": "Count"}, {":c": item["Count"]}
            asked.append("#c = :c")
        gone = {"TableName": self._table, "Key": key, "ConditionExpression": " AND ".join(asked)}
        if names:
            gone |= {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
        moved = {**item, **self._item(device, date, state)}
        put = {"TableName": self._table, "Item": moved, "ConditionExpression": "attribute_not_exists(DeviceID)"}
        self._client.transact_write_items(TransactItems=[{"Delete": gone}, {"Put": put}])

    def count(self, device: str, date: str, state: str) -> None:
        self._client.update_item(
            TableName=self._table,
            Key=self._key(device, date, state),
            UpdateExpression="ADD #c :one",
            ConditionExpression="attribute_exists(DeviceID)",
            ExpressionAttributeNames={"#c": "Count"},
            ExpressionAttributeValues={":one": {"N": "1"}},
        )

    def withdraw(self, device: str, date: str, state: str) -> None:
        self._client.delete_item(
            TableName=self._table,
            Key=self._key(device, date, state),
            ConditionExpression="attribute_exists(DeviceID)",
        )

    def read(self, device: str, date: str, state: str) -> Report | None:
        key = self._key(device, date, state)
        item = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")
        return None if item is None else _report(item)

    def in_state(self, device: str, state: str) -> list[Report]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="DeviceID = :d AND begins_with(#k, :s)",
            ExpressionAttributeNames={"#k": "State#Date"},
            ExpressionAttributeValues={":d": {"S": device}, ":s": {"S": f"{state}#"}},
            ConsistentRead=True,
            # While the old side is read there is no such key: the whole device is read, and what fits is kept.
            old={
                "KeyConditionExpression": "DeviceID = :d",
                "ExpressionAttributeNames": {},
                "ExpressionAttributeValues": {":d": {"S": device}},
            },
        )
        reports = [_report(item) for page in pages for item in page["Items"]]
        return [one for one in reports if one["state"] == state]
