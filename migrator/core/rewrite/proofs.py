"""What templates prove of a rewrite before any item is read, and what only items can tell.

Nothing here decides: what is not proven is asserted of every item before the first write (`Route.twin_of`,
`Rewrite.problems_of`, `collisions`). It is what lint and plan have to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from migrator.core.item import AttributeValue, from_python, same, type_of
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Route
from migrator.core.template import Reference, Template
from migrator.core.where import Absent, BeginsWith, Exists, OneOf


@dataclass(frozen=True, slots=True)
class Remark:
    """What could be said of a rewrite: a stable code, and the text."""

    code: str
    text: str


def remarks(rewrite: Rewrite) -> tuple[Remark, ...]:
    """Everything that is not proven, each once."""
    found = [remark for route in rewrite.routes for remark in _of_route(route, moves=rewrite.moves)]
    pairs = ((made, by) for made in rewrite.routes for by in rewrite.routes_from(made.target))
    found += (
        Remark(
            "selection-not-proven",
            f"no template proves that an item's new form in {made.target} is not selected once more: this is asserted "
            "of every item before the first write",
        )
        for made, by in pairs
        if not (by is made and made.keeps_mark) and never_selected(made, by) is None
    )
    found += (
        Remark(
            "key-may-collide",
            f"no template holds the new keys of {one.source} and of {other.source} apart in {one.target}: items that "
            "come to one key are listed before the first write",
        )
        for one, other in combinations(rewrite.routes, 2)
        if one.target == other.target and not _are_apart(one, other)
    )
    return tuple(dict.fromkeys(found))


def are_all_apart(routes: Iterable[Route]) -> bool:
    """Whether templates prove that the new keys of each route are of no other one: a key then tells its route."""
    return all(_are_apart(one, other) for one, other in combinations(routes, 2))


def _are_apart(one: Route, other: Route) -> bool:
    """Whether templates prove that no two items, one of each route, come to one key."""
    names = set(one.target_names) & set(other.target_names)
    return any(_apart(mine, theirs) for name in names for mine in _had(one, name) for theirs in _had(other, name))


def _of_route(route: Route, *, moves: bool) -> Iterator[Remark]:
    if callable(route.key):
        yield Remark(
            "key-by-function",
            f"what a function makes of a key is not known: whether two items come to one key of {route.target} is "
            "seen when all are read, before the first write",
        )
    else:
        lost = dropped(route)
        if lost:
            yield Remark(
                "key-may-collide",
                f"the new key does not hold {', '.join(lost)}: items that differ in nothing else come to one key; all "
                "such are listed before the first write",
            )
        for name, field, delimiter in ambiguities(route.key):
            yield Remark("ambiguous-template", _ambiguous("key", route.key, name, field, delimiter, route))
    for name, field, delimiter in ambiguities(route.old):
        yield Remark("ambiguous-template", _ambiguous("old", route.old, name, field, delimiter, route))
    if moves and not route.has_way_back:
        names = ", ".join(name for name in route.source_names if not route.is_derivable(name))
        yield Remark(
            "no-way-back",
            f"a new item does not tell {names}, a key attribute of {route.source}: one that is born on the new side "
            "has no old form, and a rollback after cutover leaves it behind",
        )


def _ambiguous(what: str, form: Form, name: str, field: str, delimiter: str | None, route: Route) -> str:
    told = f"{what} {name}={form.templates[name].source!r}: "
    if delimiter is None:
        told += f"nothing stands between {{{field}}} and what follows it, so they cannot be told apart"
    else:
        told += f"a {{{field}}} that contains {delimiter!r} is read as a shorter one"
    if what == "key" and _is_kept(route, field):
        return told + ": two items may come to one key; all such are listed before the first write"
    return told + ": an item that would not come back as it is is listed before the first write"


def _is_kept(route: Route, field: str) -> bool:
    """Whether the twin has the field as an attribute, so that reading the key is not needed."""
    return field not in route.old.fields and route.stays(field)


def ambiguities(form: Form) -> Iterator[tuple[str, str, str | None]]:
    """Attribute, field, and the delimiter that its value may contain; None where no delimiter follows it."""
    for name, template in form.templates.items():
        seen: set[str] = set()
        for part, following in zip(template.parts, template.parts[1:], strict=False):
            if isinstance(part, Reference) and str(part) not in seen:
                seen.add(str(part))
                yield name, str(part), following if isinstance(following, str) else None


def dropped(route: Route) -> tuple[str, ...]:
    """What tells old keys apart and is not in the new key: attributes, or fields of their templates."""
    if callable(route.key):
        return route.source_names
    found: list[str] = []
    for name in route.source_names:
        if name in route.old.names:
            found += (str(one) for one in route.old.templates[name].references if str(one) not in route.key.fields)
        elif name not in route.key.fields and not (name in route.target_names and route.stays(name)):
            found.append(name)
    return tuple(dict.fromkeys(found))


# --- what is selected -------------------------------------------------------------------------------------------------


def never_selected(made: Route, by: Route) -> str | None:
    """An attribute for whose sake no new form that `made` gives is an old item of `by`; None where none proves it."""
    if callable(by.where):
        return None
    wanted = {name: [_of_condition(condition)] for name, condition in by.where.items()}
    for name, template in by.old.templates.items():
        wanted.setdefault(name, []).append(_of_template(template))
    for name, shapes in wanted.items():
        if any(_apart(have, shape) for have in _had(made, name) for shape in shapes):
            return name
    return None


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is known of an attribute: how its text begins and ends, or the only values that it may have."""

    prefix: str = ""
    suffix: str = ""
    values: tuple[AttributeValue, ...] | None = None
    is_text: bool = False
    is_absent: bool = False
    pattern: re.Pattern[str] | None = None
    """What texts it may be, where a template makes them."""


_ANYTHING = _Shape()
_ABSENT = _Shape(is_absent=True)


def _had(route: Route, name: str) -> list[_Shape]:
    """What is known of an attribute of a new form."""
    if isinstance(route.key, Form) and name in route.key.names:
        return [_of_template(route.key.templates[name])]
    if name in route.set.names:
        return [_of_template(route.set.templates[name])]
    if name == route.mark:
        return [_ANYTHING]
    if name in route.target_names:
        # A function may have made it; else it stays as the old item had it.
        return [_ANYTHING] if callable(route.key) else _selected(route, name)
    if route.keep is not None and name not in route.keep:
        return [_ABSENT]
    return _selected(route, name)


def _selected(route: Route, name: str) -> list[_Shape]:
    """What is known of an attribute of an old item."""
    found = [] if callable(route.where) or name not in route.where else [_of_condition(route.where[name])]
    return found + ([_of_template(route.old.templates[name])] if name in route.old.names else [])


def _of_condition(condition: Any) -> _Shape:
    match condition:
        case Exists():
            return _ANYTHING
        case Absent():
            return _ABSENT
        case BeginsWith(prefix):
            return _Shape(prefix=prefix, is_text=True)
        case OneOf(values):
            return _Shape(values=tuple(from_python(one) for one in values))
    return _Shape(values=(from_python(condition),))


def _of_template(template: Template) -> _Shape:
    parts = template.parts
    if len(parts) == 1 and isinstance(parts[0], Reference):
        return _ANYTHING
    if not template.references:
        return _Shape(values=({"S": "".join(map(str, parts))},))
    pattern = "".join(".*" if isinstance(part, Reference) else re.escape(part) for part in parts)
    first, last = parts[0], parts[-1]
    return _Shape(
        prefix=first if isinstance(first, str) else "",
        suffix=last if isinstance(last, str) else "",
        is_text=True,
        pattern=re.compile(pattern, re.DOTALL),
    )


def _apart(one: _Shape, other: _Shape) -> bool:
    """Whether no value is of both shapes."""
    if one.is_absent or other.is_absent:
        return one.is_absent != other.is_absent
    if one.values is not None and other.values is not None:
        return not any(same(left, right) for left in one.values for right in other.values)
    if one.values is not None or other.values is not None:
        values, shape = (one.values, other) if one.values is not None else (other.values, one)
        return not any(_fits(value, shape) for value in values or ())
    return not (_is_one_way(one.prefix, other.prefix) and _is_one_way(one.suffix[::-1], other.suffix[::-1]))


def _fits(value: AttributeValue, shape: _Shape) -> bool:
    if not shape.is_text:
        return True
    if type_of(value) != "S":
        return False
    text: str = value["S"]
    return (
        text.startswith(shape.prefix)
        and text.endswith(shape.suffix)
        and (shape.pattern is None or shape.pattern.fullmatch(text) is not None)
    )


def _is_one_way(one: str, other: str) -> bool:
    """Whether a text may begin with both."""
    return one.startswith(other) or other.startswith(one)
