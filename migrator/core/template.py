"""Key templates: `TENANT#{tenantId}#PROJECT#{projectId}`: parse, render, invert.

A field is the name of a top-level attribute, whatever characters it holds: `{a.b}` is the attribute `a.b`. An entry of
a map is asked for with brackets: `{Detail[Name]}`. `{{` and `}}` stand for braces. A template is text, never code:
there is no formatting, no attribute access and no call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from migrator.core.item import AttributeValue, Item, is_encodable, number_text, type_of
from migrator.errors import UsageError

_FIELD = re.compile(r"([^\[\]{}]+)((?:\[[^\[\]{}]+\])*)\Z")


@dataclass(frozen=True, slots=True)
class Reference:
    """An attribute, or an entry inside it: `path` holds the names of map entries below `attribute`."""

    attribute: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.attribute + "".join(f"[{step}]" for step in self.path)

    def find(self, item: Item) -> AttributeValue | None:
        """The value it points at, or None."""
        value = item.get(self.attribute)
        for step in self.path:
            if value is None or type_of(value) != "M":
                return None
            value = value["M"].get(step)
        return value


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed key template. Two templates are equal when their text is."""

    source: str
    parts: tuple[str | Reference, ...]
    references: tuple[Reference, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "references", tuple(part for part in self.parts if isinstance(part, Reference)))

    @classmethod
    def parse(cls, source: str) -> Template:
        """Raises UsageError `bad-template` for unbalanced braces, an empty field, or `}` alone."""
        if not is_encodable(source):
            raise UsageError("bad-template", f"template {source!a} holds half a character, which UTF-8 cannot")
        return cls(source, tuple(_parts(source)))

    @property
    def attributes(self) -> frozenset[str]:
        """The top-level attributes that rendering reads."""
        return frozenset(reference.attribute for reference in self.references)

    def missing(self, item: Item) -> tuple[Reference, ...]:
        """The references that the item has no value for."""
        return tuple(reference for reference in self.references if reference.find(item) is None)

    def render(self, item: Item) -> AttributeValue:
        """The value for an item that has every referenced attribute.

        A template that is one reference alone copies the value, its type included; any other gives a string. Raises
        ValueError where a part of a longer template is neither string nor number.
        """
        values = []
        for reference in self.references:
            value = reference.find(item)
            if value is None:
                raise ValueError(f"{reference} is absent")
            values.append(value)
        return self.rendered(values)

    def rendered(self, values: Sequence[AttributeValue]) -> AttributeValue:
        """`render`, of the values of the references in their order."""
        if len(self.parts) == 1 and values:
            return values[0]
        found = iter(values)
        return {"S": "".join([part if isinstance(part, str) else _text(part, next(found)) for part in self.parts])}

    def invert(self, text: str) -> Mapping[str, str] | None:
        """The fields that render to `text`, or None where it was not made by this template.

        Ambiguous where a value contains the delimiter that follows its field: the shortest match is given.
        """
        groups: dict[str, str] = {}
        pattern = ""
        for part in self.parts:
            if isinstance(part, str):
                pattern += re.escape(part)
            elif str(part) in groups:
                pattern += f"(?P={groups[str(part)]})"
            else:
                group = groups[str(part)] = f"f{len(groups)}"
                pattern += f"(?P<{group}>.*?)"
        match = re.fullmatch(pattern, text, re.DOTALL)
        return None if match is None else {name: match.group(group) for name, group in groups.items()}


def _parts(source: str) -> Iterator[str | Reference]:
    literal = ""
    position = 0
    while position < len(source):
        char = source[position]
        if source[position : position + 2] in ("{{", "}}"):
            literal += char
            position += 2
        elif char == "{":
            end = source.find("}", position)
            field = source[position + 1 : end] if end > 0 else ""
            match = _FIELD.match(field)
            if match is None:
                raise UsageError(
                    "bad-template",
                    f"template {source!r}: no attribute name at {source[position : position + 20]!r}",
                )
            if literal:
                yield literal
                literal = ""
            yield Reference(match.group(1), tuple(re.findall(r"\[([^\[\]]+)\]", match.group(2))))
            position = end + 1
        elif char == "}":
            raise UsageError(
                "bad-template", f"template {source!r}: '}}' without '{{'", hint="write '}}' twice for a brace"
            )
        else:
            literal += char
            position += 1
    if literal:
        yield literal


def _text(reference: Reference, value: AttributeValue) -> str:
    text = value.get("S")
    if text is not None:
        return str(text)
    if "N" in value:
        return number_text(value["N"])
    raise ValueError(f"{reference} is of type {type_of(value)}, not text or a number")
