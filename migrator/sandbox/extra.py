"""Loading of what the optional `sandbox` extra installs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from migrator.errors import MigratorError


def extra(name: str) -> Any:
    """The module `name`, or an error that says what to install."""
    try:
        return import_module(name)
    except ImportError as exc:
        raise MigratorError(
            "sandbox-missing",
            f"the sandbox needs {name.partition('.')[0]}, which is not installed",
            hint="pip install 'dynamodb-migrations[sandbox]'",
        ) from exc
