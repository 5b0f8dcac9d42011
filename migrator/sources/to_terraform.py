"""Declared tables as Terraform resources, in its own language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from migrator.core.declared import DeclaredTable
from migrator.core.schema import Index, Throughput
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Stream, TimeToLive
from migrator.sources.to_cloudformation import attribute_types

HEADING = """\
# As the migrations leave {tables}. `migrator export` writes it; indexes are changed by migrations alone.
# To let Terraform never touch them: lifecycle {{ ignore_changes = [attribute, global_secondary_index] }}
"""


def to_terraform(tables: Mapping[str, DeclaredTable]) -> str:
    """Blocks of `aws_dynamodb_table`, one a table, named after its alias."""
    blocks = [
        f"\nresource {_quoted('aws_dynamodb_table')} {_quoted(resource_name(alias))} {{\n"
        + _body(arguments(table), 1)
        + "\n  lifecycle {\n    prevent_destroy = true\n  }\n}\n"
        for alias, table in sorted(tables.items())
    ]
    return HEADING.format(tables=", ".join(sorted(tables))) + "".join(blocks)


def resource_name(alias: str) -> str:
    """Letters, digits, `_` and `-`, not a digit first."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", alias)
    return plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"


def arguments(table: DeclaredTable) -> dict[str, Any]:
    """The provider's arguments as a plan has them: a list of mappings is a block that may be repeated."""
    shape = table.shape
    found: dict[str, Any] = {
        "name": table.name,
        "billing_mode": shape.billing_mode,
        **_units(shape.provisioned),
        "hash_key": shape.partition_key.name,
        "range_key": shape.sort_key.name if shape.sort_key is not None else None,
    }
    for setting in table.settings.values():
        match setting:
            case TimeToLive(attribute) if attribute:
                found["ttl"] = [{"attribute_name": attribute, "enabled": True}]
            case Stream(view) if view:
                found |= {"stream_enabled": True, "stream_view_type": view}
            case PointInTimeRecovery(enabled):
                found["point_in_time_recovery"] = [{"enabled": enabled}]
            case DeletionProtection(enabled):
                found["deletion_protection_enabled"] = enabled
            case _:
                pass  # off, as where nothing is said
    found["attribute"] = [{"name": name, "type": kind} for name, kind in attribute_types(table).items()]
    found["global_secondary_index"] = [_index(index) for _, index in sorted(shape.indexes.items())]
    found["replica"] = [{"region_name": region} for region in table.replicas]
    return {name: value for name, value in found.items() if value is not None}


def _index(index: Index) -> dict[str, Any]:
    found: dict[str, Any] = {"name": index.name}
    if len(index.partition_key) == 1 and len(index.sort_key) <= 1:
        found["hash_key"] = index.partition_key[0].name
        if index.sort_key:
            found["range_key"] = index.sort_key[0].name
    found["projection_type"] = index.projection.type
    if index.projection.type == "INCLUDE":
        found["non_key_attributes"] = sorted(index.projection.attributes)
    found |= _units(index.provisioned)
    if index.on_demand_maximum is not None:
        found["on_demand_throughput"] = [
            {
                "max_read_request_units": index.on_demand_maximum.read,
                "max_write_request_units": index.on_demand_maximum.write,
            }
        ]
    if "hash_key" not in found:
        roles = [(key, "HASH") for key in index.partition_key] + [(key, "RANGE") for key in index.sort_key]
        found["key_schema"] = [{"attribute_name": key.name, "key_type": role} for key, role in roles]
    return found


def _units(units: Throughput | None) -> dict[str, Any]:
    return {} if units is None else {"read_capacity": units.read, "write_capacity": units.write}


# --- the language -----------------------------------------------------------------------------------------------------


def _body(values: Mapping[str, Any], depth: int) -> str:
    """Arguments first, their signs one below the other as `terraform fmt` leaves them, then blocks."""
    pad = "  " * depth
    plain = {name: value for name, value in values.items() if not _is_blocks(value)}
    width = max(map(len, plain), default=0)
    lines = [f"{pad}{name:<{width}} = {_literal(value)}\n" for name, value in plain.items()]
    for name, value in values.items():
        if _is_blocks(value):
            lines += [f"\n{pad}{name} {{\n{_body(one, depth + 1)}{pad}}}\n" for one in value]
    return "".join(lines)


def _is_blocks(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _literal(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case list():
            return "[" + ", ".join(map(_literal, value)) + "]"
        case _:
            return _quoted(str(value))


def _quoted(text: str) -> str:
    """Without interpolation, whatever stands in it."""
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    escaped = escaped.replace("${", "$${").replace("%{", "%%{")
    return f'"{escaped}"'
