"""Progress where nobody watches: a log line for each start and finish, and one every few seconds between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, assert_never

from migrator.cli import phrases
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

EVERY = 5.0
"""Seconds between two lines of one step, one index or one reason to wait."""


class Lines:
    """A Report. Thread-safe."""

    def __init__(self, log: Any, monotonic: Callable[[], float], *, every: float = EVERY):
        self._log = log
        self._monotonic = monotonic
        self._every = every
        self._said: dict[tuple[str, ...], float] = {}
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        log = self._log
        match event:
            case RevisionStarted():
                self._said.clear()
                log.info("revision started", about=phrases.revision(event), **asdict(event))
            case RevisionFinished():
                log.info(
                    "revision finished",
                    revision=event.revision,
                    status=event.status,
                    seconds=_rounded(event.seconds),
                    **asdict(event.counts),
                )
            case StepStarted():
                log.info("step started", **asdict(event))
            case StepFinished():
                log.info("step finished", **asdict(event))
            case IndexPolled():
                if self._is_due("index", event.table, event.index, event.index_status or "", str(event.backfilling)):
                    log.info("index", about=phrases.index(event), **_flat(event))
            case SegmentProgress():
                if self._is_due("items", event.revision, event.step, event.stage):
                    log.info("items", about=phrases.items(event), **_flat(event))
            case Waiting():
                if self._is_due("waiting", event.reason):
                    log.info("waiting", reason=event.reason, seconds=_rounded(event.seconds))
            case Remark():
                # Details are the runner's own names: kept apart, they cannot collide with the log's.
                log.log(
                    30 if event.level == "warning" else 20,
                    event.message,
                    **({"details": event.details} if event.details else {}),
                )
            case _:
                assert_never(event)

    def _is_due(self, *key: str) -> bool:
        """Whether a line of this kind may be said now. A change of index status is another key, so always due."""
        now = self._monotonic()
        if key in self._said and now - self._said[key] < self._every:
            return False
        self._said[key] = now
        return True


def _flat(event: IndexPolled | SegmentProgress) -> dict[str, Any]:
    fields = asdict(event)
    for inner in ("metrics", "counts"):
        fields |= fields.pop(inner, {})
    return {name: _rounded(content) for name, content in fields.items()}


def _rounded(content: Any) -> Any:
    """To thousandths: more digits of a time or a rate are noise in a log."""
    return round(content, 3) if isinstance(content, float) else content
