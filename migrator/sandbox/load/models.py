"""NoSQL Workbench models: a table of the model as a CreateTable request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from migrator.sandbox.load.documents import bad

_INDEXES = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def create_request(path: Path, model: dict[str, Any], name: str, *, with_indexes: bool) -> dict[str, Any]:
    """On-demand, with the model's keys, and with its indexes if wanted."""
    types: dict[str, str] = {}
    request: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _schema(path, model, str(model["TableName"]), types),
    }
    for kind in _INDEXES if with_indexes else ():
        indexes = [_index(path, index, types) for index in model.get(kind) or []]
        if indexes:
            request[kind] = indexes
    request["AttributeDefinitions"] = [
        {"AttributeName": attribute, "AttributeType": kind} for attribute, kind in sorted(types.items())
    ]
    return request


def _index(path: Path, index: Any, types: dict[str, str]) -> dict[str, Any]:
    name = index.get("IndexName") if isinstance(index, dict) else None
    if not isinstance(name, str):
        raise bad(path, "bad-model", "an index has no IndexName")
    projection = index.get("Projection") or {"ProjectionType": "ALL"}
    return {"IndexName": name, "KeySchema": _schema(path, index, name, types), "Projection": projection}


def _schema(path: Path, owner: dict[str, Any], name: str, types: dict[str, str]) -> list[dict[str, str]]:
    """The key schema of a table or an index; adds the types of its attributes to `types`."""
    keys = owner.get("KeyAttributes")
    if not isinstance(keys, dict) or "PartitionKey" not in keys:
        raise bad(path, "bad-model", f"{name} has no PartitionKey in its KeyAttributes")
    schema = []
    for member, role in (("PartitionKey", "HASH"), ("SortKey", "RANGE")):
        given = keys.get(member) or []
        for attribute in given if isinstance(given, list) else [given]:
            named, kind = (
                (attribute.get("AttributeName"), attribute.get("AttributeType"))
                if isinstance(attribute, dict)
                else (None, None)
            )
            if not isinstance(named, str) or kind not in ("S", "N", "B"):
                raise bad(path, "bad-model", f"{name}: its {member} needs an AttributeName and a type S, N or B")
            if types.setdefault(named, kind) != kind:
                raise bad(path, "bad-model", f"{name}: {named} is {kind} here and {types[named]} elsewhere")
            schema.append({"AttributeName": named, "KeyType": role})
    return schema
