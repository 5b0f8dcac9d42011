"""Reading a segment of a table page by page: at the pace of the budget, in pages as large as time allows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import Event

from migrator.control.layout import application_items
from migrator.core.exports import Export
from migrator.core.item import Item, Key
from migrator.core.ports import Clock, Entropy, Items, Page
from migrator.engine.pace import Pace
from migrator.engine.writes import MOST_TRIES
from migrator.errors import MigratorError, Throttled

PAGE_SECONDS = (0.75, 3.0)
"""A page that took longer than this is followed by smaller ones, a quicker one by larger ones."""
_FIRST_LIMIT, _LEAST_LIMIT, _MOST_LIMIT = 100, 25, 1_000_000
_LINE = "line"


@dataclass(slots=True)
class PageSize:
    """How many items the next page has: it is fitted to the seconds that the last one took."""

    clock: Clock
    limit: int = _FIRST_LIMIT
    _began: float = 0.0

    def begin(self) -> None:
        self._began = self.clock.monotonic()

    def handled(self) -> None:
        quick, slow = PAGE_SECONDS
        seconds = self.clock.monotonic() - self._began
        if seconds > slow:
            self.limit = max(_LEAST_LIMIT, self.limit // 2)
        elif seconds < quick:
            self.limit = min(_MOST_LIMIT, self.limit * 2)


@dataclass(slots=True)
class Pages:
    """The pages of one segment, strongly consistent, without the control records that live among them."""

    items: Items
    size: PageSize
    entropy: Entropy
    pace: Pace
    wait: Callable[[float, str], None]
    """Sleeps so many seconds for this reason."""
    table: str
    """Physical."""
    partition_name: str
    control_prefix: str | None
    """What partition keys of control records begin with, where they live in this table."""
    segment: int
    total: int

    def read(self, start: Key | None) -> Page:
        """The page after `start`, once the budget allows it. Throttling slows the pace; if it stays, it is raised."""
        self.size.begin()
        self.pace.before("read")
        page = self._scan(start)
        self.pace.spent(page.consumed)
        return replace(page, items=application_items(page.items, self.partition_name, self.control_prefix))

    def _scan(self, start: Key | None) -> Page:
        for left in range(MOST_TRIES, -1, -1):
            try:
                return self.items.scan(
                    self.table, segment=self.segment, total=self.total, start=start, limit=self.size.limit
                )
            except Throttled as exc:
                if not left:
                    raise
                # One partition that is busy does not slow the other segments.
                if not exc.reasons or any("KeyRange" not in reason for reason, _ in exc.reasons):
                    self.pace.throttled("read", self.table)
                self.wait(self.entropy.uniform(0.0, 5.0), f"back-off: {exc.message}")
        raise AssertionError("unreachable")

    def handled(self) -> None:
        """The page was worked on: the next one is fitted to the seconds that it took."""
        self.size.handled()

    def close(self) -> None:
        """Nothing is held open between two pages of a scan."""


@dataclass(slots=True)
class ExportPages:
    """The pages of one file of an export, without control records. Positions are keys of the form `{"line": n}`."""

    export: Export
    size: PageSize
    key_names: tuple[str, ...]
    control_prefix: str | None
    file: int
    _items: Generator[Item] | None = None
    _line: int = 0

    def read(self, start: Key | None) -> Page:
        """The page after `start`. Raises `bad-export`."""
        self.size.begin()
        if self._items is None:
            self._line = 0 if start is None else int(start[_LINE]["N"])
            self._items = self.export.items(self.file, self._line)
        found = list(islice(self._items, self.size.limit))
        self._line += len(found)
        self._refuse_without_key(found)
        is_last = len(found) < self.size.limit
        return Page(
            application_items(found, self.key_names[0], self.control_prefix),
            None if is_last else {_LINE: {"N": str(self._line)}},
        )

    def _refuse_without_key(self, found: Sequence[Item]) -> None:
        for place, item in enumerate(found, self._line - len(found) + 1):
            if not all(name in item for name in self.key_names):
                raise MigratorError(
                    "bad-export",
                    f"item {place} of file {self.file + 1} of the export has no {' and '.join(self.key_names)}: "
                    "it is of no such table; stopped at a checkpoint",
                    hint="see docs/from-export.md; without --from-export the table itself is read",
                )

    def handled(self) -> None:
        """The page was worked on: the next one is fitted to the seconds that it took."""
        self.size.handled()

    def close(self) -> None:
        if self._items is not None:
            self._items.close()


class Halted(MigratorError):
    """Another segment failed: this one stops where it can be continued."""

    def __init__(self) -> None:
        super().__init__("halted", "another segment failed")


@dataclass(slots=True)
class Team:
    """Threads that work on segments; when one of them fails, or the caller is interrupted, the others halt."""

    workers: int
    _halt: Event = field(default_factory=Event)

    def halt(self) -> None:
        """Let every member stop where it can be continued."""
        self._halt.set()

    def raise_if_halted(self) -> None:
        """Raises Halted. Asked between two pages."""
        if self._halt.is_set():
            raise Halted

    def work(self, segments: Sequence[int], on: Callable[[int], None]) -> None:
        """Call `on` with each segment. Raises what stopped the first of them, never Halted alone."""
        if self.workers == 1:
            for segment in segments:
                on(segment)
            return
        if not segments:
            return
        with ThreadPoolExecutor(self.workers, thread_name_prefix="segment") as pool:
            try:
                futures = [pool.submit(self._guarded, on, segment) for segment in segments]
                errors = [error for error in (future.exception() for future in futures) if error is not None]
            except BaseException:
                # A signal, in this thread: leaving the block waits for the others.
                self._halt.set()
                raise
        if errors:
            # What stops a run (a lost lease above all) says more than what followed from it.
            raise min(errors, key=lambda error: isinstance(error, Halted))

    def _guarded(self, on: Callable[[int], None], segment: int) -> None:
        try:
            self.raise_if_halted()
            on(segment)
        except BaseException:
            self._halt.set()
            raise
