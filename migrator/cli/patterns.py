"""patterns: what the application asks of its tables, held to every revision, and asked of a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from migrator.cli.answers import FilesResult
from migrator.cli.files import shown
from migrator.cli.shell import Shell
from migrator.config import load_config, parse_patterns, read_patterns
from migrator.config.patterns import FILE_NAME
from migrator.core.lint import Subject
from migrator.errors import UsageError
from migrator.loader import drafted_patterns, load
from migrator.runner.patterns import check as check_files
from migrator.runner.patterns import choose
from migrator.runner.results import PatternsResult


def check(
    shell: Shell,
    *,
    examples: Annotated[
        bool, typer.Option("--examples", help="Also ask the environment, and hold it to the examples' answers.")
    ] = False,
    pattern: Annotated[
        list[str] | None, typer.Option("--pattern", metavar="NAME", help="Only this one; repeatable.")
    ] = None,
) -> PatternsResult:
    """Hold every revision to the access patterns: each is a Get or a Query on a key. Exit 3 for errors.

    From the files alone, without credentials; with --examples it reads items, and changes nothing.
    """
    config = load_config(shell.habits.config, Path.cwd())
    root = config.path.parent
    file = config.patterns_file
    if file is None:
        raise UsageError(
            "no-patterns",
            f"there is no {FILE_NAME} in {root}",
            hint="`migrator patterns init MODEL.json` drafts one; access_patterns in migrator.toml names another file",
        )
    names = pattern or ()
    if examples:
        with shell.runner(read_only=True) as runner:
            return _in_place(runner.patterns(names), root)
    subject = Subject(
        load(root / config.script_location, project_root=root),
        {alias: table.managed_by for alias, table in config.tables.items()},
        config.default_table,
        patterns=choose(read_patterns(file), names),
    )
    return _in_place(check_files(subject, str(file)), root)


def init(
    shell: Shell,
    model: Annotated[Path, typer.Argument(metavar="MODEL.json", help="A NoSQL Workbench model.")],
    *,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="NAME=ALIAS", help="A table of the model and its alias here; repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to; access_patterns.toml by default.")
    ] = None,
) -> FilesResult:
    """Draft access_patterns.toml from a NoSQL Workbench model: a pattern for each facet and index. Replaces no file."""
    config = load_config(shell.habits.config, Path.cwd())
    path = out if out is not None else config.path.parent / (config.access_patterns or FILE_NAME)
    aliases = dict.fromkeys(config.tables)
    text = drafted_patterns(model, _aliases(table or ()), tuple(aliases), config.default_table)
    found = parse_patterns(path, text)
    if not _written(path, text):
        return FilesResult(
            state="kept",
            exit_code=1,
            created=(),
            kept=(shown(path),),
            paste=text,
            blocked_by=f"{shown(path)} stands there already",
            next="paste what you want of it, or name another file with --out",
        )
    following = f"read {shown(path)}: say what each of the {len(found)} asks; then `migrator patterns check`"
    return FilesResult(state="created", created=(shown(path),), next=following)


def _in_place(result: PatternsResult, root: Path) -> PatternsResult:
    """With paths as they are typed from here."""
    return replace(
        result,
        file=shown(root / result.file),
        findings=tuple(replace(one, path=shown(root / one.path)) for one in result.findings),
    )


def _aliases(pairs: list[str] | tuple[str, ...]) -> dict[str, str]:
    read = {}
    for pair in pairs:
        name, equals, alias = pair.partition("=")
        if not (name and equals and alias):
            raise UsageError("usage", f"--table {pair!r} is not NAME=ALIAS", hint="such as --table OnlineShop=app")
        read[name] = alias
    return read


def _written(path: Path, text: str) -> bool:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    except OSError as exc:
        raise UsageError("cannot-write", f"{path} cannot be written: {exc.strerror}") from exc
    return True
