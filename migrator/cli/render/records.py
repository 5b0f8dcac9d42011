"""Failed items, the lock and notes, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render import words
from migrator.cli.render.tables import indented, pairs, styled
from migrator.core.events import Counts
from migrator.runner.results import ControlResult, FailedResult, LockResult, LockState, MirrorResult, NoteResult


def failed(result: FailedResult) -> Iterator[RenderableType]:
    open_items = sum(1 for item in result.items if not item.skipped_because)
    skipped = len(result.items) - open_items
    yield Text(
        f"{words.counted(open_items, 'failed item')}, {skipped} skipped"
        + (f"; {words.counted(result.changed, 'item')} changed now" if result.changed else ""),
        style="bold",
    )
    for item in result.items:
        yield Text("")
        yield Text(words.key(item.key), overflow="fold")
        attempts = words.counted(item.attempts, "attempt")
        yield indented(Text.assemble((item.code, "red"), f": {item.reason}"))
        yield indented(
            pairs(
                [
                    ("revision", f"{item.revision}, step {item.step}, {attempts}, last {item.at}"),
                    ("skipped", item.skipped_because),
                ]
            )
        )


def lock_line(lock: LockState) -> str:
    """`held by ci-7 (run 41, host runner-3) since 12:04:10; no beat for 12 s of 60 s`."""
    if not lock.held:
        return "free"
    inside = ", ".join(
        part for part in (f"run {lock.run}" if lock.run else "", f"host {lock.host}" if lock.host else "") if part
    )
    line = f"held by {lock.name or lock.owner}" + (f" ({inside})" if inside else "") + f" since {lock.since}"
    if lock.silent_seconds is not None:
        line += f"; no beat for {lock.silent_seconds:.0f} s of {lock.lease_seconds:.0f} s"
    return line


def locked(result: LockResult) -> Iterator[RenderableType]:
    lock = result.lock
    yield Text(("released; it was " if result.released else "lock: ") + lock_line(lock), style="bold")
    if lock.held or result.released:
        yield indented(
            pairs(
                [
                    ("owner", lock.owner),
                    ("token", str(lock.token)),
                    ("lease", words.duration(lock.lease_seconds)),
                ]
            )
        )
        yield from (indented(Text(request, style="yellow", overflow="fold")) for request in lock.requests)


def controlled(result: ControlResult) -> Iterator[RenderableType]:
    said = {
        "paused": "asked to pause",
        "resumed": "asked to go on",
        "throttled": "asked for other budgets",
        "unthrottled": "asked for the configured budgets again",
        "cancelled": "asked to end at a checkpoint",
    }[result.state]
    yield Text(f"{said}; the run obeys within seconds", style="bold")
    yield indented(Text(lock_line(result.lock), overflow="fold"))
    yield from (indented(Text(request, style="yellow", overflow="fold")) for request in result.lock.requests)


def noted(result: NoteResult) -> Iterator[RenderableType]:
    yield from (Text(line, overflow="fold") for line in result.lines)


def mirrored(result: MirrorResult) -> Iterator[RenderableType]:
    """What a mirror did, or says of itself."""
    yield Text.assemble(styled(result.state), f": the mirror of {result.revision}", style="bold")
    counts = result.counts
    done = f"{counts.written} written, {counts.unchanged} right already, {counts.failed} not mirrored"
    yield pairs(
        [
            ("worker", result.worker),
            ("last heard", result.at),
            ("behind", f"{result.lag_ms / 1000:.1f} s" if result.lag_ms else ""),
            ("generation", str(result.generation) if result.generation else ""),
            ("outcome", result.outcome),
            ("twins", done if counts != Counts() else ""),
        ]
    )
