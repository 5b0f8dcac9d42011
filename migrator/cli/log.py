"""The log on stderr: lines for a person on a terminal, JSON lines for everything else."""

from __future__ import annotations

import logging
from typing import Any

import structlog
from rich.console import Console
from rich.text import Text
from structlog.typing import Processor


class ConsoleLines:
    """A structlog logger that writes through the console, so that lines go above live bars, not into them."""

    def __init__(self, console: Console):
        self._console = console

    def msg(self, message: str) -> None:
        if self._console.is_terminal:
            self._console.print(Text.from_ansi(message), soft_wrap=True)
        else:
            self._console.file.write(message + "\n")
            self._console.file.flush()

    log = debug = info = warn = warning = error = critical = fatal = exception = failure = err = msg


def configure_log(console: Console, *, verbose: bool = False) -> Any:
    """The logger of this invocation; structlog's own `get_logger` gives one like it from now on."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if console.is_terminal else "iso", utc=not console.is_terminal),
    ]
    form: list[Processor] = (
        [structlog.dev.ConsoleRenderer(colors=not console.no_color, pad_event_to=0, pad_level=False)]
        if console.is_terminal
        else [
            structlog.processors.dict_tracebacks,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
        ]
    )
    processors = [*shared, *form]
    level = structlog.make_filtering_bound_logger(logging.DEBUG if verbose else logging.INFO)
    # Whatever else logs must not write to stdout, where structlog's own default goes.
    structlog.configure(
        processors=processors,
        wrapper_class=level,
        logger_factory=lambda *_: ConsoleLines(console),
        cache_logger_on_first_use=False,
    )
    return structlog.wrap_logger(ConsoleLines(console), processors=processors, wrapper_class=level)
