"""A help desk, in two releases: one that names tickets as the old keys do, and one that names them as the new ones.

Each works with boto3's client as with `migrator.runtime.RewritingClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ClientError

Item = dict[str, Any]
STATUSES = ("open", "waiting", "closed")
MOST_LOOKS = 20


class Gone(Exception):
    """There is no such ticket (any more)."""


def content(item: Item) -> Item:
    """A ticket without its key, whichever that is."""
    return {name: one for name, one in item.items() if name not in ("PK", "SK")}


class HelpDesk:
    """The first release. A ticket's key is its team and its number."""

    form = "old"

    def __init__(self, client: Any, table: str):
        self._client = client
        self._table = table

    # --- writes

    def open(self, team: str, number: int, title: str) -> Item:
        """A new ticket, and its team's count, together."""
        item = self._item(team, number, {"status": {"S": "open"}, "title": {"S": title}, "watchers": {"N": "0"}})
        put = {"TableName": self._table, "Item": item, "ConditionExpression": "attribute_not_exists(PK)"}
        self._client.transact_write_items(TransactItems=[{"Put": put}, {"Update": self._count(team, 1)}])
        return content(item)

    def delete(self, team: str, number: int) -> None:
        gone = {**self._there(self._key(team, number, None)), "ConditionExpression": "attribute_exists(PK)"}
        self._client.transact_write_items(TransactItems=[{"Delete": gone}, {"Update": self._count(team, -1)}])

    def replace(self, team: str, number: int, ticket: Item) -> None:
        self._client.put_item(TableName=self._table, Item=self._item(team, number, ticket))

    def retitle(self, team: str, number: int, title: str) -> Item:
        return self._update(self._key(team, number, None), "title", title)

    def set_status(self, team: str, number: int, status: str) -> Item:
        """The status is part of the new key: this update moves the ticket's twin."""
        return self._update(self._key(team, number, None), "status", status)

    def watch(self, team: str, number: int) -> None:
        """One more watcher, counted once whatever becomes of the answer."""
        self._add_watcher(self._key(team, number, None))

    # --- reads

    def ticket(self, team: str, number: int) -> Item | None:
        item = self._get(self._key(team, number, None))
        return None if item is None else content(item)

    def tickets(self, team: str) -> Iterator[tuple[int, Item]]:
        """All tickets of a team, with their numbers. How to ask for them on each side, only the service knows."""
        values = {":p": {"S": f"TEAM#{team}"}}
        sides = {
            "old": {"ExpressionAttributeValues": {**values, ":s": {"S": "TICKET#"}}},
            "new": {"ExpressionAttributeValues": {**values, ":s": {"S": "STATUS#"}}},
        }
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="PK = :p AND begins_with(SK, :s)",
            ConsistentRead=True,
            Limit=40,
            **sides,
        )
        for page in pages:
            for item in page["Items"]:
                yield int(item["SK"]["S"].rpartition("#")[2]), content(item)

    # --- how

    def _key(self, team: str, number: int, ticket: Item | None) -> Item:  # noqa: ARG002 - in the second release
        return {"PK": {"S": f"TEAM#{team}"}, "SK": {"S": f"TICKET#{number:06d}"}}

    def _item(self, team: str, number: int, ticket: Item) -> Item:
        return {**self._key(team, number, ticket), **ticket}

    def _there(self, key: Item) -> Item:
        return {"TableName": self._table, "Key": key}

    def _get(self, key: Item) -> Item | None:
        found: Item | None = self._client.get_item(**self._there(key), ConsistentRead=True).get("Item")
        return found

    def _update(self, key: Item, name: str, value: str) -> Item:
        answer = self._client.update_item(
            **self._there(key),
            UpdateExpression="SET #n = :v",
            ConditionExpression="attribute_exists(PK)",
            ExpressionAttributeNames={"#n": name},
            ExpressionAttributeValues={":v": {"S": value}},
            ReturnValues="ALL_NEW",
        )
        return content(answer["Attributes"])

    def _add_watcher(self, key: Item) -> None:
        update = {
            **self._there(key),
            "UpdateExpression": "ADD watchers :one",
            "ConditionExpression": "attribute_exists(PK)",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        self._client.transact_write_items(TransactItems=[{"Update": update}])

    def _count(self, team: str, by: int) -> Item:
        """The team itself, which no rewrite concerns, counts its tickets."""
        return {
            **self._there({"PK": {"S": f"TEAM#{team}"}, "SK": {"S": "TEAM"}}),
            "UpdateExpression": "ADD tickets :n",
            "ExpressionAttributeValues": {":n": {"N": str(by)}},
        }


class HelpDeskByStatus(HelpDesk):
    """The second release. A ticket's key is its team, its status and its number: a new status is a new key."""

    form = "new"

    def delete(self, team: str, number: int) -> None:
        def act(key: Item, _: Item) -> None:
            gone = {**self._there(key), "ConditionExpression": "attribute_exists(PK)"}
            self._client.transact_write_items(TransactItems=[{"Delete": gone}, {"Update": self._count(team, -1)}])

        self._found(team, number, act)

    def replace(self, team: str, number: int, ticket: Item) -> None:
        self._found(team, number, lambda key, item: self._become(key, item, self._item(team, number, ticket)))

    def retitle(self, team: str, number: int, title: str) -> Item:
        found: Item = self._found(team, number, lambda key, _: self._update(key, "title", title))
        return found

    def set_status(self, team: str, number: int, status: str) -> Item:
        def act(key: Item, item: Item) -> Item:
            after = self._item(team, number, {**content(item), "status": {"S": status}})
            self._become(key, item, after)
            return content(after)

        found: Item = self._found(team, number, act)
        return found

    def watch(self, team: str, number: int) -> None:
        self._found(team, number, lambda key, _: self._add_watcher(key))

    def ticket(self, team: str, number: int) -> Item | None:
        try:
            found: Item = self._found(team, number, lambda _, item: content(item))
        except Gone:
            return None
        return found

    # --- how

    def _key(self, team: str, number: int, ticket: Item | None) -> Item:
        assert ticket is not None
        return {"PK": {"S": f"TEAM#{team}"}, "SK": {"S": f"STATUS#{ticket['status']['S']}#{number:06d}"}}

    def _found(self, team: str, number: int, act: Callable[[Item, Item], Any]) -> Any:
        """Do this with a ticket where it stands; again, where it went elsewhere or changed meanwhile."""
        for _ in range(MOST_LOOKS):
            for status in STATUSES:
                key = self._key(team, number, {"status": {"S": status}})
                item = self._get(key)
                if item is None:
                    continue
                try:
                    return act(key, item)
                except ClientError as exc:
                    if not _is_overtaken(exc):
                        raise
        raise Gone(f"{team} {number}")

    def _become(self, key: Item, before: Item, after: Item) -> None:
        """The item as it was read becomes another one, at its own key or at another."""
        guard = {
            "ConditionExpression": "watchers = :w",
            "ExpressionAttributeValues": {":w": before["watchers"]},
        }
        to = {name: after[name] for name in key}
        if to == key:
            self._client.put_item(TableName=self._table, Item=after, **guard)
            return
        put = {"TableName": self._table, "Item": after, "ConditionExpression": "attribute_not_exists(PK)"}
        self._client.transact_write_items(TransactItems=[{"Delete": {**self._there(key), **guard}}, {"Put": put}])


def _is_overtaken(exc: ClientError) -> bool:
    """Whether a condition did not hold (any more)."""
    reasons = exc.response.get("CancellationReasons", [exc.response["Error"]])
    return any(reason["Code"] in ("ConditionalCheckFailed", "ConditionalCheckFailedException") for reason in reasons)
