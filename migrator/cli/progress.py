"""Progress on stderr: live bars on a terminal, a structured line now and then everywhere else.

Both take events from several threads at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from migrator.cli.bars import Bars
from migrator.cli.lines import Lines
from migrator.core.events import Report


@contextmanager
def open_progress(console: Console, log: Any, monotonic: Callable[[], float]) -> Iterator[Report]:
    """A Report that shows events until the end of the block."""
    if console.is_terminal and not console.is_dumb_terminal:
        with Bars(console, log, monotonic) as bars:
            yield bars
    else:
        yield Lines(log, monotonic)
