"""Steps that are templates of text, decided a page at a time: what the Decider says item by item, at less cost.

Only what is certain is decided here. An item that holds anything but text where the step looks goes to the Decider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from migrator.core.change import TextForm, TextUpdate
from migrator.core.item import MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES, BadValue, Item, from_python
from migrator.core.rows import Cell, Row, rows_of
from migrator.core.template import Reference
from migrator.core.texts import texts_of
from migrator.core.transform import Decider, Decision
from migrator.core.where import Absent, BeginsWith, Exists, OneOf

_MOST_NAMES = 100
"""Names of one guard and update that surely fit an expression."""
_MOST_BYTES = 4
"""Of a character in UTF-8."""


@dataclass(slots=True)
class PageDecisions:
    """What is to be done about the items of a page."""

    unchanged: int = 0
    not_selected: int = 0
    updates: list[tuple[Item, TextUpdate]] = field(default_factory=list)
    others: list[tuple[Item, Decision]] = field(default_factory=list)
    """Items that were looked at one by one."""


@dataclass(frozen=True, slots=True)
class _Target:
    """One template: where its result stands in a row, how it is put together, and how long it may be (characters)."""

    at: int
    name: str
    pattern: str
    parts: Callable[[Row], tuple[Any, ...]]
    most: int | None
    """None where it is no key of an index."""


@dataclass(frozen=True, slots=True)
class PageDecider:
    """Decides pages as `decider` decides items."""

    decider: Decider
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The columns of a row; empty where the step is more than templates of text."""
    _tests: tuple[tuple[int, Callable[[Cell], bool]], ...] = field(init=False, repr=False, compare=False)
    _targets: tuple[_Target, ...] = field(init=False, repr=False, compare=False)
    _guarded: dict[str, bool] = field(init=False, repr=False, compare=False)
    """What every update guards: attribute -> whether it is there."""
    _forms: dict[tuple[tuple[int, bool], ...], tuple[TextForm, Callable[[Row], tuple[Any, ...]]]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    """Targets to write and whether each is there -> the update, and what takes its values from a row."""

    def __post_init__(self) -> None:
        transform, keys = self.decider.transform, self.decider.key_names
        tests = tests_of(transform.where)
        templates = texts_of(transform.set) if transform.is_templates_alone else ()
        guarded = {} if tests is None else {name: present for name, (_, present) in tests.items()}
        guarded |= {part.attribute: True for _, parts in templates for part in parts if isinstance(part, Reference)}
        names = tuple(dict.fromkeys((*guarded, *(name for name, _ in templates))))
        at = {name: number for number, name in enumerate(names)}
        targets = [_target(name, parts, at, self.decider.index_keys.get(name, {})) for name, parts in templates]
        is_certain = (
            tests is not None
            and bool(targets)
            and None not in targets
            and len(names) + len(templates) <= _MOST_NAMES
            and not any(name in keys for name, _ in templates)
            # What is to be absent and is read as well cannot be rendered: the Decider says so of each item.
            and all(guarded[name] for name in guarded if name in _read(templates))
        )
        put = object.__setattr__
        put(self, "_names", names if is_certain else ())
        put(self, "_tests", tuple((at[name], holds) for name, (holds, _) in (tests or {}).items()))
        put(self, "_targets", tuple(target for target in targets if target is not None))
        put(self, "_guarded", {name: present for name, present in guarded.items() if name not in keys})

    def of(self, items: Sequence[Item]) -> PageDecisions:
        found = PageDecisions()
        decide, others = self.decider.decide, found.others
        if not self._names:
            others += [(item, decide(item)) for item in items]
            return found
        unchanged = not_selected = 0
        tests, add = self._tests, found.updates.append
        update_of = self._update_of_one if len(self._targets) == 1 else self._update
        # By far the most frequent: one target, and what most items of most passes are to be they are already.
        parts_of, pattern, at = self._targets[0].parts, self._targets[0].pattern, self._targets[0].at
        is_one = len(self._targets) == 1 and not tests
        keys: Sequence[Row] = ()
        for number, row in enumerate(rows_of(items, self._names)):
            if is_one:
                parts = parts_of(row)
                if pattern % parts == row[at] and None not in parts and False not in parts:
                    unchanged += 1
                    continue
            elif tests and not all(holds(row[at]) for at, holds in tests):
                not_selected += 1
                continue
            update = update_of(row)
            if update is _NOTHING:
                unchanged += 1
                continue
            if update is not None:
                # Keys are read only where something is to be written.
                keys = keys or list(rows_of(items, self.decider.key_names))
                form, texts, kept = update
                values: tuple[Any, ...] = (*texts, *keys[number], *kept)
                if None not in values:
                    add((items[number], TextUpdate(form, values)))
                    continue
            # Something that is no text: a key, or what only has to be there.
            others.append((items[number], decide(items[number])))
        found.unchanged, found.not_selected = unchanged, not_selected
        return found

    def _update_of_one(self, row: Row) -> _Update | None:
        """`_update` where there is one target: by far the most frequent steps."""
        (target,) = self._targets
        parts = target.parts(row)
        if None in parts or False in parts:
            return None
        text = target.pattern % parts
        there = row[target.at]
        if there == text:
            return _NOTHING
        if there is None or (target.most is not None and not 0 < len(text) <= target.most):
            return None
        state = _ONE_ABSENT if there is False else _ONE_PRESENT
        form, values = self._forms.get(state) or self._form(state)
        return form, (text,), values(row)

    def _update(self, row: Row) -> _Update | None:
        """What makes a selected item right: _NOTHING where it is, None where that is not certain."""
        which: list[tuple[int, bool]] = []
        texts: list[str] = []
        for number, target in enumerate(self._targets):
            parts = target.parts(row)
            if None in parts or False in parts:
                return None
            text = target.pattern % parts
            there = row[target.at]
            if there == text:
                continue
            if there is None or (target.most is not None and not 0 < len(text) <= target.most):
                return None
            which.append((number, there is not False))
            texts.append(text)
        if not which:
            return _NOTHING
        state = tuple(which)
        form, values = self._forms.get(state) or self._form(state)
        return form, tuple(texts), values(row)

    def _form(self, state: tuple[tuple[int, bool], ...]) -> tuple[TextForm, Callable[[Row], tuple[Any, ...]]]:
        guarded = dict(self._guarded)
        for number, is_there in state:
            guarded[self._targets[number].name] = is_there
        sets = tuple(self._targets[number].name for number, _ in state)
        form = TextForm(sets, self.decider.key_names, tuple(guarded.items()))
        names = [name for name, present in guarded.items() if present]
        made = self._forms[state] = (form, _taking([self._names.index(name) for name in names]))
        return made


_ONE_ABSENT, _ONE_PRESENT = ((0, False),), ((0, True),)
_Update: TypeAlias = tuple[TextForm, tuple[str, ...], tuple[Any, ...]]
"""What an update is made of: what it sets, and the present values that it guards."""
_NOTHING: _Update = (TextForm((), (), ()), (), ())


def tests_of(where: Any) -> Mapping[str, tuple[Callable[[Cell], bool], bool]] | None:
    """Attribute -> (what its cell must be, whether the attribute is there then); None where texts do not tell."""
    if not isinstance(where, Mapping):
        return None
    found: dict[str, tuple[Callable[[Cell], bool], bool]] = {}
    for name, condition in where.items():
        match condition:
            case Exists():
                found[name] = (_is_there, True)
            case Absent():
                found[name] = (_is_absent, False)
            case BeginsWith(str() as prefix):
                found[name] = (_begins(prefix), True)
            case OneOf(values) if all(isinstance(value, str) for value in values):
                texts = _texts(values)
                if texts is None:
                    return None
                found[name] = (texts.__contains__, True)
            case str():
                texts = _texts((condition,))
                if texts is None:
                    return None
                found[name] = (texts.__contains__, True)
            case _:
                return None
    return found


def _is_there(cell: Cell) -> bool:
    return cell is not False


def _is_absent(cell: Cell) -> bool:
    return cell is False


def _begins(prefix: str) -> Callable[[Cell], bool]:
    return lambda cell: isinstance(cell, str) and cell.startswith(prefix)


def _texts(values: Sequence[Any]) -> frozenset[Any] | None:
    try:
        return frozenset(from_python(value)["S"] for value in values)
    except BadValue:
        return None


def _read(templates: Sequence[tuple[str, Sequence[str | Reference]]]) -> frozenset[str]:
    return frozenset(part.attribute for _, parts in templates for part in parts if isinstance(part, Reference))


def _target(
    name: str,
    parts: Sequence[str | Reference],
    at: Mapping[str, int],
    indexes: Mapping[str, tuple[str, Literal["partition", "sort"]]],
) -> _Target | None:
    """None where an index wants something else than text."""
    if any(kind != "S" for kind, _ in indexes.values()):
        return None
    limits = [MAX_PARTITION_KEY_BYTES if role == "partition" else MAX_SORT_KEY_BYTES for _, role in indexes.values()]
    pattern = "".join(part.replace("%", "%%") if isinstance(part, str) else "%s" for part in parts)
    taking = _taking([at[part.attribute] for part in parts if isinstance(part, Reference)])
    return _Target(at[name], name, pattern, taking, min(limits) // _MOST_BYTES if limits else None)


def _taking(numbers: Sequence[int]) -> Callable[[Row], tuple[Any, ...]]:
    """What takes the cells at these places from a row."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    if not numbers:
        return lambda _: ()
    (number,) = numbers
    return lambda row: (row[number],)
