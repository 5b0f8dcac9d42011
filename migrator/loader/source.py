"""Which files are migrations, and their syntax trees: read without running anything."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from migrator.errors import UsageError, as_text


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file and its tree; `shown` is its name for people, relative to the project where it lies in it."""

    path: Path
    shown: str
    tree: ast.Module
    content: bytes

    def bad(self, line: int | None, problem: str, hint: str | None = None, code: str = "bad-migration") -> UsageError:
        """The refusal of this file."""
        return UsageError(code, f"{self.shown}:{line}: {problem}" if line else f"{self.shown}: {problem}", hint=hint)


def migration_sources(script_location: Path, project_root: Path) -> Iterator[Source]:
    """The migration files under the folder, in order of their paths.

    Anything but `.py` files, dotfiles, `__init__.py` and folders that begin with `.` or `_` are passed over: README,
    `__pycache__`, editors' backups. Every other `.py` file assigns `revision`; only one whose name begins with `_`
    need not. Raises UsageError `no-migrations-folder` or `bad-migration`.
    """
    if not script_location.is_dir():
        raise UsageError(
            "no-migrations-folder",
            f"there is no folder {script_location}",
            hint="`migrator init` makes it; script_location in the configuration names it",
        )
    for path in sorted(_python_files(script_location)):
        source = read_source(path, project_root)
        if _assigns_revision(source.tree):
            yield source
        elif not path.name.startswith("_"):
            raise source.bad(
                None,
                "a Python file in the migrations folder without a `revision`",
                "if it is no migration, begin its name with _ or move it",
            )


def read_source(path: Path, project_root: Path) -> Source:
    """Raises UsageError `bad-migration` with file and line where it is no Python."""
    shown = as_text(path.relative_to(project_root).as_posix() if path.is_relative_to(project_root) else str(path))
    if path.exists() and not path.is_file():
        # Reading a named pipe would wait for whoever writes to it.
        raise UsageError("bad-migration", f"{shown}: no regular file", hint="remove it from the folder")
    try:
        # Bytes: a byte order mark and an encoding line are then Python's own business.
        content = path.read_bytes()
        return Source(path, shown, ast.parse(content, filename=str(path)), content)
    except SyntaxError as exc:
        where = f"{shown}:{exc.lineno}" if exc.lineno else shown
        raise UsageError("bad-migration", f"{where}: syntax error: {exc.msg}", hint="correct the file") from exc
    except (ValueError, RecursionError, MemoryError) as exc:
        # The last two are the parser's words for nesting too deep.
        problem = str(exc) or "nested too deep"
        raise UsageError("bad-migration", f"{shown}: cannot be parsed: {problem}", hint="correct the file") from exc
    except OSError as exc:
        raise UsageError("bad-migration", f"{shown}: cannot be read: {exc.strerror}") from exc


def literal_revisions(script_location: Path) -> frozenset[str]:
    """The revisions that the files in the folder assign as plain strings; empty where there is no folder."""
    found: set[str] = set()
    for path in _python_files(script_location):
        for name, value in _assignments(read_source(path, script_location).tree):
            if name == "revision" and isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.add(value.value)
    return frozenset(found)


def literal_revision(path: Path) -> str:
    """The revision that a file of ours assigns as a plain string."""
    for name, value in _assignments(read_source(path, path.parent).tree):
        if name == "revision" and isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
    raise ValueError(f"{path} assigns no revision")


def _python_files(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in files:
            if name.endswith(".py") and not name.startswith(".") and name != "__init__.py":
                yield Path(here, name)


def _assigns_revision(tree: ast.Module) -> bool:
    return any(name == "revision" for name, _ in _assignments(tree))


def line_of(tree: ast.Module, variable: str) -> int | None:
    """The last line where the module assigns the variable."""
    for statement in reversed(tree.body):
        if any(name == variable for name, _ in _assignments(ast.Module([statement], []))):
            return statement.lineno
    return None


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Names that the module assigns at its top, each with its value where the two stand side by side."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _pairs(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr | None]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=names) | ast.List(elts=names), ast.Tuple(elts=values) | ast.List(elts=values):
            for one, its in zip(names, values, strict=False):
                yield from _pairs(one, its)
        case ast.Tuple(elts=names) | ast.List(elts=names), _:
            for one in names:
                if isinstance(one, ast.Name):
                    yield one.id, None
