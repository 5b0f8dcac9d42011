"""Reading a record's body with its types checked: a damaged record is an error with its name, never a traceback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from migrator.core.events import Counts
from migrator.core.item import BadValue, Item, from_json, to_json
from migrator.core.ports import Address, Expect, Json, Record
from migrator.errors import MigratorError

T = TypeVar("T")
_FLOATS = ("read_units", "write_units")


def damaged(address: Address, why: str) -> MigratorError:
    """The error for a control record that cannot be read."""
    return MigratorError(
        "damaged-record",
        f"control record {address.partition!r} / {address.sort!r} cannot be read: {why}",
        hint="nothing was changed; restore that item from a backup, or mend the field by hand, and run again",
    )


class Body:
    """The body of one record. Every reader raises `damaged-record` where the value is of another type."""

    def __init__(self, record: Record):
        self.record = record
        # What somebody wrote there by hand may be anything.
        parts: dict[str, object] = {"body": record.body, "items": record.items}
        for name, part in parts.items():
            if not isinstance(part, Mapping):
                raise damaged(record.address, f"its {name} is of type {type(part).__name__}, not a map")
        self._fields: Mapping[str, Json] = record.body

    def _get(self, name: str, kind: type[T], default: T | None) -> T:
        value = self._fields.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            found = "nothing" if value is None else type(value).__name__
            raise damaged(self.record.address, f"{name} holds {found}, not {kind.__name__}")
        return value

    def text(self, name: str, default: str | None = None) -> str:
        return self._get(name, str, default)

    def integer(self, name: str, default: int | None = None) -> int:
        return self._get(name, int, default)

    def flag(self, name: str, default: bool | None = None) -> bool:
        return self._get(name, bool, default)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings; absent is empty."""
        values = self._get(name, list, [])
        if not all(isinstance(value, str) for value in values):
            raise damaged(self.record.address, f"{name} holds something else than strings")
        return tuple(values)

    def mapping(self, name: str) -> dict[str, Json]:
        """A mapping of anything; absent is empty."""
        return self._get(name, dict, {})

    def mappings(self, name: str) -> dict[str, dict[str, Json]]:
        """A mapping of mappings; absent is empty."""
        values = self.mapping(name)
        for key, value in values.items():
            if not isinstance(value, dict):
                raise damaged(self.record.address, f"{name}.{key} holds {type(value).__name__}, not dict")
        return values

    def choice(self, name: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        value = self.text(name, default)
        if value not in allowed:
            raise damaged(self.record.address, f"{name} is {value!r}, none of {', '.join(allowed)}")
        return value

    def counts(self, name: str = "counts") -> Counts:
        """Counts, with units as text; absent ones are zero."""
        found = self.mapping(name)
        known = {field.name for field in fields(Counts)} & found.keys()
        try:
            values: dict[str, Any] = {key: (float if key in _FLOATS else int)(found[key]) for key in known}
            return Counts(**values)
        except (TypeError, ValueError) as exc:
            raise damaged(self.record.address, f"{name}: {exc}") from exc

    def item(self, name: str) -> Item:
        """A whole item or key that the record holds."""
        try:
            found = self.record.items[name]
            from_json(to_json(found))
        except KeyError:
            raise damaged(self.record.address, f"it holds no item {name!r}") from None
        except (BadValue, AttributeError, ValueError, TypeError) as exc:
            raise damaged(self.record.address, f"item {name!r}: {exc}") from exc
        return found


def as_read(record: Record | None, token: int) -> Expect:
    """That a record, or its absence, is as it was read, and not above `token`."""
    if record is None:
        return Expect(absent=True)
    return Expect(absent=False, version=record.version, most_token=token)


def counts_body(counts: Counts) -> dict[str, Json]:
    """Counts as plain values: units, which are fractions, as text that reads back exactly."""
    return {
        field.name: repr(value) if field.name in _FLOATS else value
        for field in fields(Counts)
        if (value := getattr(counts, field.name))
    }
