"""The plan that all table settings share: change it, and put back what it was."""

from __future__ import annotations

from migrator.core import steps
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.core.settings import Setting


def setting_plan(schema: Schema, alias: str, setting: Setting, *notes: str, after: Schema | None = None) -> Plan:
    """`after` is the schema where the setting is part of a table's shape; else it stays as it is."""
    table = schema.table(alias).alias
    return Plan(
        after=schema if after is None else after,
        apply=(steps.ChangeSetting(table, setting),),
        rollback=(steps.Restore(table, f"setting:{setting.name}"),),
        notes=notes,
    )
