"""Templates of text, compared with what an item holds: what is right already is found right at little cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from migrator.core.item import AttributeValue, Item
from migrator.core.template import Reference, Template

Texts: TypeAlias = tuple[tuple[str, tuple[str | Reference, ...]], ...]
"""Target and parts of each template; none of its references has a path."""


def texts_of(targets: Mapping[str, Template | AttributeValue]) -> Texts:
    """What `compared` compares; nothing where a target is more than text put together."""
    found = []
    for name, template in targets.items():
        if (
            not isinstance(template, Template)
            or len(template.parts) < 2
            or any(one.path for one in template.references)
        ):
            return ()
        found.append((name, template.parts))
    return tuple(found)


def compared(texts: Texts, item: Item, read: dict[str, AttributeValue | None]) -> dict[str, AttributeValue] | None:
    """The targets that do not hold their text yet, with the text that they are to hold. Adds to `read` what was read.

    None where the item must be looked at closely: an attribute is absent or no text.
    """
    get = item.get
    wanted: dict[str, AttributeValue] = {}
    for name, parts in texts:
        text = ""
        for part in parts:
            if part.__class__ is str:
                text += part
                continue
            value = get(part.attribute)  # type: ignore[union-attr]
            found = None if value is None else value.get("S")
            if found is None:
                return None
            read[part.attribute] = value  # type: ignore[union-attr]
            text += found
        there = get(name)
        if there is None or there.get("S") != text:
            read[name] = there
            wanted[name] = {"S": text}
    return wanted
