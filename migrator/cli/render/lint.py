"""What lint found, as text: a line that editors and terminals turn into a link, then the message."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.answers import LintResult
from migrator.cli.render.tables import indented, styled
from migrator.cli.render.words import counted


def drawn(result: LintResult) -> Iterator[RenderableType]:
    yield Text.assemble(styled(result.state), f": {counted(result.files, 'file')}", style="bold")
    for finding in result.findings:
        yield Text("")
        yield Text(f"{finding.path}:{finding.line}", style="bold", overflow="fold")
        yield indented(Text.assemble(styled(finding.severity.value), f"[{finding.rule}]: {finding.message}"))
        if finding.hint:
            yield indented(f"hint: {finding.hint}", by=4)
        yield indented(f"docs: {finding.page}", by=4)
    if result.allowed:
        yield Text("")
    for finding in result.allowed:
        yield Text(
            f"allowed: {finding.path}:{finding.line} {finding.rule}, because {finding.allowed_because}",
            style="dim",
            overflow="fold",
        )
    if result.report:
        yield Text(f"\nreport: {result.report}")
