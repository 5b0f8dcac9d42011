"""From a table as it is to a table as it is declared: what has to happen, in which order, in how many revisions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from migrator.core.declared import DeclaredTable
from migrator.core.schema import Index, KeyAttribute, Table, Throughput, differences
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive

MOST_INDEXES = 20
"""Global secondary indexes of a table (facts §1.4)."""


@dataclass(frozen=True, slots=True)
class MakeTable:
    alias: str
    table: DeclaredTable


@dataclass(frozen=True, slots=True)
class AddOne:
    """An index is added. `unseen`: its key attributes that no key of the table or of another index has."""

    alias: str
    index: Index
    unseen: tuple[KeyAttribute, ...] = ()
    instead_of: str = ""
    """The index that it replaces under a name of its own."""


@dataclass(frozen=True, slots=True)
class DropOne:
    alias: str
    index: str
    replaced_by: str = ""


@dataclass(frozen=True, slots=True)
class Set:
    alias: str
    setting: Setting


@dataclass(frozen=True, slots=True)
class SetUnits:
    """Throughput of an index: only what `index` names."""

    alias: str
    index: Index


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The table's own key is another: items are copied to a new table under new keys."""

    alias: str
    was: Table
    wanted: DeclaredTable


Change: TypeAlias = MakeTable | AddOne | DropOne | Set | SetUnits | Rewrite


@dataclass(frozen=True, slots=True)
class Stage:
    """One revision to be: what it says and what it does."""

    message: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Evolution:
    stages: tuple[Stage, ...]
    notes: tuple[str, ...] = ()
    """What was left alone, and why."""


def evolve(alias: str, current: DeclaredTable | None, wanted: DeclaredTable) -> Evolution:
    """The revisions that lead one table from `current` to `wanted`; None: it does not exist.

    Nothing is switched off because `wanted` does not speak of it, and no index goes where not all could be read.
    """
    notes = list(wanted.unknown)
    if current is None:
        if wanted.local_indexes:
            notes.append(_local(alias, wanted.local_indexes))
        if wanted.has_vague_billing:
            notes.append(f"{alias}: its billing mode cannot be told: it is created on demand")
        return Evolution((Stage(f"Create table {alias}", (MakeTable(alias, wanted),)),), tuple(notes))
    if wanted.replicas and set(wanted.replicas) != set(current.replicas):
        declared = ", ".join(wanted.replicas)
        notes.append(f"{alias}: replicas in {declared} are declared: Regions are added by whoever owns the table")
    if current.shape.key != wanted.shape.key:
        was, now = (", ".join(map(str, one.shape.key)) for one in (current, wanted))
        notes.append(
            f"{alias}: the key is ({was}) and is to be ({now}): a key cannot be changed in place, so all else "
            "of this table waits for the rewrite"
        )
        stage = Stage(f"Rewrite {alias} under another key", (Rewrite(alias, current.shape, wanted),))
        return Evolution((stage,), tuple(notes))
    settings = _settings(alias, current, wanted, notes)
    billing = _billing(alias, current, wanted, notes)
    units = _units(alias, current, wanted, notes)
    first: list[Change] = [*settings, *billing, *units]
    stages = [Stage(f"Settings of {alias}", tuple(first))] if first else []
    stages += _index_stages(alias, current, wanted, notes)
    gone = set(wanted.local_indexes) - set(current.local_indexes)
    if gone and current.local_indexes:
        notes.append(_local(alias, tuple(sorted(gone))))
    return Evolution(tuple(stages), tuple(notes))


def _local(alias: str, names: Iterable[str]) -> str:
    return f"{alias}: local indexes exist only from the table's creation, and are not declared here: {', '.join(names)}"


# --- indexes ----------------------------------------------------------------------------------------------------------


def _index_stages(alias: str, current: DeclaredTable, wanted: DeclaredTable, notes: list[str]) -> list[Stage]:
    """One index operation a revision. Additions first: readers move before anything goes."""
    have, want = current.shape.indexes, wanted.shape.indexes
    mode, default = _mode_after(current, wanted)
    additions: list[AddOne] = []
    drops: list[DropOne] = []
    taken = {*have, *want, *wanted.vague_indexes}
    seen = {key.name for key in current.shape.key} | {key.name for index in have.values() for key in index.keys}
    for name, index in sorted(want.items()):
        index = _fitted(index, mode, default)
        unseen = tuple(key for key in index.keys if key.name not in seen)
        if name not in have:
            additions.append(AddOne(alias, index, unseen))
        elif lines := differences(have[name], index, current.shape.key_names):
            other = _next_name(name, taken)
            taken.add(other)
            additions.append(AddOne(alias, replace(index, name=other), unseen, name))
            drops.append(DropOne(alias, name, other))
            notes.append(
                f"{alias}: index {name} is another ({'; '.join(lines).replace('live ', 'now ')}): an index cannot be "
                f"changed in place, so {other} is added, then {name} dropped; call it {other} in the source too"
            )
    for name in sorted(have.keys() - want.keys() - wanted.vague_indexes):
        if wanted.is_vague:
            notes.append(f"{alias}: index {name} may be one of those that could not be read: it is left")
        else:
            drops.append(DropOne(alias, name))
    changes: list[Change] = []
    standing = len(have)
    for addition in additions:
        free = [one for one in drops if not one.replaced_by]
        if standing >= MOST_INDEXES and free:
            drops.remove(free[0])
            changes.append(free[0])
            standing -= 1
        changes.append(addition)
        standing += 1
    return [Stage(_message(one), (one,)) for one in [*changes, *drops]]


def _message(change: Change) -> str:
    match change:
        case AddOne(alias, index, _, instead_of):
            return f"Add index {index.name} to {alias}" + (f" in place of {instead_of}" if instead_of else "")
        case DropOne(alias, index, replaced_by):
            return f"Drop index {index} of {alias}" + (f", replaced by {replaced_by}" if replaced_by else "")
        case _:
            return ""


def _mode_after(current: DeclaredTable, wanted: DeclaredTable) -> tuple[str, Throughput | None]:
    told = current if wanted.has_vague_billing else wanted
    return told.shape.billing_mode, told.shape.provisioned or current.shape.provisioned


def _fitted(index: Index, mode: str, default: Throughput | None) -> Index:
    """With the throughput that goes with the table's billing mode."""
    if mode == "PROVISIONED":
        return replace(index, provisioned=index.provisioned or default, on_demand_maximum=None)
    return replace(index, provisioned=None)


def _next_name(name: str, taken: set[str]) -> str:
    """`ByOwner` -> `ByOwner_v2` -> `ByOwner_v3`."""
    found = re.fullmatch(r"(.*)_v(\d{1,6})", name)
    stem, number = (found[1], int(found[2])) if found else (name, 1)
    while True:
        number += 1
        suffix = f"_v{number}"
        candidate = stem[: 255 - len(suffix)] + suffix
        if candidate not in taken:
            return candidate


# --- settings and throughput ------------------------------------------------------------------------------------------

_OFF = (TimeToLive(None), Stream(None), PointInTimeRecovery(False), DeletionProtection(False))
_ORDER = ("point-in-time-recovery", "deletion-protection", "stream", "time-to-live")


def _settings(alias: str, current: DeclaredTable, wanted: DeclaredTable, notes: list[str]) -> list[Change]:
    found: list[Change] = []
    for name in _ORDER:
        have, want = current.settings.get(name), wanted.settings.get(name)
        if want is None:
            if have is not None and have not in _OFF:
                notes.append(f"{alias}: the source does not speak of {name} ({have}): it is left as it is")
        elif want != have and not (have is None and want in _OFF):
            found.append(Set(alias, want))
    return found


def _billing(alias: str, current: DeclaredTable, wanted: DeclaredTable, notes: list[str]) -> list[Change]:
    have, want = current.shape, wanted.shape
    if wanted.has_vague_billing:
        return []
    if want.billing_mode == "PAY_PER_REQUEST":
        return [] if have.billing_mode == "PAY_PER_REQUEST" else [Set(alias, BillingMode("PAY_PER_REQUEST"))]
    if have.billing_mode == "PROVISIONED" and have.provisioned == want.provisioned:
        return []
    units = want.provisioned
    if units is None:
        notes.append(f"{alias}: it is to be provisioned, and its units cannot be told")
        return []
    each = {
        name: (want.indexes[name].provisioned if name in want.indexes else index.provisioned) or units
        for name, index in have.indexes.items()
    }
    return [Set(alias, BillingMode("PROVISIONED", units, tuple(sorted(each.items()))))]


def _units(alias: str, current: DeclaredTable, wanted: DeclaredTable, notes: list[str]) -> list[Change]:
    """Throughput of indexes that stay as they are."""
    found: list[Change] = []
    if wanted.has_vague_billing or current.shape.billing_mode != wanted.shape.billing_mode:
        return found  # the switch of the mode names the units of every index
    is_set_with_table = current.shape.provisioned != wanted.shape.provisioned
    for name, want in sorted(wanted.shape.indexes.items()):
        have = current.shape.indexes.get(name)
        if have is None:
            continue
        bare = Index(name, have.partition_key, have.sort_key)
        if want.provisioned not in (None, have.provisioned) and not is_set_with_table:
            found.append(SetUnits(alias, replace(bare, provisioned=want.provisioned)))
        if want.on_demand_maximum not in (None, have.on_demand_maximum):
            found.append(SetUnits(alias, replace(bare, on_demand_maximum=want.on_demand_maximum)))
        elif want.on_demand_maximum is None and have.on_demand_maximum is not None:
            notes.append(f"{alias}: the source gives index {name} no on-demand maximum: the one it has is left")
    return found
