"""Migration files and the sandbox, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.answers import (
    ExportResult,
    FaultsResult,
    FilesResult,
    RevisionLine,
    RevisionResult,
    RevisionsResult,
    SandboxResult,
)
from migrator.cli.render import words
from migrator.cli.render.tables import indented, pairs, styled, table


def listed(result: RevisionsResult) -> Iterator[RenderableType]:
    if not result.revisions:
        yield Text("no revisions")
        return
    yield table(
        ("revision", "parents", "message", "", "status"),
        [
            (line.revision, ", ".join(line.down_revisions) or "base", line.message, _marks(line), styled(line.status))
            for line in result.revisions
        ],
    )


def _marks(line: RevisionLine) -> Text:
    return Text(" ".join(mark for mark, is_so in (("(head)", line.is_head), ("(current)", line.is_current)) if is_so))


def shown(result: RevisionResult) -> Iterator[RenderableType]:
    line = result.revision
    yield Text.assemble((line.revision, "bold"), f"  {line.message}")
    yield indented(
        pairs(
            [
                ("file", line.path),
                ("parents", ", ".join(line.down_revisions) or "base"),
                ("checksum", result.checksum),
                ("content hash", result.content_hash),
                ("modules", "\n".join(result.modules)),
            ]
        )
    )
    for number, operation in enumerate(result.operations, 1):
        yield indented(f"{number}. {operation.text}")


def made(result: FilesResult) -> Iterator[RenderableType]:
    yield from (Text(f"created {path}") for path in result.created)
    yield from (Text(f"kept {path} as it is") for path in result.kept)
    if result.paste:
        yield Text(f"paste into {result.kept[0]} what it does not have yet:\n")
        yield Text(result.paste.rstrip() + "\n")
    yield from (Text(f"note: {note}", style="yellow", overflow="fold") for note in result.notes)


def exported(result: ExportResult) -> Iterator[RenderableType]:
    yield Text("")
    where = [("written to", result.written_to)] if result.written_to else []
    yield pairs([("format", result.format), ("tables", ", ".join(result.tables)), *where])
    yield from (Text(f"note: {note}", style="yellow", overflow="fold") for note in result.notes)


def sandbox(result: SandboxResult) -> Iterator[RenderableType]:
    yield Text(f"sandbox {result.state}", style="bold")
    build = result.index_build_seconds
    yield indented(
        pairs(
            [
                ("endpoint", result.endpoint),
                ("process", "" if result.pid is None else str(result.pid)),
                ("index build", "" if build is None else f"at least {words.duration(build)}"),
                ("items", words.count(result.items) if result.items else ""),
            ]
        )
    )
    yield from (indented(line) for line in result.lines)


def faults(result: FaultsResult) -> Iterator[RenderableType]:
    if result.state == "cleared":
        yield Text(f"{words.counted(result.cleared, 'fault')} cleared")
    elif not result.faults:
        yield Text("no faults")
    else:
        rows = [
            (str(fault.id), fault.fault, words.count(fault.met), words.count(fault.struck), "over" * fault.is_over)
            for fault in result.faults
        ]
        yield table(("id", "fault", "met", "struck", ""), rows, right=("met", "struck"))
