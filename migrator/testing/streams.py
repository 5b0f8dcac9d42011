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


@dataclass(slots=True)
class _State:
    """What all processes share."""

    arns: dict[str, str] = field(default_factory=dict)
    """Table -> its newest stream."""
    views: dict[str, str] = field(default_factory=dict)
    """Table -> the view of its stream, where that is enabled."""
    pieces: dict[str, list[_Piece]] = field(default_factory=dict)
    """By ARN."""
    lagging: dict[str, tuple[float, list[Shard]]] = field(default_factory=dict)
    """ARN -> what is listed until a moment of the clock."""
    gaps: int = 0
    met: dict[str, int] = field(default_factory=dict)
    """Position -> pages without a record that were read there."""


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
        self._state = _State()

    def as_another(self, on_call: list[Hook] | None = None) -> MemoryStreams:
        """The same streams as another process reaches them."""
        other = MemoryStreams(self._items, self._clock, on_call, page=self._page)
        other._state = self._state
        return other

    # --- what happens to a stream -------------------------------------------------------------------------------------

    def enable(self, table: str, view: str = "NEW_AND_OLD_IMAGES") -> None:
        """Record the changes of a table from now on: in a new stream, unless one is enabled."""
        state = self._state
        with self.lock:
            if table not in state.views:
                arn = f"{table}/{len(state.pieces)}"
                state.arns[table] = arn
                state.pieces[arn] = [_Piece(Shard(f"{arn}-0"), 0, _SLOTS)]
                self._items.watch(table, lambda before, after: self._record(table, before, after))
            state.views[table] = view

    def disable(self, table: str) -> None:
        with self.lock:
            self._state.views.pop(table)
            for piece in self._open(table):
                piece.shard = replace(piece.shard, is_closed=True)

    def split(self, table: str) -> None:
        with self.lock:
            pieces = self._pieces(table)
            for piece in self._open(table):
                middle = (piece.low + piece.high) // 2
                for low, high in ((piece.low, middle), (middle, piece.high)):
                    child = Shard(f"{self._state.arns[table]}-{len(pieces)}", piece.shard.id)
                    pieces.append(_Piece(child, low, high))
                piece.shard = replace(piece.shard, is_closed=True)

    def lag(self, table: str, seconds: float) -> None:
        """For so long shards are listed as they are now."""
        until = self._clock.monotonic() + seconds
        self._state.lagging[self._state.arns[table]] = (until, [piece.shard for piece in self._pieces(table)])

    def gap(self, pages: int) -> None:
        """From now on so many pages without a record come before each that has some."""
        self._state.gaps = pages

    def trim(self, table: str) -> None:
        with self.lock:
            for piece in self._pieces(table):
                piece.trimmed = len(piece.records)

    def forget_closed(self, table: str) -> None:
        """Closed shards go, a day after their last record."""
        with self.lock:
            self._state.pieces[self._state.arns[table]] = self._open(table)

    def records(self, table: str) -> list[list[ChangeRecord]]:
        """The records of each shard, to be disturbed."""
        return [piece.records for piece in self._pieces(table)]

    def _pieces(self, table: str) -> list[_Piece]:
        return self._state.pieces[self._state.arns[table]]

    def _open(self, table: str) -> list[_Piece]:
        return [piece for piece in self._pieces(table) if not piece.shard.is_closed]

    def _record(self, table: str, before: Item | None, after: Item | None) -> None:
        if table not in self._state.views:
            return
        view = self._state.views[table]
        names = self._items.key_names(table)
        item = after if after is not None else before
        assert item is not None
        slot = segment_of(item[names[0]], _SLOTS)
        piece = next(one for one in self._open(table) if one.low <= slot < one.high)
        old = copy_of(before) if before is not None and "OLD" in view else None
        new = copy_of(after) if after is not None and "NEW" in view else None
        number = f"{len(piece.records):012d}"
        piece.records.append(ChangeRecord(key_of(item, names), old, new, number, self._clock.now().timestamp()))

    # --- the port -----------------------------------------------------------------------------------------------------

    def stream(self, table: str) -> StreamInfo | None:
        view = self._state.views.get(table)
        return None if view is None else StreamInfo(self._state.arns[table], view)

    def shards(self, arn: str) -> Sequence[Shard]:
        def effect() -> list[Shard]:
            until, listed = self._state.lagging.get(arn, (0.0, []))
            if self._clock.monotonic() < until:
                return listed
            return [piece.shard for piece in self._state.pieces[arn]]

        return self.call("streams.shards", effect, arn=arn)

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
            if taken and self._state.met.get(position, 0) < self._state.gaps:
                self._state.met[position] = self._state.met.get(position, 0) + 1
                return StreamPage([], position)
            end = first + len(taken)
            is_over = piece.shard.is_closed and end == len(piece.records)
            return StreamPage(list(taken), None if is_over else f"{shard} {end}")

        return self.call("streams.read", effect, arn=arn, shard=shard)

    def _piece(self, arn: str, shard: str) -> _Piece:
        return next(piece for piece in self._state.pieces[arn] if piece.shard.id == shard)
