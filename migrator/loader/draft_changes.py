"""The source of a stage of an evolution, as a migration file holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from migrator.core.evolution import AddOne, Change, DropOne, MakeTable, Rewrite, Set, SetUnits, Stage
from migrator.core.schema import Index
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.loader.draft import create_table, index_arguments, units_source
from migrator.loader.literals import exploded, listing, quoted

_USED = len("    ,")
"""What stands around an operation in its list."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """`operations` for `write_revision`, and the remark above them, as lines of a comment."""

    operations: str
    remark: tuple[str, ...] = ()


def draft_stage(stage: Stage, default_table: str) -> Drafted:
    """`default_table` is the alias that an operation need not name."""
    sources: list[str] = []
    remarks: list[str] = []
    for change in stage.changes:
        source, remark = _drafted(change, default_table)
        if source:
            sources.append(source)
        remarks += remark
    return Drafted(",\n".join(sources), tuple(remarks))


def _drafted(change: Change, default: str) -> tuple[str, list[str]]:
    match change:
        case MakeTable(alias, table):
            settings = tuple(table.settings.values())
            return create_table(alias, table.shape, settings), []
        case AddOne():
            return _call("AddIndex", index_arguments(change.index), change.alias, default), _before_adding(change)
        case DropOne(alias, index, replaced_by):
            return _call("DropIndex", [quoted(index)], alias, default), _before_dropping(index, replaced_by)
        case Set(alias, setting):
            return _setting(setting, alias, default), []
        case SetUnits(alias, index):
            return _call("UpdateIndex", _units(index), alias, default), []
        case Rewrite():
            return "", _skeleton(change, default)
        case _:
            assert_never(change)


def _call(name: str, arguments: list[str], alias: str, default: str) -> str:
    named = [] if alias == default else [f"table={quoted(alias)}"]
    return listing(f"{name}(", [*arguments, *named], ")", used=_USED)


def _before_adding(change: AddOne) -> list[str]:
    if not change.unseen:
        return []
    named = ", ".join(f"{key.name} ({key.type})" for key in change.unseen)
    return [
        f"Nothing here says that items have {named}: those that lack one are not in the index.",
        "If it is to be computed, put a revision with a Backfill before this one.",
    ]


def _before_dropping(index: str, replaced_by: str) -> list[str]:
    if replaced_by:
        return [f"Release this once every running version of the application reads {replaced_by}, and none {index}."]
    return [f"The source does not have {index}. Release this once nothing reads it: its queries fail from then on."]


def _setting(setting: Setting, alias: str, default: str) -> str:
    match setting:
        case TimeToLive(attribute):
            return _call("SetTimeToLive", [quoted(attribute) if attribute else "None"], alias, default)
        case Stream(view):
            return _call("SetStream", [quoted(view) if view else "None"], alias, default)
        case PointInTimeRecovery(enabled):
            return _call("SetPointInTimeRecovery", [str(enabled)], alias, default)
        case DeletionProtection(enabled):
            return _call("SetDeletionProtection", [str(enabled)], alias, default)
        case BillingMode(mode, table, indexes):
            arguments = [quoted(mode)]
            if table is not None:
                arguments.append(f"provisioned={units_source(table)}")
            if indexes:
                each = (f"{quoted(name)}: {units_source(units)}" for name, units in indexes)
                arguments.append(listing("indexes={", each, "}"))
            return _call("SetBillingMode", arguments, alias, default)
        case _:
            assert_never(setting)


def _units(index: Index) -> list[str]:
    arguments = [quoted(index.name)]
    if index.provisioned is not None:
        arguments.append(f"provisioned={units_source(index.provisioned)}")
    if index.on_demand_maximum is not None:
        arguments.append(f"on_demand_maximum={units_source(index.on_demand_maximum)}")
    return arguments


def _skeleton(change: Rewrite, default: str) -> list[str]:
    """What a person has to complete: no tool can tell how the new key follows from an item."""
    other = f"{change.alias}_v2"
    have = {key.name for key in change.was.key}
    new = change.wanted.shape.key
    forms = [f"{quoted(one.name)}: {quoted(f'{{{one.name}}}') if one.name in have else quoted('…')}" for one in new]
    was, now = (", ".join(map(str, table.key)) for table in (change.was, change.wanted.shape))
    created = create_table(other, change.wanted.shape, tuple(change.wanted.settings.values()))
    copied = exploded(
        "CopyTable(",
        [
            quoted(change.alias or default),
            f"to={quoted(other)}",
            "key={" + ", ".join(forms) + "}",
            'application="dual-write"',
        ],
        ")",
    )
    return [
        f"The key of {change.alias} is ({was}); the source has ({now}). A key is never changed in place:",
        "items are copied to another table under their new keys, while the application writes both.",
        "Nothing is deleted before `contract`, and the old table by nobody but you.",
        f"Complete this, with [tables.{other}] in the configuration, and from migrator import CopyTable, CreateTable:",
        "",
        "operations = [",
        *(f"    {line}" for line in f"{created},\n{copied},".splitlines()),
        "]",
        "",
        "key: a template of each new attribute, such as {tenant}#{id}; a key that items have already is {name}.",
        'application: or "mirror" where it cannot write both, or "stopped". Where only some items get new keys,',
        "RewriteKeys moves those. Then: plan, upgrade, cutover, and rollback or contract.",
    ]
