"""Which file is the configuration: a given one, or the nearest one upwards."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from migrator.config.model import Config
from migrator.config.read import read_config
from migrator.errors import UsageError

FILE_NAME = "migrator.toml"
PROJECT_FILE = "pyproject.toml"
_SECTION = ("tool", "migrator")


def load_config(path: Path | None, start: Path) -> Config:
    """The configuration at `path`, or else the nearest migrator.toml or [tool.migrator] from `start` upwards.

    Raises UsageError `no-config` where there is none, `two-configs` where one folder has both, `bad-config` where
    it says what it cannot.
    """
    if path is not None:
        return _given(path if path.is_absolute() else start / path)
    start = start.resolve()
    for folder in (start, *start.parents):
        own, shared = folder / FILE_NAME, folder / PROJECT_FILE
        section = _section(shared) if shared.is_file() else None
        if own.is_file():
            if section is not None:
                raise UsageError(
                    "two-configs",
                    f"both {own} and [tool.migrator] in {shared} configure this project",
                    hint="keep one of them, or choose with -c FILE",
                )
            return read_config(own, _toml(own))
        if section is not None:
            return read_config(shared, section, _SECTION)
    raise UsageError(
        "no-config",
        f"no {FILE_NAME} and no [tool.migrator] in a {PROJECT_FILE}, in {start} or above it",
        hint="`migrator init` writes one; -c FILE names one elsewhere",
    )


def _given(path: Path) -> Config:
    path = path.resolve()
    if not path.is_file():
        raise UsageError("no-config", f"{path} is no file", hint="`migrator init` writes one")
    if path.name != PROJECT_FILE:
        return read_config(path, _toml(path))
    section = _section(path)
    if section is None:
        raise UsageError("no-config", f"{path} has no [tool.migrator]", hint="`migrator init` shows what to paste")
    return read_config(path, section, _SECTION)


def _section(path: Path) -> dict[str, Any] | None:
    """[tool.migrator] of a pyproject.toml, or None: the file may be there for other tools."""
    tool = _toml(path).get("tool", {})
    found = tool.get("migrator") if isinstance(tool, dict) else None
    if found is not None and not isinstance(found, dict):
        raise UsageError("bad-config", f"{path}: tool.migrator: expected a table")
    return found


def _toml(path: Path) -> dict[str, Any]:
    try:
        # Editors on Windows put a byte order mark first, which TOML does not know.
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as exc:
        # Besides syntax: numbers of thousands of digits, and nesting too deep, which have words of their own.
        raise UsageError("bad-config", f"{path} is not TOML: {exc}") from exc
    except OSError as exc:
        raise UsageError("bad-config", f"{path} cannot be read: {exc.strerror}") from exc
