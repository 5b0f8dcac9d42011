"""A TOML file of faults: one `[[fault]]` each."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from migrator.errors import UsageError
from migrator.sandbox.faults.kind import Act
from migrator.sandbox.faults.spec import KINDS, BadFault, Spec, read_spec


def read_file(path: Path) -> tuple[Spec, ...]:
    """The faults of a file in their order. Raises UsageError, which names the file and the place."""
    hint = "see docs/rehearse.md for the form of the file"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is no text in UTF-8"
        raise UsageError("no-such-file", f"{path} cannot be read: {reason}", hint=hint) from exc
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise UsageError("bad-fault", f"{path} is no TOML: {exc}", hint=hint) from exc
    unknown = sorted(document.keys() - {"fault"})
    if unknown:
        raise UsageError("bad-fault", f"{path}: {unknown[0]} is unknown; a fault is a [[fault]]", hint=hint)
    faults = document.get("fault", [])
    if not isinstance(faults, list) or not all(isinstance(one, dict) for one in faults):
        raise UsageError("bad-fault", f"{path}: fault is no list of tables; write [[fault]]", hint=hint)
    return tuple(_read(one, f"{path}: fault {number}") for number, one in enumerate(faults, 1))


def _read(given: dict[str, Any], where: str) -> Spec:
    spec = read_spec(given, where)
    if issubclass(KINDS[spec.kind], Act) and not spec.match.operations:
        text = f"{spec.kind} would happen before there is any table; name one before which it is to happen"
        raise BadFault(f"{where}, operation", text)
    return spec
