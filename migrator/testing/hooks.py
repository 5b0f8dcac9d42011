"""Hooks at every call of a port: crash there, write in between, lose the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any, Literal, TypeAlias, TypeVar

from migrator.core.change import Outcome

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One side of a call: `before` its effect or `after` it. `operation` is like `records.write`."""

    operation: str
    moment: Literal["before", "after"]
    arguments: Mapping[str, Any]


Hook: TypeAlias = Callable[[Call], None]


class Crash(BaseException):
    """The process dies here. No `except Exception` survives it."""


class Answer(Exception):
    """Raised by a hook around a write of Items: the write answers with this outcome, whatever happened."""

    def __init__(self, outcome: Outcome):
        super().__init__(str(outcome))
        self.outcome = outcome


class CrashAt:
    """A hook that lets `count` moments pass, then crashes there and at every later one: a dead process stays dead."""

    def __init__(self, count: int, operation: str = ""):
        self.left = count
        self.operation = operation
        self.crashed = False

    def __call__(self, call: Call) -> None:
        if self.crashed:
            raise Crash("dead")
        if call.operation.startswith(self.operation):
            self.left -= 1
        if self.left < 0:
            self.crashed = True
            raise Crash(f"{call.moment} {call.operation}")


class Once:
    """A hook that does `action` at the `nth` (from 0) time `operation` is at `moment`, and never again."""

    def __init__(
        self,
        operation: str,
        action: Callable[[], None],
        moment: Literal["before", "after"] = "before",
        nth: int = 0,
    ):
        self.operation = operation
        self.action = action
        self.moment = moment
        self.left = nth
        self.done = False

    def __call__(self, call: Call) -> None:
        if self.done or call.moment != self.moment or call.operation != self.operation:
            return
        self.left -= 1
        if self.left < 0:
            self.done = True
            self.action()


def raising(error: BaseException) -> Callable[[], None]:
    """An action for `Once` that raises."""

    def action() -> None:
        raise error

    return action


class Hooked:
    """A port whose every call passes its hooks, which run outside the lock: they may call anything."""

    def __init__(self, lock: RLock, on_call: list[Hook] | None = None):
        self.lock = lock
        self.on_call: list[Hook] = [] if on_call is None else on_call

    def tell(self, call: Call) -> None:
        for hook in list(self.on_call):
            hook(call)

    def call(self, operation: str, effect: Callable[[], T], **arguments: Any) -> T:
        self.tell(Call(operation, "before", arguments))
        with self.lock:
            result = effect()
        self.tell(Call(operation, "after", arguments))
        return result
