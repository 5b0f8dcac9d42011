"""What a transform sees: an item that records which attributes were read, and lookups that record what they found.

What was read becomes the guard of the write, so that a decision never outlives the values it rests on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from migrator.core.change import Change, Check, Guard
from migrator.core.expression import guard_is_too_large
from migrator.core.item import (
    AttributeValue,
    Item,
    Key,
    Value,
    fingerprint,
    from_python,
    item_size,
    key_of,
    key_text,
    to_python,
)
from migrator.errors import MigratorError


class AttributeAbsent(KeyError):
    """A function reads an attribute that the item has not. Its words are the name alone."""


class WholeItemRead(MigratorError):
    """A transform iterated over, copied, measured or compared the whole item."""

    def __init__(self, how: str):
        super().__init__(
            "reads-whole-item",
            f"the function used {how}, which reads the whole item: an attribute added meanwhile could not be guarded",
            hint="read attributes by name, or give the step version=ATTRIBUTE that every writer changes",
        )


class LookupTooWide(MigratorError):
    """A lookup found more items than one transaction can guard."""

    def __init__(self, message: str):
        super().__init__("lookup-too-wide", message, hint="look up fewer items, or split the step")


_MISSING: Any = object()
MOST_LOOKUPS = 97
"""A transaction holds 100 actions: the write, its segment's record, its journal record, and these."""


class ItemView:
    """An item as Python values, read by attribute name: `item["status"]`, `item.get("x")`, `"x" in item`.

    Values are copies: changing one changes nothing. Anything that needs the whole item (iteration, `len`, `==`,
    `dict(item)`, `.items()`) raises WholeItemRead, unless the step names a version attribute.
    """

    __slots__ = ("_item", "_read", "_whole")

    def __init__(self, item: Item, *, may_read_whole: bool = False):
        self._item = item
        self._read: dict[str, AttributeValue | None] = {}
        self._whole = may_read_whole

    @property
    def reads(self) -> dict[str, AttributeValue | None]:
        """What was read so far: attribute -> value, None where its absence was read."""
        return dict(self._read)

    def wire(self, name: str) -> AttributeValue | None:
        """The attribute in wire form, or None; counts as read."""
        value = self._item.get(name)
        self._read[name] = value
        return value

    def __getitem__(self, name: str) -> Value:
        value = self.wire(name)
        if value is None:
            raise AttributeAbsent(name)
        return to_python(value)

    def get(self, name: str, default: Any = None) -> Value:
        value = self.wire(name)
        return default if value is None else to_python(value)

    def __contains__(self, name: object) -> bool:
        return self.wire(str(name)) is not None

    def _all(self, how: str) -> dict[str, Value]:
        if not self._whole:
            raise WholeItemRead(how)
        return {name: to_python(value) for name, value in self._item.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._all("iteration"))

    def __len__(self) -> int:
        return len(self._all("len()"))

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return self._all("==") == (other._all("==") if isinstance(other, ItemView) else other)

    def __hash__(self) -> NoReturn:
        raise WholeItemRead("hash()")

    def __copy__(self) -> dict[str, Value]:
        return self._all("copy()")

    def __deepcopy__(self, memo: Any) -> dict[str, Value]:
        return self._all("deepcopy()")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise WholeItemRead("pickle")

    def keys(self) -> Any:
        return self._all(".keys()").keys()

    def values(self) -> Any:
        return self._all(".values()").values()

    def items(self) -> Any:
        return self._all(".items()").items()

    def copy(self) -> dict[str, Value]:
        return self._all(".copy()")

    def __repr__(self) -> str:
        return f"<item, {len(self._read)} attributes read>"


# So that `case {"status": s}` in a function meets our len() and is refused, instead of silently never matching.
Mapping.register(ItemView)


class ReadItems(Protocol):
    """Consistent reads of other items, by physical table name resolved by the caller."""

    def get(self, alias: str, key: Key) -> Item | None: ...

    def collection(self, alias: str, partition: Key, most: int) -> Sequence[Item]: ...

    def key_names(self, alias: str) -> tuple[str, ...]: ...

    def physical(self, alias: str) -> str: ...


class Lookup:
    """How a transform looks up other items: `lookup.get({"PK": …, "SK": …})`, `lookup.collection()`.

    Reads are strongly consistent and remembered for one item: asking twice gives one answer. What was found is guarded
    as far as it was read, and so is absence. An item put into a collection later cannot be guarded: a step that calls
    `collection` repeats its pass until it finds nothing to change.
    """

    __slots__ = ("_collections", "_found", "_item", "_most", "_own", "_read", "_self_key", "_table")

    def __init__(self, read: ReadItems, table: str, item: Item, own: ItemView, *, most: int = MOST_LOOKUPS):
        self._read = read
        self._table = table
        self._item = item
        self._own = own
        self._most = most
        self._self_key = _address(table, key_of(item, read.key_names(table)))
        self._found: dict[tuple[str, str], tuple[str, Key, ItemView | None]] = {}
        self._collections: dict[tuple[str, str], list[ItemView]] = {}

    def get(self, key: dict[str, Value], table: str | None = None) -> ItemView | None:
        """The item with this key (Python values), or None."""
        alias = self._table if table is None else table
        wire = {name: from_python(key[name], name) for name in self._read.key_names(alias)}
        address = _address(alias, wire)
        if address == self._self_key:
            return self._own
        if address not in self._found:
            item = self._read.get(alias, wire)
            self._add(address, alias, wire, item)
        return self._found[address][2]

    def collection(self, partition: Value = _MISSING, table: str | None = None) -> list[ItemView]:
        """The other items under a partition key, by default the item's own, in order of their sort key."""
        alias = self._table if table is None else table
        names = self._read.key_names(alias)
        value = self._item[names[0]] if partition is _MISSING else from_python(partition, names[0])
        asked = _address(alias, {names[0]: value})
        if asked not in self._collections:
            views = []
            # One more than can be guarded: the item itself may be among them, and is no lookup.
            for item in self._read.collection(alias, {names[0]: value}, self._most + 1):
                key = key_of(item, names)
                address = _address(alias, key)
                if address == self._self_key:
                    continue
                if address not in self._found:
                    self._add(address, alias, key, item)
                view = self._found[address][2]
                if view is not None:
                    views.append(view)
            self._collections[asked] = views
        return list(self._collections[asked])

    def _add(self, address: tuple[str, str], alias: str, key: Key, item: Item | None) -> None:
        if len(self._found) >= self._most:
            own = key_text(key_of(self._item, self._read.key_names(self._table)))
            raise LookupTooWide(f"more than {self._most} items were looked up for {own}")
        self._found[address] = (alias, key, None if item is None else ItemView(item))

    def seen_from(self, own: ItemView) -> Lookup:
        """The same answers, for another state of the item: what was found already is not read again."""
        other = Lookup(self._read, self._table, self._item, own, most=self._most)
        other._found = self._found
        other._collections = self._collections
        return other

    @property
    def used_collections(self) -> bool:
        return bool(self._collections)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The guards for what was found. The item itself is never among it: its own guard covers it."""
        return tuple(
            Check(self._read.physical(alias), key, view is not None, _without(view, key))
            for alias, key, view in self._found.values()
        )


def _address(alias: str, key: Key) -> tuple[str, str]:
    # The fingerprint, not the text: the text of a long key is cut.
    return (alias, fingerprint(key))


def _without(view: ItemView | None, key: Key) -> Guard:
    return {} if view is None else {name: value for name, value in view.reads.items() if name not in key}


_MOST_CHECKED_BYTES = 3_000_000
"""A transaction holds 4 MB: the rest is for the write itself, an item's worth of guard and one of values."""


def refuse_wide(checks: tuple[Check, ...]) -> None:
    """Raises LookupTooWide where what was looked up cannot be guarded in one transaction."""
    size = sum(item_size({name: value for name, value in check.guard.items() if value is not None}) for check in checks)
    if size > _MOST_CHECKED_BYTES:
        raise LookupTooWide(f"what was read of looked-up items, {size} bytes, does not fit one transaction")
    for check in checks:
        if guard_is_too_large(Change(guard=check.guard), tuple(check.key)):
            raise LookupTooWide(
                f"{len(check.guard)} attributes read of {key_text(check.key)} exceed what one guard holds"
            )
