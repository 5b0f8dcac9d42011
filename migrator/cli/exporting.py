"""export: tables in the words of the tool that owns them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from migrator.cli.answers import ExportResult
from migrator.cli.ports import Project
from migrator.cli.shell import Shell
from migrator.core.declared import DeclaredTable, folded
from migrator.core.schema import Schema
from migrator.errors import UsageError
from migrator.sources import to_cloudformation, to_terraform


class Format(StrEnum):
    CLOUDFORMATION = "cloudformation"
    TERRAFORM = "terraform"


_WRITERS: Mapping[Format, Callable[[Mapping[str, DeclaredTable]], str]] = {
    Format.CLOUDFORMATION: to_cloudformation,
    Format.TERRAFORM: to_terraform,
}


def export(
    shell: Shell,
    *,
    form: Annotated[
        Format | None, typer.Option("--format", help="Of which tool. Default: the one that managed_by names.")
    ] = None,
    tables: Annotated[
        list[str] | None, typer.Option("--table", metavar="ALIAS", help="Only this table; repeatable.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="The tables as they stand, not as the files leave them. Needs AWS.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write it to this file.")] = None,
) -> ExportResult:
    """Print the tables as CloudFormation or Terraform declares them, for the tool that owns them to agree.

    From the files alone, as all migrations leave them; changes nothing.
    """
    project = shell.project()
    found = _chosen(project, _live(shell, project) if live else _files(project), tables or [])
    form = form or _owner(project, found)
    text = _WRITERS[form](found)
    if out is not None:
        try:
            out.write_text(text, encoding="utf-8", newline="\n")
        except OSError as exc:
            raise UsageError("cannot-write", f"{out} cannot be written: {exc.strerror}", hint="another --out") from exc
    return ExportResult(
        state="exported",
        format=form.value,
        tables=tuple(found),
        document="" if out is not None else text,
        written_to="" if out is None else str(out),
        notes=_notes(found),
        next="put it in the place of the table's resource there, and see that a deployment would change nothing",
    )


def _live(shell: Shell, project: Project) -> Mapping[str, DeclaredTable]:
    with shell.runner_of(project, read_only=True) as runner:
        return runner.declared("live")


def _files(project: Project) -> Mapping[str, DeclaredTable]:
    settings, graph = project.settings, project.graph
    found = folded(graph, graph.order(), Schema({}, settings.default_table))
    return {alias: replace(table, name=settings.tables[alias].name) for alias, table in found.items()}


def _chosen(project: Project, found: Mapping[str, DeclaredTable], wanted: list[str]) -> dict[str, DeclaredTable]:
    known = project.settings.tables
    for alias in wanted:
        if alias not in known:
            raise UsageError(
                "unknown-table",
                f"there is no [tables.{alias}] (known: {', '.join(sorted(known)) or 'none'})",
                hint="give an alias of the configuration",
            )
    missing = [alias for alias in wanted or known if alias not in found]
    if missing and (wanted or not found):
        raise UsageError(
            "shape-unknown",
            f"no migration creates {', '.join(missing)}: the files do not say what it is",
            hint="export what stands: --live",
        )
    return {alias: table for alias, table in sorted(found.items()) if not wanted or alias in wanted}


def _owner(project: Project, tables: Mapping[str, DeclaredTable]) -> Format:
    owners = {project.settings.tables[alias].managed_by for alias in tables} - {"migrator"}
    if len(owners) != 1:
        raise UsageError(
            "usage",
            "which tool is it for? " + ("these tables have several" if owners else "no managed_by says so"),
            hint="--format cloudformation or --format terraform",
        )
    return Format(owners.pop())


def _notes(tables: Mapping[str, DeclaredTable]) -> tuple[str, ...]:
    limited = tuple(
        f"{alias}: the on-demand maximum of {name} is kept by replica in a global table and is not written here"
        for alias, table in tables.items()
        for name, index in sorted(table.shape.indexes.items())
        if table.replicas and index.on_demand_maximum is not None
    )
    return limited + tuple(
        f"{alias} has local indexes, which are not written here: keep them in its resource, or the tool would replace "
        f"the table: {', '.join(table.local_indexes)}"
        for alias, table in tables.items()
        if table.local_indexes
    )
