"""Who works on the segments of a pass where that is not this process: the port, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from migrator.core.events import Counts

if TYPE_CHECKING:
    from migrator.engine.segments import Pass


@dataclass(frozen=True, slots=True)
class SegmentNews:
    """What a worker tells after each page of a segment."""

    segment: int
    counts: Counts
    """Of the whole segment, former runs included."""
    done: bool
    repeats: bool
    failed: int
    """Items of this page that failed and that nobody skips."""
    found: tuple[str, ...] = ()
    """Keys that a check found, for a person."""
    reads: float = 0.0
    """Of the worker so far, in units a second."""
    writes: float = 0.0
    worker: int = 0


class Crew(Protocol):
    """Workers elsewhere, under this run's lease."""

    def work(self, of: Pass, segments: Sequence[int], total: int) -> None:
        """Work on these segments of a pass, which this run has claimed; its news go to `of.take`.

        Raises what stopped the first of them. When it returns or raises, no worker is at any of them any more.
        """
        ...
