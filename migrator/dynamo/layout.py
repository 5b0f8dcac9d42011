"""How a control record lies in a table, and what its expectations are as conditions.

Everything of a record nests in one map attribute named by the prefix, so that none of it can be the key of an index:

    {PK: "__migrator__lock", SK: "lock", "__migrator__": {token: N, version: S, body: M, items: M}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_never

from migrator.core.expression import Substitutions
from migrator.core.item import AttributeValue, Item, Key
from migrator.core.ports import Address, CheckRecord, DeleteRecord, Expect, Json, PutRecord, Record, RecordAction
from migrator.errors import MigratorError


@dataclass(frozen=True, slots=True)
class Layout:
    """Where control records live: a table with a string partition key and a string sort key."""

    table: str
    partition_name: str
    sort_name: str
    prefix: str = "__migrator__"

    def key(self, address: Address) -> Key:
        return {
            self.partition_name: self.partition(address.partition),
            self.sort_name: {"S": address.sort},
        }

    def partition(self, partition: str) -> AttributeValue:
        return {"S": self.prefix + partition}

    def item(self, record: Record, version: str) -> Item:
        content: dict[str, AttributeValue] = {
            "token": {"N": str(record.token)},
            "version": {"S": version},
            "body": encode(dict(record.body), record.address.sort),
            "items": {"M": {name: {"M": item} for name, item in record.items.items()}},
        }
        return {**self.key(record.address), self.prefix: {"M": content}}

    def record(self, item: Item) -> Record:
        """Raises `foreign-record` for an item under the reserved prefix that is none of ours."""
        try:
            content = item[self.prefix]["M"]
            partition = item[self.partition_name]["S"].removeprefix(self.prefix)
            return Record(
                address=Address(partition, item[self.sort_name]["S"]),
                token=int(content["token"]["N"]),
                body=decode(content["body"]),
                items={name: wrapped["M"] for name, wrapped in content["items"]["M"].items()},
                version=content["version"]["S"],
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise MigratorError(
                "foreign-record",
                f"an item of {self.table} under the reserved prefix {self.prefix!r} is no control record: "
                f"{item.get(self.partition_name)} {item.get(self.sort_name)}",
                hint="nothing was changed; if it is an item of the application, set another key_prefix in [control]; "
                "if it was a control record, restore it from a backup: what it knew cannot be found anew",
            ) from exc

    def condition(self, expect: Expect, subs: Substitutions) -> str | None:
        """None where anything may stand there."""
        exists = f"attribute_exists({subs.name(self.partition_name)})"
        missing = f"attribute_not_exists({subs.name(self.partition_name)})"
        if expect.absent is True:
            return missing
        terms = []
        for name, sign, value in (
            ("token", "=", None if expect.token is None else {"N": str(expect.token)}),
            ("token", "<=", None if expect.most_token is None else {"N": str(expect.most_token)}),
            ("version", "=", None if expect.version is None else {"S": expect.version}),
        ):
            if value is not None:
                terms.append(f"{subs.name(self.prefix)}.{subs.name(name)} {sign} {subs.value(value)}")
        if expect.absent is False:
            return " AND ".join([exists, *terms])
        if not terms:
            return None
        return f"{missing} OR ({' AND '.join(terms)})"

    def request(self, action: RecordAction, version: str) -> dict[str, Any]:
        """The members that PutItem, DeleteItem and the actions of TransactWriteItems have in common.

        A condition is left out where none is needed; a CheckRecord that expects nothing gets one that always holds.
        """
        subs = Substitutions()
        condition = self.condition(action.expect, subs)
        request: dict[str, Any] = {"TableName": self.table}
        match action:
            case PutRecord(record):
                request["Item"] = self.item(record, version)
            case DeleteRecord(address) | CheckRecord(address):
                request["Key"] = self.key(address)
            case _:
                assert_never(action)
        if condition is None and isinstance(action, CheckRecord):
            condition = f"attribute_exists({subs.name(self.partition_name)}) OR " + (
                f"attribute_not_exists({subs.name(self.partition_name)})"
            )
        if condition is not None:
            request |= {"ConditionExpression": condition, "ExpressionAttributeNames": subs.names}
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if subs.values:
            request["ExpressionAttributeValues"] = subs.values
        return request

    def transact(self, action: RecordAction, version: str) -> dict[str, Any]:
        """One action of TransactWriteItems."""
        match action:
            case PutRecord():
                kind = "Put"
            case DeleteRecord():
                kind = "Delete"
            case CheckRecord():
                kind = "ConditionCheck"
            case _:
                assert_never(action)
        return {kind: self.request(action, version)}


def address_of(action: RecordAction) -> Address:
    return action.record.address if isinstance(action, PutRecord) else action.address


def describe_record(action: RecordAction) -> str:
    address = address_of(action)
    return f"control record {address.partition} {address.sort} is no longer as expected"


def encode(value: Json, where: str) -> AttributeValue:
    """The wire form of a plain value. Raises TypeError for what is not Json: it would not come back the same."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int():
            return {"N": str(value)}
        case list():
            return {"L": [encode(entry, f"{where}[{n}]") for n, entry in enumerate(value)]}
        case Mapping() if all(isinstance(name, str) for name in value):
            return {"M": {name: encode(entry, f"{where}.{name}") for name, entry in value.items()}}
    raise TypeError(f"{where}: a record's body holds no {type(value).__name__}")


def decode(value: AttributeValue) -> Json:
    ((kind, content),) = value.items()
    match kind:
        case "NULL":
            return None
        case "BOOL" | "S":
            return content
        case "N":
            return int(Decimal(content))
        case "L":
            return [decode(entry) for entry in content]
        case "M":
            return {name: decode(entry) for name, entry in content.items()}
    raise ValueError(f"{kind} in the body of a control record")
