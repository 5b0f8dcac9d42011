"""What a data step asks of one item: guarded changes, and what came of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from migrator.core.item import AttributeValue, Item, Key

Guard: TypeAlias = Mapping[str, AttributeValue | None]
"""Top-level attribute -> the value that was read, or None where its absence was read."""


@dataclass(frozen=True, slots=True)
class Check:
    """Another item that must still be as it was read: present and as guarded, or absent."""

    table: str
    key: Key
    present: bool
    guard: Guard = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """One guarded write to an item that exists: the item is still there and every guarded attribute is as read.

    Names are top-level attributes, whatever characters they hold. Nothing else of the item is touched. An item
    that is gone stays gone: no change re-creates it.
    """

    guard: Guard
    set: Mapping[str, AttributeValue] = field(default_factory=dict)
    remove: frozenset[str] = frozenset()
    checks: tuple[Check, ...] = ()

    def applied_to(self, item: Item) -> Item:
        """The item as it will be. Nothing is copied: of an item that is bytes as yet, only what is read is decoded."""
        return Changed(item, self)


class Changed(Mapping[str, AttributeValue]):
    """An item as it will be after a change."""

    __slots__ = ("_change", "_item")

    def __init__(self, item: Item, change: Change):
        self._item = item
        self._change = change

    def get(self, name: str, default: Any = None) -> Any:
        value = self._change.set.get(name)
        if value is not None:
            return value
        return default if name in self._change.remove else self._item.get(name, default)

    def __getitem__(self, name: str) -> AttributeValue:
        value: AttributeValue | None = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        sets, remove = self._change.set, self._change.remove
        yield from (name for name in self._item if name not in sets and name not in remove)
        yield from sets

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class Update:
    """Change the item at `key`, if it exists and is as guarded."""

    key: Key
    change: Change

    @property
    def has_checks(self) -> bool:
        """Whether it rests on other items: then only a transaction can write it."""
        return bool(self.change.checks)


@dataclass(frozen=True, slots=True)
class TextForm:
    """What updates that set texts by the guard of texts have in common. `id` is equal where they are."""

    sets: tuple[str, ...]
    key_names: tuple[str, ...]
    guarded: tuple[tuple[str, bool], ...]
    """Attribute, and whether it is there."""
    id: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", repr((self.sets, self.key_names, self.guarded)))


class TextUpdate(Update):
    """An Update whose values are all strings: those set, those of the key, those of present guarded attributes.

    Key and change are made when somebody asks: a transport that speaks in batches need not.
    """

    __slots__ = ("form", "texts")

    form: TextForm
    texts: tuple[str, ...]

    def __init__(self, form: TextForm, texts: tuple[str, ...]):
        _set_form(self, form)
        _set_texts(self, texts)

    @property
    def key(self) -> Key:
        begin = len(self.form.sets)
        return dict(zip(self.form.key_names, map(_text, self.texts[begin:]), strict=False))

    @property
    def change(self) -> Change:
        form = self.form
        values = map(_text, self.texts[len(form.sets) + len(form.key_names) :])
        guard = {name: next(values) if present else None for name, present in form.guarded}
        return Change(guard, dict(zip(form.sets, map(_text, self.texts), strict=False)))

    @property
    def has_checks(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Update) and (self.key, self.change) == (other.key, other.change)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TextUpdate(key={self.key!r}, change={self.change!r})"


_set_form: Callable[[TextUpdate, TextForm], None] = TextUpdate.form.__set__  # type: ignore[attr-defined]
_set_texts: Callable[[TextUpdate, tuple[str, ...]], None] = TextUpdate.texts.__set__  # type: ignore[attr-defined]


def _text(text: str) -> dict[str, str]:
    return {"S": text}


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole item where none is: never over an existing one."""

    item: Item
    key: Key


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the item at `key`, if it exists and is as guarded."""

    key: Key
    guard: Guard


Write: TypeAlias = Update | Put | Delete


@dataclass(frozen=True, slots=True)
class Written:
    """The write was applied. `before` is the whole item a Delete removed (its ALL_OLD image)."""

    before: Item | None = None


@dataclass(frozen=True, slots=True)
class GuardLost:
    """The item is not as it was read, or no longer there (`current` None): nothing was written.

    For a Put, `current` is the item that stands in its place. `current` is read consistently after the refusal.
    """

    current: Item | None


@dataclass(frozen=True, slots=True)
class ChecksLost:
    """An item looked up for the decision, or a control record named in the transaction, is no longer as it was read."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The service will never take this write: validation, size, an index key it does not allow."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Not applied for a passing reason (throttled, conflict); `reasons` are ThrottlingReasons where given."""

    code: str
    message: str
    reasons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """The answer was lost (time-out, 500, 503): the write may have been applied. Read before judging."""

    message: str


Outcome: TypeAlias = Written | GuardLost | ChecksLost | Refused | TryAgain | Unknown
