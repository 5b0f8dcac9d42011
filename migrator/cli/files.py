"""The commands that write files: init, revision, merge. None of them changes a file that stands there."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from migrator.cli.answers import FilesResult
from migrator.cli.drafting import autogenerate, open_with_parameters
from migrator.cli.ports import Project
from migrator.cli.sandbox import PORT, REGION
from migrator.cli.shell import Shell
from migrator.config import default_config_text, load_config, write_config
from migrator.core.graph import Graph
from migrator.errors import MigratorError, UsageError
from migrator.loader import write_merge, write_revision

CONFIG = "migrator.toml"
README = """\
# Migrations

One file a revision, run in the order of their `down_revision`. The `revision` inside a file is its identity: rename
the file freely, but edit the operations of an applied one never (`migrator check` finds it).

- `migrator revision -m "what it does"` begins one.
- `migrator plan` shows what it would do to real items. Nothing is changed.
- `migrator upgrade` applies what is pending, and continues where a stopped run was.
"""


def init(
    shell: Shell,
    *,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help='The table; may hold variables. Default: "{stage}-app".'),
    ] = None,
    from_table: Annotated[
        str | None,
        typer.Option("--from-table", metavar="NAME", help="Draft the first migration from this live table."),
    ] = None,
    script_location: Annotated[
        str, typer.Option("--script-location", metavar="FOLDER", help="Where migration files go.")
    ] = "migrations",
    region: Annotated[str | None, typer.Option("--region", metavar="REGION", help="AWS Region.")] = None,
    endpoint_url: Annotated[
        str | None,
        typer.Option("--endpoint-url", metavar="URL", help="Of DynamoDB; the sandbox's for a new env `local`."),
    ] = None,
) -> FilesResult:
    """Begin a project: migrator.toml and a folder for migrations. A file that stands there is kept."""
    path = Path.cwd() / (shell.habits.config or CONFIG)
    env = shell.habits.env or "local"
    on_sandbox = env == "local" and from_table is None and region is None and endpoint_url is None
    text = default_config_text(
        table=table or from_table or "{stage}-app",
        env=env,
        endpoint_url=f"http://127.0.0.1:{PORT}" if on_sandbox else endpoint_url,
        region=REGION if on_sandbox else region,
        script_location=script_location,
        in_pyproject=path.name == "pyproject.toml",
    )
    created, kept, paste = [], [], ""
    if (standing := _standing(path, given=shell.habits.config is not None)) is not None:
        path, paste = standing, text
        kept.append(shown(path))
    elif write_config(path, text).written:
        created.append(shown(path))
    else:
        kept.append(shown(path))
        paste = text
    try:
        config = load_config(path, Path.cwd())
    except UsageError as exc:
        if exc.code != "no-config":
            raise
        # A pyproject.toml without a section of ours.
        return FilesResult(
            state="paste",
            exit_code=1,
            created=tuple(created),
            kept=tuple(kept),
            paste=paste,
            blocked_by=exc.message,
            next="paste it, then run `migrator init` again",
        )
    folder = config.path.parent / config.script_location
    readme = folder / "README.md"
    (created if _write_new(readme, README) else kept).append(shown(readme))
    revision = ""
    if from_table is not None:
        try:
            written, revision = _draft(shell, path, from_table)
        except MigratorError:
            _take_back(created, folder)
            raise
        created.append(shown(written))
    following = (
        'migrator revision -m "what it does"'
        if from_table is None
        else f"read {created[-1]}, then `migrator stamp {revision}`: the table stands already"
    )
    return FilesResult(
        state="created" if created else "kept",
        created=tuple(created),
        kept=tuple(kept),
        paste=paste,
        revision=revision,
        next=following,
    )


def revision(
    shell: Shell,
    *,
    message: Annotated[
        str | None, typer.Option("--message", "-m", metavar="MESSAGE", help="What it does, in one line.")
    ] = None,
    head: Annotated[
        str | None, typer.Option("--head", metavar="REV", help="Build on this head; needed where there are several.")
    ] = None,
    from_autogenerate: Annotated[
        bool, typer.Option("--autogenerate", help="Write what leads to the tables that --from declares.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SOURCE",
            help="CloudFormation or SAM template, Terraform JSON, Pulumi export, NoSQL Workbench model, - for "
            "stdin, or table:NAME.",
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Begin from the live tables and what is pending, not from the files alone.")
    ] = False,
    tables: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="ALIAS[=LABEL]", help="Only this table; LABEL is what SOURCE calls it."),
    ] = None,
) -> FilesResult:
    """Begin a new migration file on top of the head; with --autogenerate, write what leads to SOURCE.

    With --autogenerate, -x NAME=VALUE also gives the parameters of a template.
    """
    if from_autogenerate != (source is not None) or (not from_autogenerate and (live or tables)):
        raise UsageError("usage", "--autogenerate and --from go together, and --live and --table with them")
    if from_autogenerate and source is not None:
        graph = open_with_parameters(shell)[0].graph
        return autogenerate(shell, source, message, parents_of_next(graph, head), tables or (), live=live)
    if message is None:
        raise UsageError("usage", "Missing option '--message' / '-m'.", hint="migrator revision --help")
    project = shell.project()
    parents = parents_of_next(project.graph, head)
    settings = project.settings
    path = write_revision(settings.script_location, message, parents, shell.now(), settings.file_template)
    return _made(shell, path, f"edit {shown(path)}, then `migrator plan`")


def parents_of_next(graph: Graph, head: str | None = None) -> list[str]:
    """What a new revision builds on: the one head, or the one that is named. Raises `not-a-head`, `multiple-heads`."""
    if head is not None and head != "head":
        parent = graph.find(head)
        if parent not in graph.heads:
            raise UsageError(
                "not-a-head",
                f"{parent} is no head: a revision on top of it would be a second one beside what builds on it already",
                hint=f"build on {', '.join(graph.heads)}",
            )
        return [parent]
    if len(graph.heads) > 1:
        raise UsageError(
            "multiple-heads",
            f"there are {len(graph.heads)} heads: {', '.join(graph.heads)}",
            hint=f"join them with `migrator merge {' '.join(graph.heads)} -m MESSAGE`, or choose one with --head REV",
        )
    return list(graph.heads)


def merge(
    shell: Shell,
    revisions: Annotated[
        list[str] | None, typer.Argument(metavar="[REV]...", help="Revisions to join; every head by default.")
    ] = None,
    *,
    message: Annotated[
        str, typer.Option("--message", "-m", metavar="MESSAGE", help="What is joined, in one line.")
    ] = "Merge heads",
) -> FilesResult:
    """Join heads with a revision that has no operations of its own."""
    project = shell.project()
    graph = project.graph
    wanted = graph.heads if not revisions or revisions in (["heads"], ["head"]) else map(graph.find, revisions)
    settings = project.settings
    path = write_merge(settings.script_location, message, list(wanted), shell.now(), settings.file_template)
    return _made(shell, path, "migrator plan")


def _made(shell: Shell, path: Path, following: str) -> FilesResult:
    """Reads the files again: what was written is what the graph now has as its newest."""
    made = revision_in(path, shell.project())
    return FilesResult(state="created", created=(shown(path),), revision=made, next=following)


def revision_in(path: Path, project: Project) -> str:
    """The id of the migration in this file."""
    return next(migration.revision for migration in project.graph.order() if Path(migration.path).name == path.name)


def _draft(shell: Shell, config: Path, table: str) -> tuple[Path, str]:
    """The first migration, from the live table. Refused where there is a migration already."""

    def project_now() -> Project:
        return shell.house.open_project(config, shell.habits.env, dict(shell.habits.variables))

    project = project_now()
    if project.graph.heads:
        raise UsageError(
            "not-empty",
            f"{shown(project.settings.script_location)} holds migrations already: {', '.join(project.graph.heads)}",
            hint="a draft from a table is the first one; use `migrator revision -m MESSAGE`",
        )
    operations = shell.house.draft_from_table(project, table)
    settings = project.settings
    path = write_revision(
        settings.script_location, f"{table} as it stands", [], shell.now(), settings.file_template, operations
    )
    return path, revision_in(path, project_now())


def _take_back(created: list[str], folder: Path) -> None:
    """Remove the files of a draft that failed, so that the command may be given again with other options.

    They would be kept as they are otherwise, and with them the table and Region that were mistaken.
    """
    for name in created:
        Path(name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not empty, or not made here
        if created:
            folder.rmdir()


def _standing(path: Path, *, given: bool) -> Path | None:
    """The configuration that stands there already: a given file, else this folder's; [tool.migrator] counts."""
    project = path.with_name("pyproject.toml")
    if path.is_file():
        return path
    return project if not given and project.is_file() and _configures(project) else None


def _configures(path: Path) -> bool:
    try:
        load_config(path, path.parent)
    except UsageError as exc:
        return exc.code != "no-config"
    return True


def _write_new(path: Path, text: str) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    except OSError as exc:
        raise UsageError("cannot-write", f"{path} cannot be written: {exc.strerror}") from exc
    return True


def shown(path: Path) -> str:
    """Relative to where the person stands, where it lies below."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
