"""Which items an index takes, and what the service says of a write that would break one (facts §3)."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from migrator.sandbox.refusals import INVALID

LIMITS = {"HASH": 2048, "RANGE": 1024}
"""Bytes of an index key attribute, by its role."""

_UPDATE = "The update expression attempted to update the secondary index key"
_NOT_VALID = "One or more parameter values are not valid. "
_EMPTY = "The AttributeValue for a key attribute cannot contain an empty {} value."


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an attribute's value keeps its item out of an index."""

    kind: Literal["type", "empty", "size"]
    index: str
    attribute: str
    role: str
    expected: str
    actual: str

    def of_put(self) -> str:
        """The refusal of a write that gives the whole item."""
        match self.kind:
            case "type":
                return (
                    f"{INVALID}Type mismatch for Index Key {self.attribute} Expected: {self.expected} "
                    f"Actual: {self.actual} IndexName: {self.index}"
                )
            case "empty":
                value = _EMPTY.format("string" if self.actual == "S" else "binary")
                return (
                    f"{_NOT_VALID}A value specified for a secondary index key is not supported. {value} "
                    f"IndexName: {self.index}, IndexKey: {self.attribute}"
                )
            case "size" if self.role == "HASH":
                return f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes"
            case "size":
                return f"{INVALID}Aggregated size of all range keys has exceeded the size limit of 1024 bytes"

    def of_update(self) -> str:
        """The refusal of a write that changes attributes."""
        match self.kind:
            case "type":
                return f"{_UPDATE} to unsupported type"
            case "empty":
                value = _EMPTY.format("string" if self.actual == "S" else "binary")
                return (
                    f"{_NOT_VALID}The update expression attempted to update a secondary index key to a value "
                    f"that is not supported. {value}"
                )
            case "size":
                return f"{_UPDATE} beyond allowed size limits"


def indexes_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The global and local indexes of an engine's table, by name."""
    found = [*(table.get("GlobalSecondaryIndexes") or []), *(table.get("LocalSecondaryIndexes") or [])]
    return sorted(found, key=lambda index: str(index["IndexName"]))


def faults(table: dict[str, Any], index: dict[str, Any], item: dict[str, Any]) -> Iterator[Fault]:
    """The faults of `item` for one index; an absent attribute is none: the item is only not in the index."""
    types = {a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]}
    for element in index["KeySchema"]:
        name, role = element["AttributeName"], element["KeyType"]
        if name not in item:
            continue
        (actual, value), *_ = item[name].items()
        expected = types[name]
        about = (index["IndexName"], name, role, expected, actual)
        if actual != expected:
            yield Fault("type", *about)
        elif actual != "N" and not value:
            yield Fault("empty", *about)
        elif actual != "N" and len(value.encode() if actual == "S" else base64.b64decode(value)) > LIMITS[role]:
            yield Fault("size", *about)


def first_fault(table: dict[str, Any], item: dict[str, Any]) -> Fault | None:
    """The first fault over all indexes, in the order of their names."""
    return next((fault for index in indexes_of(table) for fault in faults(table, index, item)), None)
