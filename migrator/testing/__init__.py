"""For tests: decisions on single items, a sandbox migrated and seeded, the way down checked; and the ports in memory.

Names load when they are asked for: the ports in memory need `core` alone, and nothing here needs the sandbox's extra
before a sandbox is started in this process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from migrator.testing.clock import VirtualClock
    from migrator.testing.kit.decisions import Decision, decide
    from migrator.testing.kit.project import SandboxProject
    from migrator.testing.kit.reversible import Reversibility, assert_reversible
    from migrator.testing.kit.sandboxes import Account, SandboxEndpoint, sandbox_at, sandbox_in_process
    from migrator.testing.kit.tables import MigratedTable
    from migrator.testing.memory import World

_HOMES = {
    "Account": "kit.sandboxes",
    "Decision": "kit.decisions",
    "MigratedTable": "kit.tables",
    "Reversibility": "kit.reversible",
    "SandboxEndpoint": "kit.sandboxes",
    "SandboxProject": "kit.project",
    "VirtualClock": "clock",
    "World": "memory",
    "assert_reversible": "kit.reversible",
    "decide": "kit.decisions",
    "sandbox_at": "kit.sandboxes",
    "sandbox_in_process": "kit.sandboxes",
}

__all__ = [
    "Account",
    "Decision",
    "MigratedTable",
    "Reversibility",
    "SandboxEndpoint",
    "SandboxProject",
    "VirtualClock",
    "World",
    "assert_reversible",
    "decide",
    "sandbox_at",
    "sandbox_in_process",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
