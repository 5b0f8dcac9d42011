"""What came of many targets, as text: one line each."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render import words
from migrator.cli.render.tables import styled, table
from migrator.runner.results import TargetOutcome, TargetsResult


def drawn(result: TargetsResult) -> Iterator[RenderableType]:
    done = sum(1 for one in result.targets if not one.exit_code and one.state != "not-begun")
    total = words.counted(len(result.targets), "target")
    yield Text.assemble(styled(result.state), f": {words.count(done)} of {total}", style="bold")
    yield Text("")
    yield table(
        ("target", "status", "exit", "time", ""),
        [_row(one) for one in result.targets],
        right=("exit", "time"),
        whole=("target", "status"),
    )
    hints = dict.fromkeys(f"{one.name}: {one.hint}" for one in result.targets if one.hint)
    if hints:
        yield Text("")
    yield from (Text(f"hint: {hint}", overflow="fold") for hint in hints)


def _row(one: TargetOutcome) -> tuple[str | Text, ...]:
    says = f"[{one.code}] {one.says}" if one.code else one.says
    is_idle = one.state == "not-begun"
    return (
        one.name,
        styled(one.state),
        "" if is_idle else str(one.exit_code),
        "" if is_idle else words.duration(one.seconds),
        says,
    )
