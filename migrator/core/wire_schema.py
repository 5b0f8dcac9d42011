"""Indexes and settings as JSON, for the history: what an object was before a revision touched it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from migrator.core.schema import Index, KeyAttribute, Projection, Throughput
from migrator.core.settings import SETTINGS, BillingMode, Setting


def index_to_json(index: Index) -> dict[str, Any]:
    return {
        "name": index.name,
        "partition_key": [[attribute.name, attribute.type] for attribute in index.partition_key],
        "sort_key": [[attribute.name, attribute.type] for attribute in index.sort_key],
        "projection": [index.projection.type, sorted(index.projection.attributes)],
        "provisioned": _throughput(index.provisioned),
        "on_demand_maximum": _throughput(index.on_demand_maximum),
        "warm": _throughput(index.warm),
    }


def index_from_json(form: dict[str, Any]) -> Index:
    kind, attributes = form["projection"]
    return Index(
        form["name"],
        tuple(KeyAttribute(name, key_type) for name, key_type in form["partition_key"]),
        tuple(KeyAttribute(name, key_type) for name, key_type in form["sort_key"]),
        Projection(kind, frozenset(attributes)),
        _units(form["provisioned"]),
        _units(form["on_demand_maximum"]),
        _units(form["warm"]),
    )


def _throughput(units: Throughput | None) -> list[int] | None:
    return None if units is None else [units.read, units.write]


def _units(form: list[int] | None) -> Throughput | None:
    return None if form is None else Throughput(int(form[0]), int(form[1]))


def setting_to_json(setting: Setting) -> dict[str, Any]:
    form: dict[str, Any] = {"setting": setting.name}
    if isinstance(setting, BillingMode):
        return form | {
            "mode": setting.mode,
            "table": _throughput(setting.table),
            "indexes": [[name, _throughput(units)] for name, units in setting.indexes],
        }
    return form | {field.name: getattr(setting, field.name) for field in fields(setting)}


def setting_from_json(form: dict[str, Any]) -> Setting:
    # `name` is what it is called, and was once written as if it were one of its fields.
    known = {name: value for name, value in form.items() if name not in ("setting", "name")}
    (kind,) = (kind for kind in SETTINGS if kind.name == form["setting"])
    if kind is BillingMode:
        return BillingMode(
            known["mode"],
            _units(known["table"]),
            tuple((name, Throughput(int(units[0]), int(units[1]))) for name, units in known["indexes"]),
        )
    return kind(**known)
