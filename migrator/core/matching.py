"""Which declared table is which table of the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from migrator.core.declared import DeclaredTable, Source
from migrator.errors import UsageError


def matched(
    source: Source, names: Mapping[str, str], wanted: Mapping[str, str]
) -> tuple[dict[str, DeclaredTable], tuple[str, ...]]:
    """(alias -> declared table, what was left out and why).

    `names`: alias -> physical name, of every table that the project has. `wanted`: alias -> label, "" for whichever
    fits; empty for every alias. A table is found by its label where one is given, else by its name, else by a label
    that is the alias, else because there is one on either side. Raises UsageError `no-table-matched`.
    """
    left = list(source.tables)
    found: dict[str, DeclaredTable] = {}
    aliases = list(wanted or names)
    for alias in aliases:
        if alias not in names:
            raise UsageError(
                "unknown-table",
                f"--table {alias}: there is no [tables.{alias}] (known: {', '.join(sorted(names)) or 'none'})",
                hint=f"add [tables.{alias}] to the configuration",
            )
        label = wanted.get(alias, "")
        one = _labelled(left, label) if label else _named(left, names[alias])
        if label and one is None:
            raise UsageError(
                "no-table-matched",
                f"--table {alias}={label}: {source.format} has no table {label} (it has: {_labels(source.tables)})",
            )
        if one is not None:
            found[alias] = one
            left.remove(one)
    for alias in aliases:
        one = next((table for table in left if table.label.lower() == alias.lower()), None)
        if alias not in found and one is not None:
            found[alias] = one
            left.remove(one)
    open_aliases = [alias for alias in aliases if alias not in found]
    # A name that is told and is another table's matches nothing, however few there are.
    nameless = [table for table in left if table.name is None]
    if len(open_aliases) == len(nameless) == 1 or (wanted and len(open_aliases) == len(left) == 1):
        one = left[0] if wanted and len(left) == 1 else nameless[0]
        found[open_aliases[0]] = one
        left.remove(one)
    if not found:
        raise UsageError(
            "no-table-matched",
            f"none of the tables of {source.format} is one of the configuration: it declares {_labels(source.tables)}; "
            f"the configuration has {', '.join(f'{alias} ({name})' for alias, name in sorted(names.items())) or 'none'}"
            + "".join(f"; {one}" for one in source.unknown),
            hint="say which is which, --table ALIAS=LABEL; or give the parameters that its name needs, -x NAME=VALUE",
        )
    skipped = tuple(
        f"{table.label} ({table.name or 'its name cannot be told'}) is no table of the configuration: left out"
        for table in left
        if not wanted
    )
    return found, (*source.unknown, *skipped)


def _labelled(tables: Sequence[DeclaredTable], label: str) -> DeclaredTable | None:
    return next((table for table in tables if label in (table.label, table.name)), None)


def _named(tables: Sequence[DeclaredTable], name: str) -> DeclaredTable | None:
    return next((table for table in tables if table.name == name), None)


def _labels(tables: Sequence[DeclaredTable]) -> str:
    return ", ".join(f"{table.label} ({table.name or 'name not told'})" for table in tables) or "none that can be told"
