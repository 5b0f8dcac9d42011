"""The first configuration file, for `migrator init`: an existing one is never rewritten, its comments would be lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from migrator.config.model import VARIABLE
from migrator.config.settings import ManagedBy
from migrator.errors import UsageError

_HEADER = "# What `migrator` works on: `migrator status` shows what it finds there.\n"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What became of `init`: when not `written`, `text` is for the user to paste into `path`."""

    path: Path
    text: str
    written: bool


def default_config_text(
    *,
    table: str = "{stage}-app",
    alias: str = "app",
    managed_by: ManagedBy = "migrator",
    env: str = "local",
    endpoint_url: str | None = None,
    region: str | None = None,
    profile: str | None = None,
    script_location: str = "migrations",
    in_pyproject: bool = False,
) -> str:
    """A configuration with one table and one environment; each variable in the table's name is set to the latter's."""
    given = {"endpoint_url": endpoint_url, "region": region, "profile": profile}
    environment: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    variables = dict.fromkeys(VARIABLE.findall(table), env)
    if variables:
        environment["vars"] = variables
    entries: dict[str, Any] = {
        "script_location": script_location,
        "default_env": env,
        "default_table": alias,
        "tables": {alias: {"name": table, "managed_by": managed_by}},
        "env": {env: environment},
    }
    if in_pyproject:
        return tomli_w.dumps({"tool": {"migrator": entries}})
    return _HEADER + tomli_w.dumps(entries)


def write_config(path: Path, text: str) -> ConfigFile:
    """Writes the text to a file that does not exist yet; where it does, nothing is written."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return ConfigFile(path, text, written=False)
    except OSError as exc:
        raise UsageError("cannot-write", f"{path} cannot be written: {exc.strerror}") from exc
    return ConfigFile(path, text, written=True)
