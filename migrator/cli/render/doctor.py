"""What doctor found, as text: problems first."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render.parts import place_line
from migrator.cli.render.tables import styled, table
from migrator.runner.results import DoctorResult

_RANK = {"problem": 0, "unknown": 1, "warning": 2, "ok": 3}


def drawn(result: DoctorResult) -> Iterator[RenderableType]:
    place = f": {place_line(result.where)}" if result.where is not None else ""
    yield Text.assemble(styled(result.state), place, style="bold")
    yield Text("")
    checks = sorted(result.checks, key=lambda one: _RANK[one.verdict])
    yield table(
        ("", "check", "of", "says"),
        [(styled(one.verdict), one.check, one.subject, one.says) for one in checks],
        whole=("check",),
    )
    hints = dict.fromkeys(one.hint for one in checks if one.hint and one.verdict != "ok")
    if hints:
        yield Text("")
    yield from (Text(f"hint: {hint}", overflow="fold") for hint in hints)
