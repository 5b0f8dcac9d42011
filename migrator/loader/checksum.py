"""The canonical form of a Python source, and the checksums over it.

The form is a text of our own made from the syntax tree: it has no positions, comments, docstrings, quotes, line
ends or order of imports, and it is the same on every Python that parses the source. What a release of Python adds to
the tree with nothing in it (an empty `type_params`) is left out; so `ast.dump`, which prints it, is not used.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Sequence

CHECKSUM_VERSION = 1
"""Raised when the canonical form changes; then files whose checksum has another version are not compared."""

_DEPTH = 20_000
_IGNORED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def checksum(tree: ast.Module) -> str:
    """`v1:` and the SHA-256 of the canonical form."""
    return f"v{CHECKSUM_VERSION}:{digest(tree)}"


def digest(tree: ast.Module) -> str:
    """The SHA-256 of the canonical form, in hex."""
    limit = sys.getrecursionlimit()
    # Python parses sums and `elif` chains deeper than it lets a function like ours descend.
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        return hashlib.sha256(canonical(tree).encode()).hexdigest()
    finally:
        sys.setrecursionlimit(limit)


def content_hash(file_checksum: str, modules: Iterable[str]) -> str:
    """Of a file and of the first-party modules it imports (`name sha256` each), in any order."""
    text = "\n".join([file_checksum, *sorted(modules)])
    return f"v{CHECKSUM_VERSION}:{hashlib.sha256(text.encode()).hexdigest()}"


def same_version(left: str, right: str) -> bool:
    """Whether two checksums were made by the same algorithm, so that a difference means something."""
    return left.partition(":")[0] == right.partition(":")[0]


def canonical(tree: ast.AST) -> str:
    """The canonical form: nested `(Node field=value …)`, in ASCII."""
    match tree:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.JoinedStr(values=values):
            return _joined(values)
        case ast.Delete(targets=targets):
            # `del (a, b)` and `del a, b` are two trees and one statement: formatters write the second.
            return f"(Delete targets={_list(_flat(targets))})"
    fields = [
        f" {name}={_value(value, is_body=_is_body(value))}"
        for name, value in ast.iter_fields(tree)
        if name not in _IGNORED and value is not None and not _is_empty(tree, name, value)
    ]
    return f"({type(tree).__name__}{''.join(fields)})"


def _value(value: object, *, is_body: bool) -> str:
    match value:
        case ast.AST():
            return canonical(value)
        case list():
            return _body(value) if is_body else _list(value)
        case _:
            return _constant(value)


def _is_body(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, ast.stmt) for entry in value)


def _is_empty(tree: ast.AST, name: str, value: object) -> bool:
    """Whether the field says nothing: an empty list, or the format of `f"{x:}"`."""
    if name == "format_spec" and isinstance(value, ast.JoinedStr):
        return isinstance(tree, ast.FormattedValue) and not _parts(value.values)
    return value == []


def _list(values: Sequence[object]) -> str:
    # A gap is the key of `**mapping` in a dict, or a keyword-only parameter without a default.
    return "[" + " ".join("-" if value is None else _value(value, is_body=False) for value in values) + "]"


def _body(statements: Sequence[ast.stmt]) -> str:
    """The imports first, one name each, sorted; then what does something: no docstring, no `...`, no `pass`."""
    imports: set[str] = set()
    others: list[str] = []
    for statement in statements:
        match statement:
            case ast.Import(names=names):
                imports.update(f"(import {_alias(alias)})" for alias in names)
            case ast.ImportFrom(module="__future__"):
                pass
            case ast.ImportFrom(module=module, names=names, level=level):
                source = "." * level + (module or "")
                imports.update(f"(from {source} {_alias(alias)})" for alias in names)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                others.append(canonical(statement))
    return "[" + " ".join([*sorted(imports), *others]) + "]"


def _alias(alias: ast.alias) -> str:
    """`import a as a` is `import a`."""
    return alias.name if alias.asname in (None, alias.name) else f"{alias.name} as {alias.asname}"


def _flat(targets: Iterable[ast.expr]) -> list[ast.expr]:
    flat: list[ast.expr] = []
    for target in targets:
        flat.extend(_flat(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target])
    return flat


def _joined(values: Sequence[ast.expr]) -> str:
    """An f-string as its parts; one without a replacement is the plain string."""
    parts = _parts(values)
    if not any(isinstance(part, ast.expr) for part in parts):
        return _constant("".join(map(str, parts)))
    return "(f " + " ".join(_constant(part) if isinstance(part, str) else canonical(part) for part in parts) + ")"


def _parts(values: Sequence[ast.expr]) -> list[str | ast.expr]:
    """Pieces of text joined and empty ones gone: releases of Python cut `f"a" "b"` in different places."""
    parts: list[str | ast.expr] = []
    for value in values:
        if not isinstance(value, ast.Constant):
            parts.append(value)
        elif parts and isinstance(parts[-1], str):
            parts[-1] += str(value.value)
        elif value.value:
            parts.append(str(value.value))
    return parts


def _constant(value: object) -> str:
    match value:
        case bool() | None:
            return str(value)
        case int():
            # Not in decimal: Python refuses to print a very long number.
            return f"int:{value:x}"
        case str():
            return f"str:{value!a}"
        case _:
            return f"{type(value).__name__}:{value!a}"
