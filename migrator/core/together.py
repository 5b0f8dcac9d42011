"""What a transaction over several items may name, whoever sends it."""

from __future__ import annotations

from collections.abc import Sequence

from migrator.core.change import Check, Update, Write
from migrator.core.item import Key, fingerprint

MAX_ACTIONS = 100
"""Of TransactWriteItems, and items of TransactGetItems (facts §6)."""


def refuse_reads(places: Sequence[tuple[str, Key]]) -> None:
    """Raises ValueError for more than a hundred places, or one item named twice."""
    if len(places) > MAX_ACTIONS:
        raise ValueError(f"{len(places)} items at one moment, {MAX_ACTIONS} are allowed")
    _refuse_alike(places)


def refuse_writes(writes: Sequence[tuple[str, Write]], checks: Sequence[Check]) -> None:
    """Raises ValueError for an Update with checks of its own, or one item named twice."""
    if any(isinstance(write, Update) and write.has_checks for _, write in writes):
        raise ValueError("the checks of a joint write are given beside it, not in an update")
    _refuse_alike([*((table, one.key) for table, one in writes), *((one.table, one.key) for one in checks)])


def _refuse_alike(places: Sequence[tuple[str, Key]]) -> None:
    if len({(table, fingerprint(key)) for table, key in places}) < len(places):
        raise ValueError("one item is named twice in a transaction")
