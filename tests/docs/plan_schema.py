"""The JSON Schema of a plan's document, made from the results: `python -m tests.docs.plan_schema` writes it."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import textwrap
import types
from collections.abc import Mapping
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from migrator.runner import results

FILE = Path(__file__).parents[2] / "docs" / "plan.schema.json"
HEAD = {
    "schema_version": {"const": 1},
    "command": {"enum": ["plan", "upgrade"]},
    "exit_code": {"type": "integer", "description": "That of the process."},
    "state": {"enum": ["nothing-pending", "pending", "refused"]},
    "next": {"type": "string", "description": "What to type next; empty: nothing."},
    "blocked_by": {"type": "string", "description": "What stands in the way; empty: nothing."},
}


def schema() -> dict[str, Any]:
    made: dict[str, Any] = {}
    plan = _object(results.PlanResult, made)
    plan["properties"] = HEAD | {name: kind for name, kind in plan["properties"].items() if name not in HEAD}
    plan["required"] = list(plan["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The document of `migrator plan -o json`",
        "description": "Fields may be added within a schema_version. A number that is not known is null, never 0.",
        **plan,
        "$defs": dict(sorted(made.items())),
    }


def _object(kind: type, made: dict[str, Any]) -> dict[str, Any]:
    hints, told = get_type_hints(kind), _descriptions(kind)
    properties = {}
    for field in dataclasses.fields(kind):
        described = {"description": told[field.name]} if field.name in told else {}
        properties[field.name] = {**_type(hints[field.name], made), **described}
    return {
        "type": "object",
        **_told(kind),
        "properties": properties,
        "required": list(properties),
    }


def _told(kind: type) -> dict[str, str]:
    """Of a dataclass without a docstring of its own there is only its signature."""
    told = " ".join(str(kind.__doc__).split())
    return {} if told.startswith(f"{kind.__name__}(") else {"description": told}


def _type(hint: Any, made: dict[str, Any]) -> dict[str, Any]:
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [_type(one, made) for one in inside]
        return {"anyOf": kinds}
    if origin is Literal:
        return {"enum": list(inside)}
    if origin is tuple:
        return {"type": "array", "items": _type(inside[0], made)}
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {"type": "object", "additionalProperties": _type(inside[1], made)}
    if hint is Any:
        return {}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in made:
            made[hint.__name__] = {}
            made[hint.__name__] = _object(hint, made)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [one.value for one in hint]}
    return {"type": {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}[hint]}


def _descriptions(kind: type) -> dict[str, str]:
    """Field -> the docstring under it."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__[:-1]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        body = getattr(tree, "body", [])
        for field, below in pairwise(body):
            told = below.value if isinstance(below, ast.Expr) else None
            if isinstance(field, ast.AnnAssign) and isinstance(told, ast.Constant):
                found[ast.unparse(field.target)] = " ".join(str(told.value).split())
    return found


def text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
