"""Where the operations of a file stand, and what its comments allow: from its text alone."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from migrator.core.places import Allowance, Place
from migrator.errors import as_text

_ALLOW = re.compile(r"#\s*migrator:\s*allow\b(?P<rest>.*)", re.DOTALL)
_BECAUSE = re.compile(r"(?P<rules>.*?)(?:\bbecause\b(?P<reason>.*))?", re.DOTALL)


def places(tree: ast.Module, count: int) -> tuple[Place, ...]:
    """The lines of each of the `count` operations.

    Where the list is made otherwise than element by element, each stands where `operations` is assigned.
    """
    found = _assignment(tree)
    if found is None:
        return (Place(1, 1),) * count
    statement, value = found
    match value:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) if len(elements) == count and not any(
            isinstance(element, ast.Starred) for element in elements
        ):
            return tuple(_place(element) for element in elements)
    return (_place(statement),) * count


def _assignment(tree: ast.Module) -> tuple[ast.stmt, ast.expr] | None:
    """The last statement that assigns `operations` at the top of the file, and the value that it gives."""
    for statement in reversed(tree.body):
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if (its := _value_of("operations", target, value)) is not None:
                        return statement, its
            case ast.AnnAssign(target=ast.Name(id="operations"), value=ast.expr() as value):
                return statement, value
    return None


def _value_of(name: str, target: ast.expr, value: ast.expr) -> ast.expr | None:
    match target, value:
        case ast.Name(id=found), _:
            return value if found == name else None
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            pairs = (_value_of(name, one, its) for one, its in zip(names, values, strict=True))
            return next((pair for pair in pairs if pair is not None), None)
    return None


def _place(node: ast.expr | ast.stmt) -> Place:
    return Place(node.lineno, node.end_lineno or node.lineno)


def allowances(source: bytes) -> tuple[Allowance, ...]:
    """The comments `# migrator: allow RULE because REASON` of a file that Python parses, in order.

    Several rules are separated by commas. A comment on a line of its own speaks of the first line below it that is
    more than a comment.
    """
    alone: set[int] = set()
    found: list[tuple[int, str]] = []
    for token in _comments(source):
        line = token.start[0]
        if not token.line[: token.start[1]].strip():
            alone.add(line)
        match = _ALLOW.match(token.string)
        if match is not None:
            found.append((line, as_text(match["rest"])))
    return tuple(_allowance(line, _covered(line, alone), rest) for line, rest in found)


def _comments(source: bytes) -> Iterator[tokenize.TokenInfo]:
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token
    except (tokenize.TokenError, SyntaxError):
        # The parser took the file: what the tokenizer makes of its end holds no comment of ours.
        return


def _covered(line: int, alone: set[int]) -> int:
    while line in alone:
        line += 1
    return line


def _allowance(line: int, covers: int, rest: str) -> Allowance:
    match = _BECAUSE.fullmatch(rest)
    assert match is not None, "the pattern matches any text"
    rules = tuple(rule for rule in re.split(r"[\s,]+", match["rules"].strip()) if rule)
    return Allowance(line, covers, rules, (match["reason"] or "").strip(" \t:."))
