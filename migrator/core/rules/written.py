"""The texts that a step writes into items, as far as the file alone tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from migrator.core.item import AttributeValue
from migrator.core.steps import PutItems, Step, TransformItems
from migrator.core.template import Template


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text, or a piece of one, in an attribute."""

    attribute: str
    text: str
    begins: bool
    """Whether the attribute's value begins with it."""
    where: str
    """`set GSI1PK` or `item 2, PK`."""


def written_texts(step: Step) -> Iterator[WrittenText]:
    """The constants and the fixed pieces of templates that the step writes."""
    match step:
        case TransformItems(transform=work):
            for name, value in work.set.items():
                if isinstance(value, Template):
                    for number, part in enumerate(value.parts):
                        if isinstance(part, str):
                            yield WrittenText(name, part, number == 0, f"set {name}")
                else:
                    yield from _texts(name, value, f"set {name}")
        case PutItems(items=items):
            for number, item in enumerate(items, 1):
                for name, value in item.items():
                    yield from _texts(name, value, f"item {number}, {name}")
        case _:
            return


def _texts(name: str, value: AttributeValue, where: str) -> Iterator[WrittenText]:
    yield from (WrittenText(name, text, begins, where) for text, begins in _strings(value, begins=True))


def _strings(value: AttributeValue, *, begins: bool) -> Iterator[tuple[str, bool]]:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            yield str(content), begins
        case "SS":
            yield from ((text, False) for text in content)
        case "L" | "M":
            entries: Any = content.values() if kind == "M" else content
            for entry in entries:
                yield from _strings(entry, begins=False)
