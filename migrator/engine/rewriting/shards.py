"""The shards of one table's stream: which may be read now, how far each one was, and which are gone unread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from migrator.control.mirrors import ShardState
from migrator.core.streams import Shard, StreamInfo, Streams

SHARDS_SECONDS = 10.0
"""How often the shards are listed anew; after the end of one, at once."""
EMPTY_PAGES = 3
"""So many pages without a record, one after the other, are the end of an open shard: one alone may come before it."""


@dataclass(slots=True)
class Lineage:
    """A child is read after the end of its parent (facts §7)."""

    table: str
    streams: Streams
    states: dict[str, ShardState] = field(default_factory=dict)
    """By shard."""
    positions: dict[str, str] = field(default_factory=dict)
    info: StreamInfo = field(default_factory=lambda: StreamInfo("", ""))
    listed: Sequence[Shard] = ()
    _listed_at: float | None = None
    _missed: set[str] = field(default_factory=set)

    def at(self, shard: str) -> ShardState:
        known = self.states.get(shard)
        if known is None or known.stream != self.info.arn:
            return ShardState(self.table, shard, self.info.arn)
        return known

    def readable(self, info: StreamInfo, now: float) -> list[Shard]:
        """Shards that are not done, each after the end of its parent. `now` is monotonic."""
        if info.arn != self.info.arn:
            self.positions.clear()
            self._listed_at = None
        self.info = info
        if self._listed_at is None or now - self._listed_at >= SHARDS_SECONDS:
            self.listed, self._listed_at = self.streams.shards(info.arn), now
        there = {shard.id for shard in self.listed}
        return [
            shard
            for shard in self.listed
            if not self.at(shard.id).done and (shard.parent not in there or self.at(shard.parent).done)
        ]

    def list_again(self) -> None:
        self._listed_at = None

    def missed(self) -> list[str]:
        """Shards whose records were not all read and are not to be had any more, each said once.

        A shard goes a day after its last record. One that is not listed for a moment is said to be missed too: that
        costs a comparison, which is made in any case.
        """
        listed = {shard.id for shard in self.listed}
        gone = {
            shard for shard, one in self.states.items() if not one.done and (shard not in listed or self._is_old(one))
        }
        if self.states:
            # A child of one that nobody here has seen: that one came and went meanwhile. And a stream that took the
            # place of another begins with a gap.
            gone |= {one.parent for one in self.listed if one.parent and one.parent not in listed | self.states.keys()}
            gone |= {one.shard for one in self.states.values() if all(map(self._is_old, self.states.values()))}
        found = sorted(gone - self._missed)
        self._missed |= gone
        return found

    def _is_old(self, state: ShardState) -> bool:
        return state.stream != self.info.arn

    def open(self) -> set[str]:
        """Shards that are not read to their end, children that cannot be read yet included, or are not listed yet."""
        return {one.id for one in self.listed if not self.at(one.id).done or not self.children(one.id)}

    def children(self, shard: str) -> list[str]:
        return [one.id for one in self.listed if one.parent == shard]


@dataclass(slots=True)
class Unread:
    """What was not yet read to its end since a probe was met: (table, shard) -> pages without a record so far."""

    left: dict[tuple[str, str], int] = field(default_factory=dict)

    def page(self, table: str, shard: str, *, is_empty: bool) -> None:
        """A page of an open shard was read."""
        place = (table, shard)
        if place not in self.left:
            return
        self.left[place] = self.left[place] + 1 if is_empty else 0
        if self.left[place] >= EMPTY_PAGES:
            del self.left[place]

    def listed(self, lineage: Lineage) -> None:
        """After a listing: what came of shards that ended is to be read too."""
        for table, shard in list(self.left):
            if table != lineage.table or not lineage.at(shard).done:
                continue
            children = lineage.children(shard)
            # A shard that ended has children: where none is listed yet, the listing lags behind.
            if children:
                del self.left[table, shard]
                # One that is done already has children of its own: they are looked for the next time.
                self.left |= {(table, child): 0 for child in children}
