"""Whether two different items can give one key: what in a template, or in a function, cannot be inverted.

A template with one field renders each value to a text of its own. With several, a value that contains what stands
between them moves the border: `{a}#{b}` gives `x#y#z` for (`x#y`, `z`) and for (`x`, `y#z`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal, TypeAlias

from migrator.core.item import Item, type_of
from migrator.core.template import Reference, Template

Kind: TypeAlias = Literal["adjacent", "delimiter", "folding"]
_NUMERIC = frozenset("0123456789.-")
"""What the text of a number holds."""
_FOLDING = frozenset(
    {"lower", "upper", "casefold", "capitalize", "swapcase", "title", "strip", "lstrip", "rstrip", "normalize"}
)


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """One way in which two values can render the same key."""

    kind: Kind
    message: str
    delimiter: str = ""
    """Of kind "delimiter": the text that no value may hold."""
    attributes: tuple[str, ...] = ()
    """The fields whose values decide."""


def ambiguities(template: Template, numbers: Collection[str] = ()) -> tuple[Ambiguity, ...]:
    """Why the template cannot be inverted; empty where each key comes from one set of values.

    `numbers` are attributes that are known to be numbers: their text holds digits, a point and a sign alone.
    """
    return tuple(_ambiguities(template, numbers))


def collides(template: Template, item: Item) -> str:
    """The field whose value in this item holds a delimiter, so that another item may give the same key; "" if none."""
    for one in ambiguities(template):
        for reference in template.references if one.kind == "delimiter" else ():
            value = reference.find(item)
            if value is not None and type_of(value) == "S" and one.delimiter in value["S"]:
                return str(reference)
    return ""


def folding(function: Callable[..., Any]) -> tuple[str, ...]:
    """What a function calls that makes different texts equal, such as `lower`; what it calls is not followed."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return ()
    return tuple(sorted({name for part in _codes(code) for name in part.co_names} & _FOLDING))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _ambiguities(template: Template, numbers: Collection[str]) -> Iterator[Ambiguity]:
    parts = template.parts
    borders = list(_borders(parts))
    for left, delimiter, right in borders:
        if not delimiter:
            yield Ambiguity(
                "adjacent",
                f"{left} and {right} stand side by side in {template.source!r}: 'ab', 'c' give what 'a', 'bc' give",
                "",
                (str(left), str(right)),
            )
    for delimiter, fields in _undecided(borders, numbers).items():
        named = " or ".join(fields)
        yield Ambiguity(
            "delimiter",
            f"a value of {named} may hold {delimiter!r}, which stands between fields of {template.source!r}: two sets "
            "of values can then give one key",
            delimiter,
            fields,
        )


def _borders(parts: tuple[str | Reference, ...]) -> Iterator[tuple[Reference, str, Reference]]:
    """Each field, what stands after it, and the next field. A field that is repeated tells nothing new."""
    last: Reference | None = None
    between = ""
    for part in parts:
        if isinstance(part, str):
            between = part
            continue
        if last is not None and last != part:
            yield last, between, part
        last, between = part, ""


def _undecided(
    borders: list[tuple[Reference, str, Reference]], numbers: Collection[str]
) -> Mapping[str, tuple[str, ...]]:
    """Delimiter -> the fields whose values may hold it.

    One free field among fields that cannot hold a delimiter is no trouble: the others are read from both ends.
    """
    found: dict[str, tuple[str, ...]] = {}
    fields = list(dict.fromkeys(field for left, _, right in borders for field in (left, right)))
    delimiters = {delimiter for _, delimiter, _ in borders if delimiter}
    free = [field for field in fields if not _is_number(field, numbers) or any(map(_looks_numeric, delimiters))]
    if len(free) < 2:
        return found
    first, last = fields.index(free[0]), fields.index(free[-1])
    for left, delimiter, right in borders:
        if delimiter and first <= fields.index(left) and fields.index(right) <= last:
            found[delimiter] = tuple(dict.fromkeys((*found.get(delimiter, ()), *map(str, (left, right)))))
    return found


def _is_number(field: Reference, numbers: Collection[str]) -> bool:
    return not field.path and field.attribute in numbers


def _looks_numeric(delimiter: str) -> bool:
    return set(delimiter) <= _NUMERIC
