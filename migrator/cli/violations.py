"""violations: which items an index cannot take, and a migration that repairs them."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO, Annotated

import typer

from migrator.cli.files import parents_of_next, revision_in, shown
from migrator.cli.listing import Format, format_of, lines_to, whole_file
from migrator.cli.render import words
from migrator.cli.shell import Shell
from migrator.core.graph import Graph
from migrator.errors import UsageError
from migrator.loader import repair_source, write_revision
from migrator.runner.results import ViolationsResult


def violations(
    shell: Shell,
    index: Annotated[str, typer.Argument(metavar="INDEX", help="An index of a migration file or of the live table.")],
    *,
    table: Annotated[
        str | None, typer.Option("--table", metavar="ALIAS", help="Its table, where several have an index so named.")
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="text: the first 50 and the counts (default). csv, jsonl: every one, as found."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write every violator to FILE, as csv or jsonl.")
    ] = None,
    generate: Annotated[
        str | None,
        typer.Option("--generate", metavar="MESSAGE", help="Draft a migration that repairs them, to be reviewed."),
    ] = None,
) -> ViolationsResult:
    """List the items that an index cannot take, by key and reason. Reads the whole table; changes nothing.

    Items that merely lack a key attribute are counted apart: they stay out of a sparse index, and that is all.
    """
    chosen = format_of(form, out)
    if shell.is_json and chosen is not Format.TEXT and out is None:
        raise UsageError(
            "usage",
            f"-o json is one document on stdout, and --format {chosen} is to write there too",
            hint="give the list a file: --out violators." + chosen,
        )
    if generate is not None and not generate.strip():
        raise UsageError("no-message", "the revision has no message", hint='--generate "what it repairs"')
    if generate is not None:
        # Refused now rather than after an hour of reading.
        parents_of_next(shell.project().graph)
    streams: AbstractContextManager[IO[str] | None] = nullcontext(None)
    if out is not None:
        streams = whole_file(out)
    elif chosen is not Format.TEXT:
        # As it is now: inside the runner's block stdout belongs to nobody.
        streams = nullcontext(sys.stdout)
        shell.has_streamed = True
    with streams as stream, shell.runner(read_only=True) as runner:
        listing = None if stream is None else lines_to(stream, chosen)
        result = runner.violations(index, table, listing)
    if out is not None:
        result = replace(result, listed_in=str(out))
    return result if generate is None or not result.violating else _generated(shell, result, generate)


def _generated(shell: Shell, result: ViolationsResult, message: str) -> ViolationsResult:
    """Write the migration: before the revision that builds the index, while that is pending; else on the head."""
    project = shell.project()
    settings = project.settings
    repair = repair_source(
        result.index,
        [(key.attribute, key.type, key.role) for key in result.keys],
        {(one.attribute, one.code): one.items for one in result.problems},
        fixed=result.table_key,
        about=f"{words.counted(result.violating, 'item')} of {words.count(result.scanned)} in {result.table}.",
        table="" if result.alias == settings.default_table else result.alias,
    )
    if repair is None:
        return replace(
            result,
            blocked_by="what is in the way are keys of the table itself, which no update changes",
            next="write these items under other keys, or build without them: unindexable='allow'",
        )
    path = write_revision(
        settings.script_location,
        message,
        _parents(project.graph, result),
        shell.now(),
        settings.file_template,
        repair.operations,
        repair.functions,
        repair.imports,
    )
    made = revision_in(path, shell.project())
    following = f"read {shown(path)}, then `migrator plan`"
    if result.is_pending:
        builder = shown(Path(project.graph[result.revision].path))
        following = f'read {shown(path)}; set down_revision = "{made}" in {builder}; then `migrator plan`'
    return replace(result, generated=shown(path), next=following)


def _parents(graph: Graph, result: ViolationsResult) -> list[str]:
    return list(graph[result.revision].down_revisions) if result.is_pending else parents_of_next(graph)
