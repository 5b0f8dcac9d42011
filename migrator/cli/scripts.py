"""The commands on migration files: init, revision, merge, heads, current, history, show."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

import typer

from migrator.cli.answers import OperationLine, RevisionLine, RevisionResult, RevisionsResult
from migrator.cli.render import words
from migrator.cli.shell import Shell
from migrator.core.graph import Graph
from migrator.core.plan import Migration


def heads(shell: Shell) -> RevisionsResult:
    """The revisions that no other builds on."""
    graph = shell.project().graph
    return _revisions(graph, [graph[head] for head in graph.heads])


def current(shell: Shell) -> RevisionsResult:
    """The revisions that this environment is at."""
    project = shell.project()
    with shell.runner(read_only=True) as runner:
        status = runner.status()
    lines = [
        _line(project.graph, project.graph[revision], {}, status.current)
        if revision in project.graph
        else RevisionLine(revision, (), "", "(no file here)", is_head=False, is_current=True)
        for revision in status.current
    ]
    pending = [head for head in project.graph.heads if head not in status.current]
    return RevisionsResult(
        state="at-base" if not lines else "behind" if pending else "at-head",
        revisions=tuple(lines),
        next="migrator upgrade" if pending else "",
    )


def history(
    shell: Shell,
    *,
    indicate_current: Annotated[
        bool, typer.Option("--indicate-current", help="Ask the environment what it has applied.")
    ] = False,
) -> RevisionsResult:
    """Every revision, newest first."""
    graph = shell.project().graph
    migrations = list(reversed(graph.order()))
    if not indicate_current:
        return _revisions(graph, migrations)
    with shell.runner(read_only=True) as runner:
        status = runner.status()
    statuses = {entry.revision: entry.status for entry in status.revisions}
    return _revisions(graph, migrations, statuses, status.current)


def show(
    shell: Shell, revision: Annotated[str, typer.Argument(metavar="REV", help="A revision, a unique prefix, or head.")]
) -> RevisionResult:
    """One migration file: parents, checksum, what it imports, its operations."""
    graph = shell.project().graph
    if revision == "head":
        (revision,) = graph.resolve("head", ()) or ("head",)
    migration = graph[graph.find(revision)]
    return RevisionResult(
        state="shown",
        revision=_line(graph, migration, {}, ()),
        checksum=migration.checksum,
        content_hash=migration.content_hash,
        modules=migration.modules,
        operations=tuple(OperationLine(type(entry).__name__, words.brief(entry)) for entry in migration.operations),
    )


def _revisions(
    graph: Graph,
    migrations: Sequence[Migration],
    statuses: Mapping[str, str] | None = None,
    at: Collection[str] = (),
) -> RevisionsResult:
    several = len(graph.heads) > 1
    return RevisionsResult(
        state="several-heads" if several else "one-head" if graph.heads else "empty",
        revisions=tuple(_line(graph, migration, statuses or {}, at) for migration in migrations),
        next=f"migrator merge {' '.join(graph.heads)} -m MESSAGE"
        if several
        else ""
        if graph.heads
        else "migrator revision -m MESSAGE",
    )


def _line(graph: Graph, migration: Migration, statuses: Mapping[str, str], at: Collection[str]) -> RevisionLine:
    return RevisionLine(
        revision=migration.revision,
        down_revisions=migration.down_revisions,
        message=migration.message,
        path=migration.path,
        is_head=migration.revision in graph.heads,
        status=statuses.get(migration.revision, ""),
        is_current=migration.revision in at,
    )
