"""A page of a scan that stays bytes: rows of the texts that are asked for, and items one by one where one is wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, overload

import msgspec

from migrator.core.rows import Row, rows_of
from migrator.wire.lazy import LazyItem, Wanted

_pieces = msgspec.json.Decoder(list[msgspec.Raw]).decode
_PLAIN = re.compile(r"[A-Za-z0-9_#:.$@+=-]+\Z")


class LazyPage(Sequence[LazyItem]):
    """The items of a page, of which `raw` is the JSON array. One thread's."""

    __slots__ = ("_count", "_items", "_list", "_raw", "_wanted")

    def __init__(self, raw: msgspec.Raw, wanted: Wanted):
        self._raw = raw
        self._wanted = wanted
        self._count: int | None = None
        self._list: list[msgspec.Raw] | None = None
        self._items: list[LazyItem] | None = None

    def _split(self) -> list[msgspec.Raw]:
        if self._list is None:
            self._list = _pieces(self._raw)
        return self._list

    def __len__(self) -> int:
        if self._count is None:
            self._count = len(self._split())
        return self._count

    @overload
    def __getitem__(self, at: int) -> LazyItem: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[LazyItem]: ...
    def __getitem__(self, at: int | slice) -> LazyItem | Sequence[LazyItem]:
        if self._items is not None:
            return self._items[at]
        if isinstance(at, slice):
            return self._all()[at]
        return LazyItem(self._split()[at])

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[LazyItem]:
        return iter(self._all())

    def _all(self) -> list[LazyItem]:
        if self._items is None:
            self._items = self._wanted.items(self._raw, self._split())
        return self._items

    # --- RowsOfTexts

    def rows(self, names: tuple[str, ...]) -> Iterable[Row]:
        reading = _reading(names)
        if reading is None:
            return rows_of(self._all(), names)
        decode, row = reading
        found = decode(self._raw)
        self._count = len(found)
        return map(row, found)

    def surely_lacks(self, text: str) -> bool:
        # Whatever JSON may write in another way (an escape of a plain character) leaves a doubt.
        if _PLAIN.match(text) is None:
            return False
        raw = bytes(self._raw)
        # A single byte is looked for at a tenth of the cost of two.
        return text.encode() not in raw and (b"\\" not in raw or b"\\u" not in raw)


class _Text(msgspec.Struct, frozen=True, gc=False):
    """An attribute value: None where it is of another type."""

    S: str | None = None


# Told apart from a value that is no text; only what is decoded is checked for its type.
_ABSENT = _Text(False)  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def _reading(names: tuple[str, ...]) -> tuple[Any, Any] | None:
    """What decodes a page to objects of these attributes alone, and what makes a row of one.

    None for names that JSON may write in more than one way, and a decoder may not know again.
    """
    if not all(map(_PLAIN.match, names)):
        return None
    fields = [f"a{number}" for number in range(len(names))]
    shape = msgspec.defstruct(
        "Attributes",
        [(field, _Text, _ABSENT) for field in fields],
        rename=dict(zip(fields, names, strict=True)),
        gc=False,
    )
    taken = attrgetter(*(f"{field}.S" for field in fields))
    return msgspec.json.Decoder(list[shape]).decode, taken if len(names) > 1 else lambda one: (taken(one),)  # type: ignore[valid-type]
