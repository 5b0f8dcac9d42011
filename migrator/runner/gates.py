"""What to type next: at a gate, and where a revision came to no end."""

from __future__ import annotations

from collections.abc import Mapping

from migrator.control.history import Entry

_BEHIND: Mapping[str, str] = {
    "ready": "migrator upgrade --app-ready",
    "cutover": "migrator cutover {}",
    "complete": "migrator contract {} --yes",
}
_WAYS: Mapping[str, str] = {**_BEHIND, "up": "migrator upgrade", "down": "migrator rollback {}"}


def command_of(entry: Entry) -> str:
    """The command behind the gate that a revision waits at."""
    return command_behind(entry.waits_for or "complete", entry.revision)


def command_behind(stage: str, revision: str) -> str:
    """The command that answers the gate before a stage (`core/plan.py` names them) with yes, and runs it."""
    return _BEHIND[stage].format(revision)


def past_the_gate(entry: Entry) -> str:
    """What an operator types at the gate: on, or back."""
    return f"when that is so: {command_of(entry)}; or back: migrator rollback {entry.revision}"


def resumed_by(entry: Entry) -> str:
    """The command that goes on with an unfinished revision, the way it was on."""
    return _WAYS[entry.way].format(entry.revision)
