"""What came of the items of one page."""

from __future__ import annotations

from dataclasses import dataclass, field

from migrator.core.events import Counts
from migrator.core.item import Key


@dataclass(frozen=True, slots=True)
class Failure:
    key: Key
    code: str
    reason: str


@dataclass(slots=True)
class Tally:
    """Counts in the making: the items of a page by what came of them."""

    scanned: int = 0
    written: int = 0
    unchanged: int = 0
    not_selected: int = 0
    skipped: int = 0
    conflicts: int = 0
    gone: int = 0
    failed: int = 0

    def counts(self, read_units: float = 0.0, write_units: float = 0.0) -> Counts:
        numbers = {name: getattr(self, name) for name in self.__slots__}
        return Counts(**numbers, read_units=read_units, write_units=write_units)


@dataclass(slots=True)
class PageOutcome:
    """What came of a page: every item of it is confirmed, unchanged, gone or failed."""

    counts: Counts = field(default_factory=Counts)
    failures: list[Failure] = field(default_factory=list)
    resolved: list[Key] = field(default_factory=list)
    """Keys that were written or found right: an earlier failure of theirs is over."""
    repeats: bool = False
    tally: Tally = field(default_factory=Tally)
    """What `counts` is made of when the page is settled."""
