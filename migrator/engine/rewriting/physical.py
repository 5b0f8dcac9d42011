"""From aliases, which the rules speak of, to the names of tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from migrator.core.change import Check, Write


def physical_write(name: Callable[[str], str], one: tuple[str, Write]) -> tuple[str, Write]:
    alias, write = one
    return name(alias), write


def physical_check(name: Callable[[str], str], check: Check) -> Check:
    return replace(check, table=name(check.table))
