"""Templates of text, compared with what an item holds: what is right already is found right at little cost."""

from __future__ import annotations

from typing import TypeAlias

from migrator.core.item import Item
from migrator.core.template import Reference

Texts: TypeAlias = tuple[tuple[str, tuple[str | Reference, ...]], ...]
"""Target and parts of each template; none of its references has a path."""


def is_right(texts: Texts, item: Item) -> bool:
    """Whether every target holds the text of its template: the most frequent case of all, decided without a guard.

    False where it must be looked at closely: an attribute is absent or no text.
    """
    get = item.get
    for name, parts in texts:
        wanted = ""
        for part in parts:
            if part.__class__ is str:
                wanted += part
                continue
            value = get(part.attribute)  # type: ignore[union-attr]
            text = None if value is None else value.get("S")
            if text is None:
                return False
            wanted += text
        found = get(name)
        if found is None or found.get("S") != wanted:
            return False
    return True
