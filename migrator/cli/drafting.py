"""revision --autogenerate: the migrations that lead from the files, or the live tables, to what a source declares."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from migrator.cli.answers import FilesResult
from migrator.cli.ports import Project
from migrator.cli.shell import Shell
from migrator.config import load_config
from migrator.core.declared import DeclaredTable, Source, folded
from migrator.core.evolution import Evolution, Stage, evolve
from migrator.core.graph import Graph
from migrator.core.matching import matched
from migrator.core.schema import Schema
from migrator.errors import MigratorError, UsageError
from migrator.loader import draft_stage, literal_revision, write_revision
from migrator.sources import read_source

LIVE = "table:"


def autogenerate(
    shell: Shell, origin: str, message: str | None, parents: Sequence[str], tables: Iterable[str], *, live: bool
) -> FilesResult:
    """Write what leads to `origin`; nothing where it is reached. Every file, or none."""
    project, parameters = open_with_parameters(shell)
    settings = project.settings
    source = _source(shell, project, origin, parameters)
    names = {alias: table.name for alias, table in settings.tables.items()}
    pairs, notes = matched(source, names, chosen(tables))
    current = _current(shell, project, live=live)
    evolutions = {alias: evolve(alias, current.get(alias), wanted) for alias, wanted in sorted(pairs.items())}
    if not live:
        for alias in pairs:
            if alias not in current:
                _refuse_unknown_shape(project.graph, alias, settings.default_table)
    remarks = (*notes, *(note for one in evolutions.values() for note in one.notes))
    stages = in_order(evolutions)
    if not stages:
        return FilesResult(state="unchanged", created=(), notes=remarks, next="nothing to write: it is so already")
    paths = _write(shell, project, stages, message, list(parents))
    first = paths[0]
    return FilesResult(
        state="created",
        created=tuple(map(_shown, paths)),
        revision=literal_revision(paths[-1]),
        notes=remarks,
        next=f"read {_shown(first)}, then `migrator lint` and `migrator plan`",
    )


def in_order(evolutions: Mapping[str, Evolution]) -> tuple[Stage, ...]:
    """Table by table: the files of one table stand together."""
    return tuple(stage for one in evolutions.values() for stage in one.stages)


def chosen(tables: Iterable[str]) -> dict[str, str]:
    """`--table app=Orders` -> {"app": "Orders"}; `--table app` -> {"app": ""}."""
    found = {}
    for word in tables:
        alias, _, label = word.partition("=")
        found[alias] = label
    return found


def open_with_parameters(shell: Shell) -> tuple[Project, dict[str, str]]:
    """The project, and every `-x`: those that it has no variable for are parameters of the source alone."""
    given = dict(shell.habits.variables)
    known = load_config(shell.habits.config, Path.cwd()).variables(shell.habits.env)
    own = {name: value for name, value in given.items() if name in known}
    return shell.house.open_project(shell.habits.config, shell.habits.env, own), given


def _source(shell: Shell, project: Project, origin: str, parameters: Mapping[str, str]) -> Source:
    settings = project.settings
    if origin.startswith(LIVE):
        name = origin.removeprefix(LIVE)
        return Source(f"table {name}", (shell.house.live_table(project, name),))
    region = {"AWS::Region": settings.region} if settings.region else {}
    account = {"AWS::AccountId": settings.expected_account} if settings.expected_account else {}
    return read_source(origin, _text(origin), {**region, **account, **parameters})


def _text(origin: str) -> str:
    try:
        return sys.stdin.read() if origin == "-" else Path(origin).read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise UsageError("bad-source", f"{origin} cannot be read: {exc.strerror}", hint="correct the path") from exc
    except ValueError as exc:
        raise UsageError("bad-source", f"{origin} is no text in UTF-8: {exc}") from exc


def _current(shell: Shell, project: Project, *, live: bool) -> dict[str, DeclaredTable]:
    if live:
        with shell.runner_of(project, read_only=True) as runner:
            return dict(runner.declared("head"))
    graph = project.graph
    return folded(graph, graph.order(), Schema({}, project.settings.default_table))


def _refuse_unknown_shape(graph: Graph, alias: str, default: str) -> None:
    """A table that files work on and none creates stands already: with which shape, no file says."""
    for migration in graph.order():
        if any((getattr(one, "table", "") or default) == alias for one in migration.operations):
            raise UsageError(
                "shape-unknown",
                f"no migration creates table {alias}, and {migration.path} works on it: no file says what it is",
                hint="begin from the live table instead: --live",
            )


def _write(
    shell: Shell, project: Project, stages: Sequence[Stage], message: str | None, parents: list[str]
) -> list[Path]:
    settings = project.settings
    written: list[Path] = []
    try:
        for stage in stages:
            drafted = draft_stage(stage, settings.default_table)
            text = stage.message if message is None else message if len(stages) == 1 else f"{message}: {stage.message}"
            path = write_revision(
                settings.script_location,
                text,
                parents,
                shell.now(),
                settings.file_template,
                drafted.operations,
                remark=drafted.remark,
            )
            written.append(path)
            parents = [literal_revision(path)]
    except MigratorError:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return written


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
