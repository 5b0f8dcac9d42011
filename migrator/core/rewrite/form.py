"""How one side writes its attributes: templates that are read both ways, parsed for fields and rendered from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from migrator.core.item import AttributeValue, type_of
from migrator.core.template import Reference, Template
from migrator.core.view import ItemView

Fields = Mapping[str, AttributeValue]
"""What stands in a template's braces -> its value. A field that was parsed wins over the attribute of that name."""


class Missing(Exception):
    """A template needs an attribute that the item lacks, or one of another type. `str()` says which."""


@dataclass(frozen=True, slots=True)
class Form:
    """Attribute -> template, such as {"PK": "USER#{username}"}."""

    templates: Mapping[str, Template] = field(default_factory=dict)

    @staticmethod
    def of(sources: Mapping[str, str]) -> Form:
        """Raises UsageError `bad-template`."""
        return Form({name: Template.parse(source) for name, source in sources.items()})

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.templates)

    @property
    def fields(self) -> frozenset[str]:
        """What its braces name."""
        return frozenset(str(one) for template in self.templates.values() for one in template.references)

    @property
    def references(self) -> tuple[Reference, ...]:
        return tuple(one for template in self.templates.values() for one in template.references)

    def parse(self, view: ItemView) -> Fields | None:
        """The fields of an item whose attributes are of this form; None where they are not."""
        found: dict[str, AttributeValue] = {}
        for name, template in self.templates.items():
            value = view.wire(name)
            fields = None if value is None else _parsed(template, value)
            if fields is None:
                return None
            for field_name, text in fields.items():
                if found.setdefault(field_name, text) != text:
                    return None
        return found

    def render(self, fields: Fields, view: ItemView, names: Iterable[str] | None = None) -> dict[str, AttributeValue]:
        """The attributes, of fields first and of the item's attributes else. Raises Missing."""
        return {
            name: _rendered(name, template, fields, view)
            for name, template in self.templates.items()
            if names is None or name in names
        }


def _parsed(template: Template, value: AttributeValue) -> Fields | None:
    if len(template.parts) == 1 and isinstance(template.parts[0], Reference):
        return {str(template.parts[0]): value}
    if type_of(value) != "S":
        return None
    pattern, groups = _pattern(template)
    match = pattern.fullmatch(value["S"])
    return None if match is None else {name: {"S": match.group(group)} for name, group in groups}


@lru_cache(maxsize=1024)
def _pattern(template: Template) -> tuple[re.Pattern[str], tuple[tuple[str, str], ...]]:
    """A field ends where the text that follows it first occurs: so there is one way at most to read a value."""
    groups: dict[str, str] = {}
    pattern = ""
    for position, part in enumerate(template.parts):
        if isinstance(part, str):
            pattern += re.escape(part)
        elif str(part) in groups:
            pattern += f"(?P={groups[str(part)]})"
        else:
            group = groups[str(part)] = f"f{len(groups)}"
            following = template.parts[position + 1] if position + 1 < len(template.parts) else None
            stop = f"(?:(?!{re.escape(following)}).)*" if isinstance(following, str) else ".*"
            pattern += f"(?P<{group}>{stop})"
    return re.compile(pattern, re.DOTALL), tuple(groups.items())


def _rendered(name: str, template: Template, fields: Fields, view: ItemView) -> AttributeValue:
    known: dict[str, AttributeValue] = {}
    parts: list[str | Reference] = []
    for part in template.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        field_value = fields.get(str(part))
        if field_value is not None:
            # Under a name that no attribute has: a field and an attribute may be called alike.
            alias = f"\0{part}"
            known[alias] = field_value
            parts.append(Reference(alias))
        else:
            _read(part, view, known)
            if part.find(known) is None:
                raise Missing(f"{name}: the template reads {part}, which the item lacks")
            parts.append(part)
    try:
        return Template(template.source, tuple(parts)).render(known)
    except ValueError as exc:
        raise Missing(f"{name}: {exc}") from exc


def _read(reference: Reference, view: ItemView, known: dict[str, AttributeValue]) -> None:
    value = view.wire(reference.attribute)
    if value is not None:
        known[reference.attribute] = value
