"""The first-party modules that a file imports, found without running them.

First-party is what lies under the project's root and is neither in a virtual environment nor in the standard library.
What a program imports by a computed name cannot be seen here.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from migrator.loader.checksum import digest
from migrator.loader.source import read_source

_OWN = __name__.partition(".")[0]
_STANDARD = tuple(Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "platstdlib"))


@dataclass(frozen=True, slots=True)
class Imported:
    """An import of a module by its absolute name. `guarded`: its failure is caught by a `try` around it."""

    module: str
    guarded: bool


@dataclass(slots=True)
class FirstParty:
    """Finds and digests the first-party modules of one project; remembers what it has read.

    Used while the project's root is on `sys.path`.
    """

    root: Path
    _specs: dict[str, ModuleSpec | None] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    _imports: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def modules(self, tree: ast.Module) -> tuple[str, ...]:
        """`name sha256` of each first-party module that the tree imports, directly or not, sorted by name."""
        todo = list(self.direct(imports_of(tree)))
        found: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                self._read(name)
                todo.extend(self._imports[name])
        return tuple(f"{name} {self._digests[name]}" for name in sorted(found))

    def direct(self, imports: Iterable[Imported]) -> tuple[str, ...]:
        """The first-party modules among these, and the packages around them: importing `a.b` runs `a` too."""
        found: dict[str, None] = {}
        for imported in imports:
            parts = imported.module.split(".")
            for length in range(1, len(parts) + 1):
                name = ".".join(parts[:length])
                if self._origin(name) is not None:
                    found[name] = None
        return tuple(found)

    def _read(self, name: str) -> None:
        if name in self._digests:
            return
        path = self._origin(name)
        assert path is not None, "only first-party modules are read"
        if path.suffix != ".py":
            self._digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            self._imports[name] = ()
            return
        tree = read_source(path, self.root).tree
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self._digests[name] = digest(tree)
        self._imports[name] = self.direct(imports_of(tree, package))

    def _origin(self, name: str) -> Path | None:
        """The file of a first-party module; None for others, and for folders that are packages without a file."""
        spec = self._spec(name)
        if spec is None or not spec.has_location or spec.origin is None:
            return None
        path = Path(spec.origin).resolve()
        return path if self._is_first_party(path) else None

    def _is_first_party(self, path: Path) -> bool:
        if not path.is_relative_to(self.root) or any(path.is_relative_to(folder) for folder in _STANDARD):
            return False
        inside = [folder for folder in path.parents if folder.is_relative_to(self.root)]
        return not any(
            folder.name in ("site-packages", "dist-packages") or (folder / "pyvenv.cfg").is_file() for folder in inside
        )

    def _spec(self, name: str) -> ModuleSpec | None:
        if name not in self._specs:
            self._specs[name] = self._find(name)
        return self._specs[name]

    def _find(self, name: str) -> ModuleSpec | None:
        package = name.rpartition(".")[0]
        if package:
            around = self._spec(package)
            places: Sequence[str] | None = around.submodule_search_locations if around else None
            return PathFinder.find_spec(name, list(places)) if places else None
        if name == _OWN:
            return None  # The tool's own modules are no part of what a migration says.
        try:
            # As the import system sees it: what is loaded already, what is installed in place, what is on the path.
            return importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None


def imports_of(tree: ast.AST, package: str = "") -> tuple[Imported, ...]:
    """Every import in the tree, wherever it stands; `package` is the one that relative imports start from.

    `from a import b` is listed as `a` and as `a.b`, which may be a module too. What stands under `if TYPE_CHECKING`
    never runs and is left out.
    """
    return tuple(_imports(tree, package, guarded=False))


def later_imports(tree: ast.Module) -> tuple[Imported, ...]:
    """Imports inside functions: they run when the function does."""
    return tuple(
        imported
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for imported in imports_of(node)
    )


def _imports(node: ast.AST, package: str, *, guarded: bool) -> Iterator[Imported]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield Imported(alias.name, guarded)
        case ast.ImportFrom(module=module, names=names, level=level):
            source = _absolute(module or "", level, package)
            if source:
                yield Imported(source, guarded)
                for alias in names:
                    if alias.name != "*":
                        yield Imported(f"{source}.{alias.name}", guarded)
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=orelse):
            for statement in orelse:
                yield from _imports(statement, package, guarded=guarded)
        case ast.Try(body=body, handlers=handlers):
            for child in ast.iter_child_nodes(node):
                yield from _imports(child, package, guarded=guarded or (bool(handlers) and child in body))
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _imports(child, package, guarded=guarded)


def _absolute(module: str, level: int, package: str) -> str:
    """The absolute name of `from ..module import`; "" where it leads out of the package."""
    if not level:
        return module
    parts = package.split(".") if package else []
    if level > len(parts):
        return ""
    return ".".join([*parts[: len(parts) - level + 1], *([module] if module else [])])
