"""Progress on a terminal: what is under way, live, below the lines of what is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, assert_never

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from migrator.cli import phrases
from migrator.cli.pace import Pace
from migrator.cli.render import words
from migrator.core.events import (
    Event,
    IndexPolled,
    Remark,
    RevisionFinished,
    RevisionStarted,
    SegmentProgress,
    StepFinished,
    StepStarted,
    Waiting,
)

BAR_WIDTH = 30


class Bars:
    """A Report and a live display. Thread-safe: events change the state, a refreshing thread draws it."""

    def __init__(self, console: Console, log: Any, monotonic: Callable[[], float]):
        self._console = console
        self._log = log
        self._monotonic = monotonic
        self._lock = threading.RLock()
        self._steps: dict[tuple[str, str], StepStarted] = {}
        self._progress: dict[tuple[str, str], SegmentProgress] = {}
        self._paces: dict[tuple[str, str, str], Pace] = {}
        self._indexes: dict[tuple[str, str], IndexPolled] = {}
        self._waiting: tuple[Waiting, float] | None = None
        self._live = Live(console=console, get_renderable=self.drawn, refresh_per_second=4, transient=True)

    def __enter__(self) -> Bars:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        # What is printed goes out after the lock is let go: the drawing thread takes the console's lock, then ours.
        with self._lock:
            self._note(event)
        if isinstance(event, StepFinished | RevisionFinished):
            self._live.refresh()  # else its bar would stand below the line that says it is done
        self._say(event)

    def _note(self, event: Event) -> None:
        match event:
            case StepStarted():
                self._steps[event.revision, event.step] = event
            case StepFinished():
                self._steps.pop((event.revision, event.step), None)
                self._progress.pop((event.revision, event.step), None)
                self._indexes.clear()
                self._waiting = None
            case IndexPolled():
                # The look at the items that came before the build is over.
                self._progress.clear()
                self._indexes[event.table, event.index] = event
                self._waiting = None
            case SegmentProgress():
                self._progress[event.revision, event.step] = event
                pace = self._paces.setdefault((event.revision, event.step, event.stage), Pace())
                pace.saw(self._monotonic(), event.counts.scanned)
                if event.write_units_per_second or event.read_units_per_second:
                    self._waiting = None
            case Waiting():
                self._waiting = (event, self._monotonic())
            case RevisionStarted() | RevisionFinished():
                self._steps.clear()
                self._progress.clear()
                self._paces.clear()
                self._indexes.clear()
                self._waiting = None
            case Remark():
                pass
            case _:
                assert_never(event)

    def _say(self, event: Event) -> None:
        match event:
            case RevisionStarted():
                self._console.print(Text(phrases.revision(event), style="bold"))
            case StepFinished():
                self._console.print(Text.assemble("  ", ("done ", "green"), f"{event.step}: {event.outcome}"))
            case RevisionFinished():
                style = "green" if event.status in {"applied", "rolled-back"} else "yellow"
                self._console.print(Text(f"{event.revision} {event.status} in {words.duration(event.seconds)}", style))
            case Remark(level="warning"):
                self._log.warning(event.message, **({"details": event.details} if event.details else {}))
            case Remark():
                self._log.info(event.message, **({"details": event.details} if event.details else {}))
            case StepStarted() | IndexPolled() | SegmentProgress() | Waiting():
                pass
            case _:
                assert_never(event)

    def drawn(self) -> RenderableType:
        """What is under way, as of now."""
        with self._lock:
            parts: list[RenderableType] = []
            for place, step in self._steps.items():
                parts.append(Text(f"  {step.step} {step.title}"))
                if (progress := self._progress.get(place)) is not None:
                    parts.extend(self._items(progress))
            for event in self._indexes.values():
                parts.append(_bar(event.metrics.progress, 100, f"index {event.index} of {event.table}"))
                parts.append(Text(f"    {phrases.index(event)}"))
            if (reason := self._reason()) is not None:
                parts.append(Text(f"    waiting: {reason}", style="yellow"))
            return Group(*parts)

    def _items(self, progress: SegmentProgress) -> list[RenderableType]:
        pace = self._paces[progress.revision, progress.step, progress.stage]
        done, total = progress.counts.scanned, progress.approximate_items
        left = pace.left(total)
        about = phrases.STAGES[progress.stage] + ("" if left is None else f", about {words.duration(left)} left")
        if total and done <= total:
            bar = _bar(done, total, about)
        else:
            bar = _bar(progress.segments_done, progress.segments_total, about)
        return [bar, Text(f"    {phrases.items(progress)}")]

    def _reason(self) -> str | None:
        """Why nothing is sent right now; a wait whose time is over is not shown any longer."""
        if self._waiting is None:
            return None
        event, since = self._waiting
        if event.seconds is None:
            return event.reason
        left = event.seconds - (self._monotonic() - since)
        return f"{event.reason} ({words.duration(left)})" if left > 0 else None


def _bar(done: float | None, total: float, about: str) -> Table:
    """A bar with words; an unknown share is an empty bar that says nothing about a share."""
    row = Table.grid(padding=(0, 1))
    share = "  ? %" if done is None else f"{100 * done / total:3.0f} %" if total else "  0 %"
    row.add_row("   ", ProgressBar(total=total or 1, completed=done or 0, width=BAR_WIDTH), Text(share), Text(about))
    return row
