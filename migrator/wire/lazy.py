"""Attribute values on the wire, and items that are decoded attribute by attribute: what nobody reads stays bytes."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import Any, TypedDict

import msgspec

from migrator.core.item import AttributeValue

_PLAIN = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})
"""The types whose JSON is their value: no binary inside."""

_attributes = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_value = msgspec.json.Decoder(dict[str, Any]).decode
_MOST_SEEDED = 32


class Wanted:
    """The attributes of a table that are being read: learnt from one page, and decoded with the next in one sweep.

    Threads share it: a name that two of them add at once is added.
    """

    __slots__ = ("_decode", "_known", "_names")

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()
        self._known: frozenset[str] = frozenset()
        self._decode: Any = None

    def note(self, name: str) -> None:
        if len(self._names) < _MOST_SEEDED:
            self._names |= {name}

    def items(self, raw: msgspec.Raw, pieces: Sequence[msgspec.Raw]) -> list[LazyItem]:
        """The items of a page, of which `raw` is the JSON array and `pieces` are its entries."""
        names = self._names
        page = bytes(raw) if names else b""
        # A binary is base64 here: such a page is decoded value by value.
        if not names or b'"B"' in page or b'"BS"' in page:
            return [LazyItem(one, {}, _NOTHING, self) for one in pieces]
        if self._known != names:
            only = TypedDict("only", dict.fromkeys(names, dict[str, Any]), total=False)  # type: ignore[misc]
            self._decode, self._known = msgspec.json.Decoder(list[only]).decode, names
        decode, known = self._decode, self._known
        return [LazyItem(one, seed, known, self) for one, seed in zip(pieces, decode(raw), strict=True)]


_NOTHING: frozenset[str] = frozenset()


class LazyItem(Mapping[str, AttributeValue]):
    """An item as it came: an attribute becomes a Python value when it is first asked for, and stays that object.

    `raw` are its bytes, which leave again as they came. `seed` holds the attributes of the names `known` that it has.
    """

    __slots__ = ("_decoded", "_known", "_names", "_wanted", "raw")

    def __init__(
        self,
        raw: msgspec.Raw,
        seed: dict[str, AttributeValue] | None = None,
        known: frozenset[str] = _NOTHING,
        wanted: Wanted | None = None,
    ):
        self.raw = raw
        self._decoded = {} if seed is None else seed
        self._known = known
        self._wanted = wanted
        self._names: dict[str, msgspec.Raw] | None = None

    @property
    def most_bytes(self) -> int:
        """An upper bound of the item's size as the service counts it: no value is shorter as JSON."""
        return len(self.raw)

    def get(self, name: str, default: Any = None) -> Any:
        found = self._decoded.get(name)
        if found is None:
            if name in self._known:
                return default
            raw = self._all().get(name)
            if self._wanted is not None:
                self._wanted.note(name)
            if raw is None:
                return default
            found = self._decoded[name] = decoded(raw)
        return found

    def __getitem__(self, name: str) -> AttributeValue:
        found: AttributeValue | None = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._decoded or (name not in self._known and name in self._all())

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> ItemsView[str, AttributeValue]:
        return self._whole().items()

    def values(self) -> ValuesView[AttributeValue]:
        return self._whole().values()

    def __repr__(self) -> str:
        return f"LazyItem({dict(self)!r})"

    def _whole(self) -> dict[str, AttributeValue]:
        """Everything, without a note of it: whoever reads all names is no sign of what is read."""
        found = self._decoded
        return {name: found.get(name) or decoded(raw) for name, raw in self._all().items()}

    def _all(self) -> dict[str, msgspec.Raw]:
        if self._names is None:
            self._names = _attributes(self.raw)
        return self._names


def decoded(raw: msgspec.Raw) -> AttributeValue:
    """An attribute value as botocore gives it: binaries are bytes."""
    value = _value(raw)
    for kind in value:
        if kind in _PLAIN:
            return value
    return from_wire(value)


def from_wire(value: Mapping[str, Any]) -> AttributeValue:
    """The value whose JSON has been read: base64 becomes bytes, wherever it is."""
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {"B": b64decode(content)}
        case "BS":
            return {"BS": [b64decode(binary) for binary in content]}
        case "L":
            return {"L": [from_wire(entry) for entry in content]}
        case "M":
            return {"M": item_from_wire(content)}
        case _:
            return dict(value)


def item_from_wire(item: Mapping[str, Any]) -> dict[str, AttributeValue]:
    return {name: from_wire(value) for name, value in item.items()}


def _untouched(value: Any) -> Any:
    if isinstance(value, LazyItem):
        return value.raw
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form on the wire")


encode = msgspec.json.Encoder(enc_hook=_untouched).encode
"""The JSON of a request: bytes become base64, a LazyItem the bytes that it came as."""
