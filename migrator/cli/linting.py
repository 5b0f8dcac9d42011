"""lint: what the migration files give reason to say, without credentials and without a table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from migrator.cli.answers import LintResult
from migrator.cli.render.document import document, text
from migrator.cli.render.words import counted
from migrator.cli.reporters import REPORTERS
from migrator.cli.shell import Shell
from migrator.config import load_config, read_patterns
from migrator.core.findings import Severity
from migrator.core.lint import PlacedFinding, Subject
from migrator.core.lint import lint as lint_files
from migrator.errors import UsageError
from migrator.loader import load

FINDINGS = 3
ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Where a pipeline has the repository: its reports name files from there."""


class Form(StrEnum):
    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    GITLAB = "gitlab"
    SARIF = "sarif"


def lint(
    shell: Shell,
    *,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="REV", help="Only revisions after REV, taken for one release."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also the files that [lint] start_after spares.")] = False,
    form: Annotated[
        Form | None, typer.Option("--format", help="Of the result; text by default, or what --output says.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the report here, and text to stdout.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 3 for warnings too.")] = False,
) -> LintResult:
    """Judge the migration files alone: no credentials, no table. Exit 3 for errors."""
    wanted = _form(shell, form)
    if since is not None and everything:
        raise UsageError("usage", "--since and --all exclude each other", hint="leave out one of them")
    if wanted is Form.JSON and out is None:
        shell.habits = replace(shell.habits, output="json")
    config = load_config(shell.habits.config, Path.cwd())
    root, control = config.path.parent, config.control
    graph = load(root / config.script_location, project_root=root)
    subject = Subject(
        graph,
        {alias: table.managed_by for alias, table in config.tables.items()},
        config.default_table,
        config.control.key_prefix,
        config.lint,
        () if config.patterns_file is None else read_patterns(config.patterns_file),
        "" if control.name is not None or control.allow_stream else control.table or config.default_table,
    )
    linted = lint_files(subject, since=since, everything=everything)
    bases = [Path(os.environ[name]) for name in ROOTS if os.environ.get(name)] if wanted in REPORTERS else []
    found = tuple(replace(one, path=_shown(root / one.path, (*bases, Path.cwd()))) for one in linted.findings)
    result = _result(found, linted.files, strict=strict)
    if out is not None:
        _write(out, _report(shell, result, wanted))
        return replace(result, report=str(out))
    if wanted in REPORTERS:
        results = shell.results()
        results.file.write(_report(shell, result, wanted))
        results.file.flush()
        raise typer.Exit(result.exit_code)
    return result


def _form(shell: Shell, form: Form | None) -> Form:
    if form is None:
        return Form.JSON if shell.is_json else Form.TEXT
    if shell.is_json and form is not Form.JSON:
        raise UsageError("usage", f"-o json and --format {form.value} exclude each other", hint="give --format alone")
    return form


def _result(found: Sequence[PlacedFinding], files: int, *, strict: bool) -> LintResult:
    active = tuple(one for one in found if not one.allowed_because)
    counts = {grade: sum(1 for one in active if one.severity is grade) for grade in Severity}
    refused = counts[Severity.ERROR] or (strict and counts[Severity.WARNING])
    return LintResult(
        state="findings" if active else "clean",
        exit_code=FINDINGS if refused else 0,
        next="mend them, or put `# migrator: allow RULE because REASON` above the operation" if active else "",
        blocked_by=_counted(counts) if refused else "",
        findings=active,
        allowed=tuple(one for one in found if one.allowed_because),
        files=files,
    )


def _counted(counts: Mapping[Severity, int]) -> str:
    return ", ".join(counted(number, grade.value) for grade, number in counts.items() if number)


def _report(shell: Shell, result: LintResult, form: Form) -> str:
    if form in REPORTERS:
        return REPORTERS[form]((*result.findings, *result.allowed))
    if form is Form.JSON:
        return text(document(result, shell.command)) + "\n"
    return "".join(f"{one.path}:{one.line}: {one.severity}[{one.rule}]: {one.message}\n" for one in result.findings)


def _write(path: Path, report: str) -> None:
    """The report; whole or not at all."""
    draft = path.with_name(path.name + ".part")
    try:
        draft.write_text(report, encoding="utf-8", errors="backslashreplace", newline="\n")
        os.replace(draft, path)
    except OSError as exc:
        raise UsageError(
            "cannot-write", f"{path} cannot be written: {exc.strerror}", hint="name another file with --out"
        ) from exc


def _shown(path: Path, bases: Sequence[Path]) -> str:
    """The file from the first of these folders that holds it, with slashes."""
    for base in bases:
        if path.is_relative_to(base.resolve()):
            return path.relative_to(base.resolve()).as_posix()
    return Path(os.path.relpath(path, bases[-1])).as_posix()
