"""Whether the indexes of the new side hold its items, each once and under its keys: what queries will find there."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from migrator.control.layout import application_items
from migrator.core.events import Remark
from migrator.core.item import Item, key_of, key_text
from migrator.core.rewrite.reconcile import Place
from migrator.core.rewrite.sketch import Sketch, content_hash, place_hash
from migrator.core.schema import Index
from migrator.engine.indexable import problems
from migrator.engine.rewriting.pairs import LOOK_SECONDS
from migrator.engine.rewriting.passes import Rewriting

LOOKS = 4
"""An index follows its table a little later: what seems to differ is looked at so often, at growing distances."""


@dataclass(slots=True)
class Indexes:
    """The ready indexes of the target tables; `take` is given every item of these tables."""

    rewriting: Rewriting
    _expected: dict[tuple[str, str], Sketch] = field(default_factory=dict)
    _definitions: dict[tuple[str, str], Index] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @staticmethod
    def of(rewriting: Rewriting) -> Indexes:
        made = Indexes(rewriting)
        for table in rewriting.rewrite.targets:
            for name, live in sorted(rewriting.work.live(rewriting.aliases[table]).indexes.items()):
                if live.is_ready:
                    made._definitions[(table, name)] = live.definition
                    made._expected[(table, name)] = Sketch()
                else:
                    rewriting.work.report(Remark(f"index {name} of {table} is {live.status}: it is not compared"))
        return made

    def take(self, table: str, items: Sequence[Item]) -> None:
        """Note what the indexes of a table have to hold."""
        for (owner, name), index in self._definitions.items():
            if owner != table:
                continue
            found = [(place_hash(place), content_hash(keys)) for place, keys in self._entries(table, index, items)]
            with self._lock:
                for place, keys in found:
                    self._expected[(owner, name)].add(place, keys)

    def differences(self) -> list[str]:
        """What an index lacks, or holds and should not, for a person."""
        found: list[str] = []
        for (table, name), index in self._definitions.items():
            seen = Sketch()
            for items in self._scan(table, index):
                for place, keys in self._entries(table, index, items):
                    seen.add(place_hash(place), content_hash(keys))
            apart = self._expected[(table, name)].differences(seen)
            found += [f"index {name} of {table}: {text}" for text in self._look_again(table, index, apart)]
        return found

    def _look_again(self, table: str, index: Index, apart: Collection[int]) -> list[str]:
        """Table and index are compared again where they differ, until they do not or it is no delay any more."""
        names: dict[int, str] = {}
        for look in range(LOOKS):
            if not apart:
                return []
            self.rewriting.work.wait(LOOK_SECONDS * 2**look, f"index {index.name} of {table} follows its table later")
            wanted: dict[int, int] = {}
            found: dict[int, int] = {}

            def take(
                _table: str, items: Sequence[Item], into: dict[int, int] = wanted, of: Collection[int] = apart
            ) -> None:
                for place, keys in self._entries(table, index, items):
                    number = place_hash(place)
                    if number in of:
                        into[number] = content_hash(keys)
                        names[number] = key_text(place.key)

            self.rewriting.look("check", [table], take)
            for items in self._scan(table, index):
                take(table, items, found)
            apart = {number for number in apart if wanted.get(number) != found.get(number)}
        return [
            f"{names[number]} {'is not there' if number not in found else 'stands there as it is not'}"
            for number in sorted(apart)
        ]

    def _scan(self, table: str, index: Index) -> Iterator[Sequence[Item]]:
        work = self.rewriting.work
        key_names = self._key_names(table)
        names = tuple(dict.fromkeys((*key_names, *(one.name for one in index.keys))))
        start = None
        while True:
            work.heed()
            work.lease.beat_if_due()
            work.pace.before("read")
            page = work.items.scan_index(table, index.name, names, start=start)
            work.pace.spent(page.consumed)
            yield application_items(page.items, key_names[0], work.control_prefixes.get(table))
            if page.next is None:
                return
            start = page.next

    def _entries(self, table: str, index: Index, items: Sequence[Item]) -> Iterator[tuple[Place, Item]]:
        """Of each item that belongs into the index, its place and the keys that it has there."""
        for item in items:
            if all(one.name in item for one in index.keys) and not problems(item, index):
                yield (
                    Place(table, key_of(item, self._key_names(table))),
                    {one.name: item[one.name] for one in index.keys},
                )

    def _key_names(self, table: str) -> tuple[str, ...]:
        return next(iter(self.rewriting.rewrite.routes_to(table))).target_names
