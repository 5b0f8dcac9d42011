"""From the files of the migrations folder to the graph: each is run by itself, as a module that nobody else sees."""

from __future__ import annotations

import ast
import contextlib
import difflib
import hashlib
import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from migrator.core.graph import SYMBOLS, Graph
from migrator.core.plan import Migration, Operation
from migrator.errors import AskedToEnd, MigratorError, UsageError, as_text, said
from migrator.loader.checksum import checksum, content_hash
from migrator.loader.imports import FirstParty, later_imports
from migrator.loader.places import allowances, places
from migrator.loader.source import Source, line_of, migration_sources

_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]{0,63}")
_MOST_SHOWN = 200
"""Characters of a value in a message."""
_UNSUPPORTED = {
    "depends_on": "give several parents in down_revision",
    "branch_labels": "name the revision",
}


def load(script_location: Path, *, project_root: Path) -> Graph:
    """The migrations of the folder.

    While the files run, the project's root is on `sys.path`, so that they may import the application's own key
    module. Raises UsageError: `bad-migration` with file and line, `no-migrations-folder`, what an operation's own
    constructor raises, and what Graph raises.
    """
    root = project_root.resolve()
    sources = list(migration_sources(script_location.resolve(), root))
    importlib.invalidate_caches()
    first_party = FirstParty(root)
    with _importable(root):
        return Graph([_migration(source, first_party) for source in sources])


def _mend(exc: BaseException) -> str:
    """What to do about an exception: the name of this package that was meant, where it is one."""
    ours = getattr(sys.modules["migrator"], "__all__", ())
    if isinstance(exc, NameError) and exc.name:
        if exc.name in ours:
            return f"add `from migrator import {exc.name}`"
        near = difflib.get_close_matches(exc.name, ours, n=1)
        return f"did you mean {near[0]}?" if near else "correct the file: no such name is defined or imported in it"
    unknown = re.search(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'", str(exc))
    if isinstance(exc, TypeError) and unknown and unknown[1] in ours:
        options = list(inspect.signature(getattr(sys.modules["migrator"], unknown[1])).parameters)
        near = difflib.get_close_matches(unknown[2], options, n=1)
        return (f"did you mean {near[0]}? " if near else "") + f"{unknown[1]} takes {', '.join(options)}"
    return "correct the file; it runs whenever it is loaded, so it must not need a table"


@contextlib.contextmanager
def _importable(root: Path) -> Iterator[None]:
    before = list(sys.path)
    sys.path.insert(0, str(root))
    try:
        # What a module prints while it is imported must not get into a command's result.
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.path[:] = before


def _migration(source: Source, first_party: FirstParty) -> Migration:
    names = _run(source)
    _import_later_ones(source, first_party)
    revision, parents, operations = _declared(source, names)
    own = checksum(source.tree)
    modules = first_party.modules(source.tree)
    return Migration(
        revision=revision,
        down_revisions=parents,
        operations=operations,
        message=_message(source),
        path=source.shown,
        checksum=own,
        content_hash=content_hash(own, modules),
        modules=modules,
        places=places(source.tree, len(operations)),
        allowances=allowances(source.content),
    )


# --- running ----------------------------------------------------------------------------------------------------------


def _run(source: Source) -> dict[str, Any]:
    """The names that the file defines."""
    module = ModuleType(f"_migration_{hashlib.sha256(os.fsencode(source.path)).hexdigest()[:16]}")
    module.__file__ = str(source.path)
    # Dataclasses look their module up while it runs; afterwards nobody needs to find it by name.
    sys.modules[module.__name__] = module
    try:
        code = compile(source.tree, str(source.path), "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - a migration file is a program of the project's own
    except MigratorError as exc:
        # An operation refused its arguments: the same refusal, with the place.
        raise source.bad(_line_in(source, exc), exc.message, exc.hint, exc.code) from exc
    except SyntaxError as exc:
        if exc.filename in (None, str(source.path)):
            raise source.bad(exc.lineno, f"syntax error: {exc.msg}", "correct the file") from exc
        raise source.bad(_line_in(source, exc), said(exc), "correct the module it imports") from exc
    except ImportError as exc:
        raise source.bad(
            _line_in(source, exc),
            said(exc),
            "install what it imports where migrator runs; the folder of the configuration file is on the import path",
        ) from exc
    except (KeyboardInterrupt, AskedToEnd):
        # A signal to this process, and nothing that the file did.
        raise
    except BaseException as exc:
        raise source.bad(_line_in(source, exc), said(exc), _mend(exc)) from exc
    finally:
        sys.modules.pop(module.__name__, None)
    return vars(module)


def _import_later_ones(source: Source, first_party: FirstParty) -> None:
    """Imports what functions of the file import: when they run, the project's root is not on `sys.path` any more.

    One that cannot be imported is refused now and not in the middle of a table, unless the file catches that.
    """
    for imported in later_imports(source.tree):
        for name in first_party.direct([imported]):
            try:
                importlib.import_module(name)
            except (KeyboardInterrupt, AskedToEnd):
                raise
            except BaseException as exc:
                # A guard is an `except` for what goes wrong, not for a module that ends the process.
                if not imported.guarded or not isinstance(exc, Exception):
                    raise source.bad(_line_of_import(source.tree, name), said(exc), "correct the module") from exc


def _line_in(source: Source, exc: BaseException) -> int | None:
    """The last line of the file that led to the exception."""
    line, at = None, exc.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == str(source.path):
            line = at.tb_lineno
        at = at.tb_next
    return line


def _line_of_import(tree: ast.Module, name: str) -> int | None:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(alias.name == name for alias in names):
                return node.lineno
            case ast.ImportFrom(module=str(module)) if name == module or name.startswith(f"{module}."):
                return node.lineno
    return None


def _shown(value: object) -> str:
    """A value for a message: cut, and whatever its own `__repr__` does."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value of the file's own
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


# --- what the file declares -------------------------------------------------------------------------------------------


def _declared(source: Source, names: dict[str, Any]) -> tuple[str, tuple[str, ...], tuple[Operation, ...]]:
    try:
        for name, instead in _UNSUPPORTED.items():
            if names.get(name) is not None:
                raise _bad(source, name, f"{name} is not supported", instead)
        return _revision(source, names), _parents(source, names), _operations(source, names)
    except MigratorError:
        raise
    except Exception as exc:
        # What a file declares may be an object of its own, whose methods raise.
        raise source.bad(None, f"what it declares cannot be read: {said(exc)}") from exc


def _revision(source: Source, names: dict[str, Any]) -> str:
    revision = names.get("revision")
    if not isinstance(revision, str):
        raise _bad(source, "revision", f"revision is {_shown(revision)}, not a string")
    if not _REVISION.fullmatch(revision) or revision in SYMBOLS:
        raise _bad(
            source,
            "revision",
            f"revision {_shown(revision)} cannot be an id",
            "up to 64 letters, digits, _ and . (a target such as head or REV+1 must stay readable)",
        )
    return revision


def _parents(source: Source, names: dict[str, Any]) -> tuple[str, ...]:
    if "down_revision" not in names:
        raise source.bad(None, "no down_revision", "the revision it builds on, or None for the first")
    parents = names["down_revision"]
    match parents:
        case None:
            return ()
        case str():
            return (parents,)
        case tuple() | list() if parents and all(isinstance(parent, str) for parent in parents):
            if len(set(parents)) < len(parents):
                raise _bad(source, "down_revision", f"down_revision {_shown(parents)} names a parent twice")
            return tuple(parents)
    raise _bad(source, "down_revision", f"down_revision is {_shown(parents)}, not a string, a tuple of strings or None")


def _operations(source: Source, names: dict[str, Any]) -> tuple[Operation, ...]:
    if "operations" not in names:
        if "upgrade" in names:
            raise _bad(
                source,
                "upgrade",
                "upgrade() instead of operations",
                "operations = [AddIndex(…), Backfill(…)] is a list",
            )
        raise source.bad(None, "no operations", "operations = [] where there is nothing to do")
    operations = names["operations"]
    if not isinstance(operations, list | tuple):
        raise _bad(source, "operations", f"operations is a {type(operations).__name__}, not a list")
    for position, operation in enumerate(operations):
        if isinstance(operation, type) or not isinstance(operation, Operation):
            raise _bad(source, "operations", f"operations[{position}] is no operation: {_shown(operation)}")
    return tuple(operations)


def _message(source: Source) -> str:
    """The first line of the docstring; without one, the file's name."""
    lines = (ast.get_docstring(source.tree) or "").splitlines()
    return as_text(lines[0].strip() if lines else source.path.stem)


def _bad(source: Source, variable: str, problem: str, hint: str | None = None) -> UsageError:
    return source.bad(line_of(source.tree, variable), problem, hint)
