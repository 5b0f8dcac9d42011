"""Attributes of many items as rows of texts: what a page can tell without making a Python value of each attribute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from migrator.core.item import Item

Cell: TypeAlias = str | Literal[False] | None
"""The text of a string attribute, None for an attribute of another type, False where it is absent."""
Row: TypeAlias = tuple[Cell, ...]


@runtime_checkable
class RowsOfTexts(Protocol):
    """A page of items that is still bytes, and gives rows at little cost."""

    def rows(self, names: tuple[str, ...]) -> Iterable[Row]:
        """For each item, in order, the cells of these attributes."""
        ...

    def surely_lacks(self, text: str) -> bool:
        """Whether no string of any item holds `text`; False where that is not certain."""
        ...


def rows_of(items: Sequence[Item], names: tuple[str, ...]) -> Iterable[Row]:
    """For each item, in order, the cells of these attributes."""
    if isinstance(items, RowsOfTexts):
        return items.rows(names)
    return (tuple(_cell(item, name) for name in names) for item in items)


def _cell(item: Item, name: str) -> Cell:
    value = item.get(name)
    if value is None:
        return False
    text: str | None = value.get("S")
    return text
