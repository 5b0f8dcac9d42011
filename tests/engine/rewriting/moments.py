"""The whole life of a rewrite, with something that happens at one of its moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from migrator.core.ports import PutRecord
from migrator.core.rewrite.phases import PHASES, Phase
from migrator.testing.memory import Call
from tests.engine.rewriting.house import App, House

FORWARD = ("upgrade", "ready", "cutover", "contract")
BACK = ("upgrade", "ready", "cutover", "rollback")


def command(house: House, name: str, *hooks: Any) -> int:
    runner = house.runner(*hooks)
    match name:
        case "upgrade":
            return runner.upgrade(from_base=True).exit_code
        case "ready":
            return runner.upgrade(app_ready=True).exit_code
        case "cutover":
            return runner.cutover(None, yes=True).exit_code
        case "contract":
            return runner.contract(None, yes=True).exit_code
        case "rollback":
            return runner.rollback(None).exit_code
    raise AssertionError(name)


def phase_of(house: House) -> Phase:
    """What an instance reads: no record is as expand."""
    return house.record.phase if house.kept("phase#") else "expand"


def phases_alive(house: House, command: str) -> tuple[Phase, ...]:
    """The phases in which instances may be now: before the change that was not waited for, and after it."""
    if not house.kept("phase#"):
        return ("expand",)
    record = house.record
    if record.is_settled:
        return (record.phase,)
    here = PHASES.index(record.phase)
    return (PHASES[here + 1 if command == "rollback" else here - 1], record.phase)


@dataclass
class At:
    """A hook that calls `action` once, at the nth moment that concerns items or phases, and counts these."""

    nth: int
    action: Callable[[], None]
    count: int = 0

    def __call__(self, call: Call) -> None:
        if not call.operation.startswith("items.") and not is_of_phases(call):
            return
        self.count += 1
        if self.count - 1 == self.nth:
            self.action()


def is_of_phases(call: Call) -> bool:
    puts = [action for action in call.arguments.get("actions", ()) if isinstance(action, PutRecord)]
    return any(put.record.address.partition.startswith("phase#") for put in puts)


@dataclass
class Truth:
    """What the application was told is written: by key, in the old form."""

    items: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @staticmethod
    def of(items: Iterable[Mapping[str, Any]]) -> Truth:
        return Truth({(item["PK"], item["SK"]): dict(item) for item in items})

    def __iter__(self) -> Any:
        return iter(sorted(self.items.values(), key=lambda item: (item["PK"], item["SK"])))

    def put(self, app: App, item: Mapping[str, Any]) -> None:
        app.put(item)
        self.items[(item["PK"], item["SK"])] = dict(item)

    def update(self, app: App, key: Mapping[str, Any], **changes: Any) -> None:
        app.update(key, **changes)
        merged = {**self.items[(key["PK"], key["SK"])], **changes}
        self.items[(key["PK"], key["SK"])] = {name: value for name, value in merged.items() if value is not None}

    def delete(self, app: App, key: Mapping[str, Any]) -> None:
        app.delete(key)
        self.items.pop((key["PK"], key["SK"]), None)
