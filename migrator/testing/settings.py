"""How settings show in a table in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from migrator.core.ports import LiveTable
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive


def with_setting(live: LiveTable, setting: Setting) -> LiveTable:
    """The table once the setting is changed."""
    match setting:
        case Stream(view=view):
            return replace(live, stream=view)
        case DeletionProtection(enabled=enabled):
            return replace(live, deletion_protection=enabled)
        case BillingMode():
            indexes = dict(live.shape.indexes)
            if setting.mode == "PAY_PER_REQUEST":
                indexes = {name: replace(index, provisioned=None) for name, index in indexes.items()}
            for name, throughput in setting.indexes:
                indexes[name] = replace(indexes[name], provisioned=throughput)
            shape = replace(live.shape, billing_mode=setting.mode, provisioned=setting.table, indexes=indexes)
            lives = {name: replace(index, definition=indexes[name]) for name, index in live.indexes.items()}
            return replace(live, shape=shape, indexes=lives)
        case TimeToLive() | PointInTimeRecovery():
            return live
    assert_never(setting)


def never_set(kind: type[Setting], live: LiveTable) -> Setting:
    """The value of a setting that nobody changed."""
    if kind is BillingMode:
        throughputs = tuple(
            (name, index.provisioned)
            for name, index in sorted(live.shape.indexes.items())
            if index.provisioned is not None
        )
        return BillingMode(live.shape.billing_mode, live.shape.provisioned, throughputs)
    if kind is Stream:
        return Stream(None)
    if kind is TimeToLive:
        return TimeToLive(None)
    return PointInTimeRecovery(False) if kind is PointInTimeRecovery else DeletionProtection(False)
