"""Streams of tables in memory: shards that split, and records that are trimmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from migrator.core.item import Item, key_of
from migrator.core.ports import Clock
from migrator.core.streams import ChangeRecord, Shard, StreamInfo, StreamPage, Trimmed
from migrator.testing.hooks import Hook, Hooked
from migrator.testing.items import MemoryItems
from migrator.testing.rows import copy_of, segment_of

_SLOTS = 1 << 16


@dataclass(slots=True)
class _Piece:
    shard: Shard
    low: int
    high: int
    """The slots of the hash space whose items' records it takes."""
    records: list[ChangeRecord] = field(default_factory=list)
    trimmed: int = 0
    """How many records, from the first on, are gone."""


class MemoryStreams(Hooked):
    """The Streams port over MemoryItems. Operations for hooks: `streams.shards`, `streams.position`, `streams.read`.

    `split` closes the open shards and opens two children of each; `trim` lets every record so far be gone; `page` is
    how many records are read at once.
    """

    def __init__(self, items: MemoryItems, clock: Clock, on_call: list[Hook] | None = None, *, page: int = 10):
        super().__init__(items.lock, on_call)
        self._items = items
        self._clock = clock
        self._page = page
        self._views: dict[str, str] = {}
        self._pieces: dict[str, list[_Piece]] = {}

    def as_another(self, on_call: list[Hook] | None = None) -> MemoryStreams:
        """The same streams as another process reaches them."""
        other = MemoryStreams(self._items, self._clock, on_call, page=self._page)
        other._views, other._pieces = self._views, self._pieces
        return other

    # --- what happens to a stream -------------------------------------------------------------------------------------

    def enable(self, table: str, view: str = "NEW_AND_OLD_IMAGES") -> None:
        """Record the changes of a table from now on."""
        with self.lock:
            self._views[table] = view
            self._pieces.setdefault(table, [_Piece(Shard(f"{table}-0"), 0, _SLOTS)])
            self._items.watch(table, lambda before, after: self._record(table, before, after))

    def split(self, table: str) -> None:
        with self.lock:
            for piece in [one for one in self._pieces[table] if not one.shard.is_closed]:
                middle = (piece.low + piece.high) // 2
                for low, high in ((piece.low, middle), (middle, piece.high)):
                    child = Shard(f"{table}-{len(self._pieces[table])}", piece.shard.id)
                    self._pieces[table].append(_Piece(child, low, high))
                piece.shard = replace(piece.shard, is_closed=True)

    def trim(self, table: str) -> None:
        with self.lock:
            for piece in self._pieces[table]:
                piece.trimmed = len(piece.records)

    def _record(self, table: str, before: Item | None, after: Item | None) -> None:
        view = self._views[table]
        names = self._items.key_names(table)
        item = after if after is not None else before
        assert item is not None
        slot = segment_of(item[names[0]], _SLOTS)
        piece = next(one for one in self._pieces[table] if not one.shard.is_closed and one.low <= slot < one.high)
        old = copy_of(before) if before is not None and "OLD" in view else None
        new = copy_of(after) if after is not None and "NEW" in view else None
        number = f"{len(piece.records):012d}"
        piece.records.append(ChangeRecord(key_of(item, names), old, new, number, self._clock.now().timestamp()))

    # --- the port -----------------------------------------------------------------------------------------------------

    def stream(self, table: str) -> StreamInfo | None:
        view = self._views.get(table)
        return None if view is None else StreamInfo(table, view)

    def shards(self, arn: str) -> Sequence[Shard]:
        return self.call("streams.shards", lambda: [piece.shard for piece in self._pieces[arn]], arn=arn)

    def position(self, arn: str, shard: str, after: str | None = None) -> str:
        def effect() -> str:
            piece = self._piece(arn, shard)
            first = piece.trimmed if after is None else int(after) + 1
            if first < piece.trimmed:
                raise Trimmed(f"records of {shard} after {after} are gone")
            return f"{shard} {first}"

        return self.call("streams.position", effect, arn=arn, shard=shard, after=after)

    def read(self, arn: str, position: str) -> StreamPage:
        shard, number = position.split()
        first = int(number)

        def effect() -> StreamPage:
            piece = self._piece(arn, shard)
            if first < piece.trimmed:
                raise Trimmed(f"records of {shard} from {first} on are gone")
            taken = piece.records[first : first + self._page]
            end = first + len(taken)
            is_over = piece.shard.is_closed and end == len(piece.records)
            return StreamPage(list(taken), None if is_over else f"{shard} {end}")

        return self.call("streams.read", effect, arn=arn, shard=shard)

    def _piece(self, arn: str, shard: str) -> _Piece:
        return next(piece for piece in self._pieces[arn] if piece.shard.id == shard)
