"""NoSQL Workbench models: tables with keys and indexes. Of capacity and settings a model says nothing that is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from migrator.core.declared import DeclaredTable, Source
from migrator.sources.description import declared
from migrator.sources.unknown import Unknown, is_mapping, listed


def read(document: Mapping[str, Any]) -> Source:
    """The tables of a model."""
    tables: list[DeclaredTable] = []
    unknown: list[str] = []
    for model in listed(document.get("DataModel")):
        if not is_mapping(model):
            continue
        name = str(model.get("TableName", "?"))
        types: dict[str, Any] = {}
        indexes = [
            {
                "IndexName": one.get("IndexName"),
                "KeySchema": _keys(one.get("KeyAttributes"), types),
                "Projection": one.get("Projection") or {"ProjectionType": "ALL"},
            }
            for one in listed(model.get("GlobalSecondaryIndexes"))
            if is_mapping(one)
        ]
        properties = {
            "TableName": model.get("TableName"),
            "KeySchema": _keys(model.get("KeyAttributes"), types),
            "GlobalSecondaryIndexes": indexes,
            "LocalSecondaryIndexes": model.get("LocalSecondaryIndexes"),
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": attribute, "AttributeType": kind} for attribute, kind in types.items()
            ],
        }
        found = declared(name, properties)
        if isinstance(found, Unknown):
            unknown.append(found.why)
        else:
            # Its capacity is what the workbench needs to commit the model, and no wish.
            tables.append(replace(found, has_vague_billing=True))
    return Source("NoSQL Workbench model", tuple(tables), tuple(unknown))


def _keys(given: Any, types: dict[str, Any]) -> Any:
    """A key schema; adds its attributes' types to `types`."""
    if not is_mapping(given):
        return Unknown("it has no KeyAttributes")
    schema = []
    for member, role in (("PartitionKey", "HASH"), ("SortKey", "RANGE")):
        value = given.get(member) or []
        for attribute in value if isinstance(value, list) else [value]:
            if is_mapping(attribute) and isinstance(attribute.get("AttributeName"), str):
                types.setdefault(attribute["AttributeName"], attribute.get("AttributeType"))
                schema.append({"AttributeName": attribute["AttributeName"], "KeyType": role})
    return schema
