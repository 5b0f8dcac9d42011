"""What a data step asks of one item: guarded changes, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

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

    def applied_to(self, item: Item) -> dict[str, AttributeValue]:
        """The item as it will be."""
        kept = {name: value for name, value in item.items() if name not in self.remove}
        return kept | dict(self.set)


@dataclass(frozen=True, slots=True)
class Update:
    """Change the item at `key`, if it exists and is as guarded."""

    key: Key
    change: Change


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
