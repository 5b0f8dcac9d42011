"""Pulumi and SST: what `pulumi stack export` and `sst state export` say of a stack."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from migrator.core.declared import DeclaredTable, Source
from migrator.sources.description import declared
from migrator.sources.terraform import table as terraform_table
from migrator.sources.unknown import Unknown, is_mapping, listed

_TABLE = "aws:dynamodb/table:Table"
_NATIVE = ("aws-native:dynamodb:Table", "aws-native:dynamodb:GlobalTable")
_UNKNOWN_VALUE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Pulumi's mark for a value that is not known yet."""
_SECRET = "4dabf18193072939515e22adb298388d"  # noqa: S105 - the mark, not a secret
_SEVERAL = {
    "attributes": "attribute",
    "globalSecondaryIndexes": "global_secondary_index",
    "localSecondaryIndexes": "local_secondary_index",
    "replicas": "replica",
    "keySchemas": "key_schema",
}
"""Pulumi puts Terraform's repeated blocks in the plural, and writes those that stand once as one mapping."""
_ONCE = frozenset({"ttl", "point_in_time_recovery", "on_demand_throughput"})


def read(document: Mapping[str, Any]) -> Source:
    """The tables of a stack: what its program asked for, and names as they came out."""
    deployment = document.get("deployment")
    deployment = deployment if is_mapping(deployment) else document.get("latest")
    tables: list[DeclaredTable] = []
    unknown: list[str] = []
    for resource in listed(deployment.get("resources") if is_mapping(deployment) else None):
        if not is_mapping(resource) or resource.get("delete"):
            continue
        kind = resource.get("type")
        if kind != _TABLE and kind not in _NATIVE:
            continue
        label = str(resource.get("urn", "?")).rpartition("::")[2]
        inputs, outputs = (_plain(resource.get(part) or {}) for part in ("inputs", "outputs"))
        if not is_mapping(inputs) or not is_mapping(outputs):
            unknown.append(f"{label}: its inputs are a secret")
            continue
        found = _terraform(label, inputs, outputs) if kind == _TABLE else _native(label, inputs, outputs)
        if isinstance(found, Unknown):
            unknown.append(found.why)
        else:
            tables.append(found)
    return Source("Pulumi stack", tuple(tables), tuple(unknown))


def _terraform(label: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> DeclaredTable | Unknown:
    named = {"name": outputs.get("name", inputs.get("name"))}
    # Units of a provisioned table that the program leaves out are the provider's.
    return terraform_table(label, _snaked({**inputs, **named}))


def _native(label: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> DeclaredTable | Unknown:
    """The native provider has CloudFormation's properties, with small first letters."""
    name = outputs.get("tableName", inputs.get("tableName"))
    return declared(label, {**_capitalised(inputs), "TableName": name})


def _plain(value: Any) -> Any:
    """With an Unknown for secrets and values to come."""
    if is_mapping(value):
        if _SECRET in value:
            return Unknown("it is kept as a secret of the stack")
        return {str(key): _plain(one) for key, one in value.items() if not str(key).startswith("__")}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return Unknown("the stack does not know it yet") if value == _UNKNOWN_VALUE else value


def _snaked(value: Any) -> Any:
    if is_mapping(value):
        found = {}
        for key, one in value.items():
            name = _SEVERAL.get(key) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
            inner = _snaked(one)
            found[name] = [inner] if name in _ONCE and is_mapping(inner) else inner
        return found
    return [_snaked(one) for one in value] if isinstance(value, list) else value


def _capitalised(value: Any) -> Any:
    if is_mapping(value):
        return {key[:1].upper() + key[1:]: _capitalised(one) for key, one in value.items()}
    return [_capitalised(one) for one in value] if isinstance(value, list) else value
