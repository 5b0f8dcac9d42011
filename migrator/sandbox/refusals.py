"""The service's refusals of a schema: keys, attribute definitions, projections, counts (facts §1.5-1.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

MAX_INDEXES = 20
MAX_LOCAL_INDEXES = 5
MAX_KEY_ATTRIBUTES = 4
MAX_PROJECTED = 20
MAX_PROJECTED_IN_ALL = 100
INVALID = "One or more parameter values were invalid: "

Index = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of the service: its code, its text and its HTTP status."""

    code: str
    message: str
    status: int = 400


def invalid(message: str) -> Refusal:
    return Refusal("ValidationException", INVALID + message)


def in_use(message: str) -> Refusal:
    text = f"Attempt to change a resource which is still in use: {message}"
    return Refusal("ResourceInUseException", text)


def limit(message: str) -> Refusal:
    return Refusal("LimitExceededException", f"Subscriber limit exceeded: {message}")


def check_create(body: dict[str, Any]) -> Refusal | None:
    """What CreateTable refuses beyond what the engine does."""
    global_, local = body.get("GlobalSecondaryIndexes"), body.get("LocalSecondaryIndexes")
    for member, indexes in (("GlobalSecondaryIndexes", global_), ("LocalSecondaryIndexes", local)):
        if indexes is not None and not indexes:
            return invalid(f"List of {member} is empty")
    indexes = [*(global_ or []), *(local or [])]
    return (
        _table_keys(body.get("KeySchema") or [])
        or _counts(global_ or [], local or [])
        or first(check_keys(index) for index in global_ or [])
        or first(_local_keys(index, body.get("KeySchema") or []) for index in local or [])
        or first(check_projection(index) for index in indexes)
        or check_projected_in_all(indexes)
        or _definitions(body, indexes)
        or _throughputs(body, global_ or [])
    )


def first(found: Iterable[Refusal | None]) -> Refusal | None:
    return next((refused for refused in found if refused is not None), None)


def key_names(index: Index) -> list[str]:
    return [element["AttributeName"] for element in index.get("KeySchema", [])]


def check_keys(index: Index) -> Refusal | None:
    """The key schema of a global index: one to four HASH, then none to four RANGE, no name twice."""
    kinds = [element.get("KeyType") for element in index.get("KeySchema", [])]
    if not kinds or kinds[0] != "HASH":
        return Refusal("ValidationException", "Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    for kind in ("HASH", "RANGE"):
        if kinds.count(kind) > MAX_KEY_ATTRIBUTES:
            return invalid(f"The KeySchema exceeds the maximum allowed number of {kind} key attributes")
    if kinds != sorted(kinds):
        return invalid("All HASH key attributes must precede RANGE key attributes in the KeySchema")
    if len(set(key_names(index))) < len(kinds):
        return Refusal("ValidationException", "The KeySchema contains multiple key attributes with the same name")
    return None


def check_projection(index: Index) -> Refusal | None:
    projection = index.get("Projection") or {}
    kind = projection.get("ProjectionType")
    names: list[str] = projection.get("NonKeyAttributes") or []
    if kind not in ("ALL", "KEYS_ONLY", "INCLUDE"):
        return invalid(f"Unknown ProjectionType: {kind or 'null'}")
    if kind == "INCLUDE" and not names:
        return invalid("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if kind != "INCLUDE" and "NonKeyAttributes" in projection:
        return invalid(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    if len(names) > MAX_PROJECTED:
        return Refusal(
            "ValidationException",
            f"1 validation error detected: Value '[{', '.join(names)}]' at "
            "'projection.nonKeyAttributes' failed to "
            f"satisfy constraint: Member must have length less than or equal to {MAX_PROJECTED}",
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    return invalid(f"Duplicate element in NonKeyAttributes: {twice}") if twice is not None else None


def check_projected_in_all(indexes: Iterable[Index]) -> Refusal | None:
    """At most 100 projected names over all indexes; a name in two of them counts twice (facts §1.7)."""
    total = sum(len(index.get("Projection", {}).get("NonKeyAttributes") or []) for index in indexes)
    if total <= MAX_PROJECTED_IN_ALL:
        return None
    return invalid(f"Number of attributes projected into all indexes exceeds the limit of {MAX_PROJECTED_IN_ALL}")


def undefined(names: Sequence[str], definitions: Sequence[dict[str, str]]) -> Refusal | None:
    """Every key attribute must be defined in the same request."""
    defined = [definition["AttributeName"] for definition in definitions]
    if set(names) <= set(defined):
        return None
    listed = ", ".join(names), ", ".join(defined)
    return invalid(
        "Some index key attributes are not defined in AttributeDefinitions. "
        f"Keys: [{listed[0]}], AttributeDefinitions: [{listed[1]}]"
    )


def _table_keys(schema: list[dict[str, str]]) -> Refusal | None:
    kinds = [element.get("KeyType") for element in schema]
    if len(kinds) > 2 or not kinds:
        return None  # The engine refuses these, in the service's words.
    if kinds[0] != "HASH":
        return Refusal("ValidationException", "Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if kinds[1:] not in ([], ["RANGE"]):
        return Refusal("ValidationException", "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    if len({element["AttributeName"] for element in schema}) < len(schema):
        text = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
        return Refusal("ValidationException", text)
    return None


def _local_keys(index: Index, table: list[dict[str, str]]) -> Refusal | None:
    schema, name = index.get("KeySchema", []), index.get("IndexName")
    if len(table) < 2:
        return invalid(
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
        )
    if [element.get("KeyType") for element in schema] != ["HASH", "RANGE"]:
        return invalid(f"Index KeySchema does not have a range key for index: {name}")
    hashes = schema[0]["AttributeName"], table[0]["AttributeName"]
    if hashes[0] != hashes[1]:
        return invalid(
            f"Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. "
            f"index hash key: {hashes[0]}, table hash key: {hashes[1]}"
        )
    return None


def _counts(global_: list[Index], local: list[Index]) -> Refusal | None:
    if len(global_) > MAX_INDEXES:
        return invalid(f"GlobalSecondaryIndex count exceeds the per-table limit of {MAX_INDEXES}")
    if len(local) > MAX_LOCAL_INDEXES:
        return invalid(f"Number of LocalSecondaryIndexes exceeds per-table limit of {MAX_LOCAL_INDEXES}")
    names = [index.get("IndexName") for index in chain(global_, local)]
    twice = next((name for name in names if names.count(name) > 1), None)
    return invalid(f"Duplicate index name: {twice}") if twice is not None else None


def _definitions(body: dict[str, Any], indexes: list[Index]) -> Refusal | None:
    definitions = body.get("AttributeDefinitions") or []
    keys = list(dict.fromkeys(chain(key_names(body), *(key_names(index) for index in indexes))))
    if refused := undefined(keys, definitions):
        return refused
    defined = [definition["AttributeName"] for definition in definitions]
    vectors = body.get("VectorIndexes")
    if set(defined) <= set(keys) or vectors:
        return None
    if not indexes:
        return invalid(
            "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions"
        )
    return invalid(
        f"Some AttributeDefinitions are not used. AttributeDefinitions: [{', '.join(defined)}], "
        f"keys used: [{', '.join(keys)}]"
    )


def _throughputs(body: dict[str, Any], indexes: list[Index]) -> Refusal | None:
    on_demand = body.get("BillingMode") == "PAY_PER_REQUEST"
    for index in indexes:
        if on_demand and "ProvisionedThroughput" in index:
            return invalid(
                f"ProvisionedThroughput should not be specified for index: {index['IndexName']} when "
                "BillingMode "
                "is PAY_PER_REQUEST"
            )
        if not on_demand and "ProvisionedThroughput" not in index:
            return invalid(f"ProvisionedThroughput is not specified for index: {index['IndexName']}")
    return None
