"""One look at every item of a table, for a command that only reads: nothing is recorded, so nothing is resumed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from migrator.config import Limits
from migrator.control.layout import application_items
from migrator.core.events import Counts, Report, SegmentProgress, StepFinished, StepStarted, Waiting
from migrator.core.item import Item
from migrator.core.ports import Clock, Entropy, Items, LiveTable
from migrator.engine.pace import Pace
from migrator.engine.pages import Pages, PageSize, Team
from migrator.engine.segments import segments_of
from migrator.engine.work import SLICE, Stop

Take = Callable[[Sequence[Item], float], None]
"""Gets the items of a page, and the read units that it consumed."""


@dataclass(slots=True)
class Survey:
    """A strongly consistent scan by segments, at the pace of the read budget. It holds a page for each worker."""

    items: Items
    clock: Clock
    entropy: Entropy
    limits: Limits
    reads: Mapping[str, float]
    """The read budget, in units a second by resource; none where empty."""
    control_prefixes: Mapping[str, str]
    report: Report
    stop: Stop
    name: str
    """Of what is looked for, in the events."""
    counts: Counts = field(default_factory=Counts)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _team: Team = field(default_factory=lambda: Team(1))
    _done: int = 0

    def run(self, live: LiveTable, take: Take) -> Counts:
        """Give every page to `take`, one at a time. Returns how many items were scanned, and the read units."""
        self.report(StepStarted("", self.name, f"look at every item of {live.name}"))
        total = segments_of(live, self.limits)
        pace = Pace(self.clock, self._wait, reads=self.reads)
        self._team = Team(self.limits.workers)
        order = self.entropy.shuffled(range(total))
        self._team.work(order, lambda segment: self._segment(segment, total, live, pace, take))
        self.report(StepFinished("", self.name, f"{self.counts.scanned:,} scanned"))
        return self.counts

    def blocks(
        self, live: LiveTable, total: int, chosen: Sequence[int], *, items: int, pages: int, take: Callable[[int], Take]
    ) -> tuple[list[int], bool]:
        """The beginnings of the chosen of `total` segments, at the read budget: so many items or pages of each.

        `take` makes what gets the pages of a block, by its number. Returns how many items were read of each block,
        control records among them, and whether that was the whole table.
        """
        pace = Pace(self.clock, self._wait, reads=self.reads)
        prefix = self.control_prefixes.get(live.name)
        sizes, is_whole = [], len(chosen) == total
        for number, segment in enumerate(chosen):
            size, start, give = 0, None, take(number)
            for _ in range(pages):
                self.stop.raise_if_asked()
                pace.before("read")
                page = self.items.scan(live.name, segment=segment, total=total, start=start, limit=items - size)
                pace.spent(page.consumed)
                # DescribeTable counts control records too.
                size += len(page.items)
                mine = application_items(page.items, live.shape.partition_key.name, prefix)
                give(mine, sum(page.consumed.read.values()))
                start = page.next
                if start is None or size >= items:
                    break
            sizes.append(size)
            is_whole = is_whole and start is None
        return sizes, is_whole

    def _segment(self, segment: int, total: int, live: LiveTable, pace: Pace, take: Take) -> None:
        prefix = self.control_prefixes.get(live.name)
        partition = live.shape.partition_key.name
        pages = Pages(
            self.items,
            PageSize(self.clock),
            self.entropy,
            pace,
            self._wait,
            live.name,
            partition,
            prefix,
            segment,
            total,
        )
        start = None
        while True:
            self._team.raise_if_halted()
            self.stop.raise_if_asked()
            page = pages.read(start)
            with self._lock:
                units = sum(page.consumed.read.values())
                take(page.items, units)
                self.counts += Counts(scanned=len(page.items), read_units=units)
                self._done += page.next is None
                self._tell(total, live, pace)
            pages.handled()
            if page.next is None:
                return
            start = page.next

    def _tell(self, total: int, live: LiveTable, pace: Pace) -> None:
        reads, writes = pace.rates()
        approximate = live.item_count or None
        self.report(SegmentProgress("", self.name, "look", self.counts, self._done, total, approximate, writes, reads))

    def _wait(self, seconds: float, reason: str) -> None:
        self.report(Waiting(reason, seconds))
        end = self.clock.monotonic() + seconds
        while (left := end - self.clock.monotonic()) > 0:
            self._team.raise_if_halted()
            self.stop.raise_if_asked()
            self.clock.sleep(min(SLICE, left))
