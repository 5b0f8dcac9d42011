"""Attribute values on the wire, and items that are decoded attribute by attribute: what nobody reads stays bytes."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from migrator.core.item import AttributeValue

_PLAIN = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})
"""The types whose JSON is their value: no binary inside."""

_attributes = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_value = msgspec.json.Decoder(dict[str, Any]).decode


class LazyItem(Mapping[str, AttributeValue]):
    """An item as it came: an attribute becomes a Python value when it is first asked for, and stays that object.

    `raw` are its bytes, which leave again as they came.
    """

    __slots__ = ("_decoded", "_names", "raw")

    def __init__(self, raw: msgspec.Raw):
        self.raw = raw
        self._names: dict[str, msgspec.Raw] | None = None
        self._decoded: dict[str, AttributeValue] = {}

    @property
    def most_bytes(self) -> int:
        """An upper bound of the item's size as the service counts it: no value is shorter as JSON."""
        return len(self.raw)

    def __getitem__(self, name: str) -> AttributeValue:
        try:
            return self._decoded[name]
        except KeyError:
            pass
        names = self._names
        if names is None:
            names = self._names = _attributes(self.raw)
        found = self._decoded[name] = decoded(names[name])
        return found

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"LazyItem({dict(self)!r})"

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
