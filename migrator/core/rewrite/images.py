"""What an item of one side comes to on the other."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core.item import Item, Key


@dataclass(frozen=True, slots=True)
class Image:
    """What an item of one side is on the other."""

    item: Item
    key: Key
    reads: frozenset[str]
    """Attributes of the given item that say whether it has an image, where that is, and what is rewritten in it."""


@dataclass(frozen=True, slots=True)
class NoImage:
    """The item has none: it is not selected, or not made by this route. `reads` as in Image."""

    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class Problem:
    """The item is selected, and yet its image cannot be made."""

    code: str
    message: str
    reads: frozenset[str] = frozenset()
