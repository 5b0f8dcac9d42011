"""Exports of tables, as a pass reads them in place of a scan: each file is a unit of work, as a segment is."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from migrator.core.item import Item

EDGE = timedelta(minutes=2)
"""How far the time of an export may be off: writes within a minute of it may or may not be in it (facts §5), and the
clocks of the service and of this machine differ."""


class Export(Protocol):
    """A full export of one table, as it was at about `time`. It travels to workers by pickle."""

    @property
    def id(self) -> str:
        """Tells it from every other export: its ARN."""
        ...

    @property
    def table_arn(self) -> str: ...

    @property
    def table_id(self) -> str: ...

    @property
    def time(self) -> datetime:
        """The moment that it shows, UTC; see EDGE."""
        ...

    @property
    def item_count(self) -> int: ...

    @property
    def size_bytes(self) -> int:
        """Of its files as they lie here, compressed."""
        ...

    @property
    def file_count(self) -> int: ...

    def items(self, file: int, skip: int) -> Generator[Item]:
        """The items of one file after the first `skip` of them; close it when done. Raises `bad-export`."""
        ...

    def verify(self, before_each: Callable[[], None]) -> None:
        """Read every file and compare it with the manifest. Raises `bad-export`, naming the file."""
        ...


@dataclass(frozen=True, slots=True)
class Exports:
    """What a run reads in place of scans of one table."""

    first: Export
    """The pass reads it."""
    later: Export | None = None
    """The check reads it, once the pass is over; None where it is not there yet, or a scan checks."""
    later_place: str | None = None
    """Where the later export is, or will be; None: a scan checks."""

    @property
    def table(self) -> str:
        """Physical name."""
        return self.first.table_arn.rpartition("/")[2]
