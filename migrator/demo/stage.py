"""How the demo speaks: chapters, the commands it runs, what they answer, and the table of right answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from rich.console import Console, RenderableType
from rich.text import Text

from migrator import wiring
from migrator.cli import phrases
from migrator.cli.bars import Bars
from migrator.cli.render.text import Answer as Result
from migrator.cli.render.text import show
from migrator.core.events import Event, IndexPolled, Report, RevisionStarted, StepFinished, Waiting
from migrator.machine import SystemClock
from migrator.runner.runner import Runner


class Stage:
    """Writes to one console; runs commands on one project."""

    def __init__(self, console: Console, config: Path):
        self._console = console
        self._config = config
        self._chapter = 0

    def chapter(self, title: str, *lines: str) -> None:
        self._chapter += 1
        self._print(Text(), Text(f"{self._chapter}  {title}", style="bold cyan"))
        self.say(*lines)

    def say(self, *lines: str) -> None:
        self._print(*map(Text, lines))

    def command(self, words: str) -> None:
        self._print(Text(), Text.assemble(("$ ", "dim"), (words, "bold")))

    def answer(self, result: Result) -> None:
        show(result, self._console)

    @contextmanager
    def runner(self, *, read_only: bool = False) -> Iterator[Runner]:
        """A runner as the command of the same name has it, whose progress is shown here."""
        project = wiring.open_project(self._config, None, {})
        with self._progress() as report, wiring.open_runner(project, report, read_only=read_only) as runner:
            yield runner

    @contextmanager
    def _progress(self) -> Iterator[Report]:
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            with Bars(self._console, structlog.get_logger(), SystemClock().monotonic) as bars:
                yield bars
        else:
            yield Said(self._console)

    def _print(self, *parts: RenderableType) -> None:
        write(self._console, *parts)


def write(console: Console, *parts: RenderableType) -> None:
    """Print at once. What goes through a pipe has no spaces that only fill the line."""
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    console.file.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))
    console.file.flush()


class Said:
    """A Report in plain lines, for a pipe: each is said once, however often it is seen. Thread-safe."""

    def __init__(self, console: Console):
        self._console = console
        self._lock = threading.Lock()
        self._said: set[str] = set()

    def __call__(self, event: Event) -> None:
        with self._lock:
            line = _line(event)
            if line and line not in self._said:
                self._said.add(line)
                write(self._console, Text(line))


def _line(event: Event) -> str:
    match event:
        case RevisionStarted():
            return phrases.revision(event)
        case StepFinished():
            return f"  done {event.step}: {event.outcome}"
        case IndexPolled():
            backfilling = ", backfilling" if event.backfilling else ""
            return f"  index {event.index}: {event.index_status or 'not listed'}{backfilling}"
        case Waiting():
            return f"  waiting: {event.reason.partition(';')[0]}"
        case _:
            return ""
