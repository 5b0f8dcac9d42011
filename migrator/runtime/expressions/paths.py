"""Document paths: finding, setting and removing what they point at. Items are never changed, but made anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from migrator.core.item import AttributeValue, Item, type_of

Step: TypeAlias = str | int


class BadPath(ValueError):
    """The service would say: the document path provided in the update expression is invalid for update."""


@dataclass(frozen=True, slots=True)
class Path:
    """An attribute, and steps into it: names of map entries, positions in lists."""

    top: str
    steps: tuple[Step, ...] = ()

    def find(self, item: Item) -> AttributeValue | None:
        value = item.get(self.top)
        for step in self.steps:
            value = None if value is None else _entry(value, step)
        return value


def _entry(value: AttributeValue, step: Step) -> AttributeValue | None:
    kind = type_of(value)
    if isinstance(step, str):
        return value["M"].get(step) if kind == "M" else None
    return value["L"][step] if kind == "L" and step < len(value["L"]) else None


def with_value(item: Item, path: Path, value: AttributeValue) -> dict[str, AttributeValue]:
    """Raises BadPath where the path leads through what is not there."""
    if not path.steps:
        return {**item, path.top: value}
    if path.top not in item:
        raise BadPath(path.top)
    return {**item, path.top: _set(item[path.top], path.steps, value)}


def _set(into: AttributeValue, steps: tuple[Step, ...], value: AttributeValue) -> AttributeValue:
    step, rest = steps[0], steps[1:]
    if rest:
        below = _entry(into, step)
        if below is None:
            raise BadPath(str(step))
        value = _set(below, rest, value)
    kind = type_of(into)
    if isinstance(step, str) and kind == "M":
        return {"M": {**into["M"], step: value}}
    if isinstance(step, int) and kind == "L":
        entries = list(into["L"])
        # Beyond the end is the end.
        entries[step : step + 1] = [value]
        return {"L": entries}
    raise BadPath(str(step))


def without(item: Item, paths: Sequence[Path]) -> dict[str, AttributeValue]:
    """The item without what the paths point at, each as it stood before: positions do not shift meanwhile."""
    made = dict(item)
    for path in sorted(paths, key=_backwards, reverse=True):
        if not path.steps:
            made.pop(path.top, None)
        elif path.top in made:
            made[path.top] = _removed(made[path.top], path.steps)
        else:
            raise BadPath(path.top)
    return made


def _backwards(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple((step, "") if isinstance(step, int) else (0, step) for step in path.steps)


def _removed(value: AttributeValue, steps: tuple[Step, ...]) -> AttributeValue:
    step, rest = steps[0], steps[1:]
    kind = type_of(value)
    below = _entry(value, step)
    if (kind != "M" if isinstance(step, str) else kind != "L") or (rest and below is None):
        raise BadPath(str(step))
    if below is None:
        return value
    if isinstance(step, str):
        kept = {name: entry for name, entry in value["M"].items() if name != step}
        return {"M": kept | ({step: _removed(below, rest)} if rest else {})}
    entries = list(value["L"])
    entries[step : step + 1] = [_removed(below, rest)] if rest else []
    return {"L": entries}


def projected(item: Item, paths: Sequence[Path]) -> dict[str, AttributeValue]:
    """What a ProjectionExpression leaves of an item: list entries that are asked for are packed together."""
    tree: dict[Step, Any] = {}
    for path in paths:
        branch = tree
        for step in (path.top, *path.steps):
            branch = branch.setdefault(step, {})
    return {
        str(name): taken
        for name, below in tree.items()
        if (value := item.get(str(name))) is not None and (taken := _taken(value, below)) is not None
    }


def _taken(value: AttributeValue, tree: Mapping[Step, Any]) -> AttributeValue | None:
    if not tree:
        return value
    found = {
        step: taken
        for step, below in tree.items()
        if (entry := _entry(value, step)) is not None and (taken := _taken(entry, below)) is not None
    }
    if not found:
        return None
    if type_of(value) == "M":
        return {"M": found}
    return {"L": [found[step] for step in sorted(found, key=lambda step: (isinstance(step, str), step))]}
