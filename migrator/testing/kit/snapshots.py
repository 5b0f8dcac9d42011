"""What the tables of a project are at one moment, and what differs between two moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from migrator.core.item import Item, fingerprint, key_of, key_text, same, text
from migrator.core.ports import LiveTable
from migrator.core.settings import PointInTimeRecovery, Setting, TimeToLive
from migrator.testing.kit.project import SandboxProject
from migrator.testing.kit.tables import MigratedTable

MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TableState:
    """A table's definition, settings and items (by the fingerprint of their key)."""

    live: LiveTable
    settings: tuple[Setting, ...]
    items: Mapping[str, Item]

    def differences(self, wanted: TableState) -> Iterator[str]:
        """Line by line: what is not as wanted."""
        here, there = self.live, wanted.live
        for name in sorted(here.indexes.keys() | there.indexes.keys()):
            ours, theirs = here.indexes.get(name), there.indexes.get(name)
            if ours is None or theirs is None:
                yield f"index {name} is {'missing' if ours is None else 'there'}"
            elif ours.definition != theirs.definition:
                yield f"index {name} is {ours.definition}, and was {theirs.definition}"
        if _bare(here) != _bare(there):
            yield f"the table is {_bare(here)}, and was {_bare(there)}"
        for mine, old in zip(self.settings, wanted.settings, strict=True):
            if mine != old:
                yield f"the setting is {mine}, and was {old}"
        yield from self._of_items(wanted)

    def _of_items(self, wanted: TableState) -> Iterator[str]:
        names = self.live.shape.key_names
        found = []
        for key in self.items.keys() | wanted.items.keys():
            ours, theirs = self.items.get(key), wanted.items.get(key)
            shown = key_text(key_of(ours or theirs or {}, names))
            if ours is None or theirs is None:
                found.append(f"item {shown} is {'missing' if ours is None else 'there, and was not'}")
                continue
            changed = [
                f"{name} is {text(ours.get(name))}, and was {text(theirs.get(name))}"
                for name in sorted(ours.keys() | theirs.keys())
                if not same(ours.get(name), theirs.get(name))
            ]
            if changed:
                found.append(f"item {shown}: {'; '.join(changed)}")
        yield from sorted(found)[:MOST_SHOWN]
        if len(found) > MOST_SHOWN:
            yield f"and {len(found) - MOST_SHOWN} more items"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every configured table that exists, by alias."""

    tables: Mapping[str, TableState]

    def differences(self, wanted: Snapshot) -> list[str]:
        """What is not as in `wanted`. A table that `wanted` has not may stay, empty: no way back deletes a table."""
        found = []
        for alias in sorted(self.tables.keys() | wanted.tables.keys()):
            mine, old = self.tables.get(alias), wanted.tables.get(alias)
            if mine is None:
                found.append(f"table {alias} is missing")
            elif old is None:
                found += [f"table {alias} holds {len(mine.items)} items, and was not there"] if mine.items else []
            else:
                found += [f"table {alias}: {line}" for line in mine.differences(old)]
        return found


def snapshot(project: SandboxProject) -> Snapshot:
    """The project's tables as they are now."""
    with project.runner(read_only=True) as runner:
        session = runner.session
        return Snapshot(
            {
                alias: TableState(
                    live,
                    tuple(session.ports.tables.setting(live.name, kind) for kind in (TimeToLive, PointInTimeRecovery)),
                    {
                        fingerprint(key_of(item, live.shape.key_names)): item
                        for item in MigratedTable(project, alias).wire_items()
                    },
                )
                for alias, live in session.live.items()
            }
        )


def _bare(live: LiveTable) -> tuple[object, ...]:
    """What a table is beside its indexes, without what differs from moment to moment."""
    shape = replace(live.shape, alias="", indexes={})
    return (shape, live.local_indexes, live.stream, live.deletion_protection)
