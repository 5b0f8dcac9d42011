"""One command over many targets: canaries first and one by one, then several at a time, and stop where one fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from migrator.errors import MigratorError, said
from migrator.runner.results import (
    CheckResult,
    PlanResult,
    Result,
    RunResult,
    StatusResult,
    TargetOutcome,
    TargetsResult,
)

CARRY_ON = frozenset({0, 5, 8, 9})
"""Exit codes after which the next target may begin: done, still building, pending, at a gate."""
GRAVITY = (143, 130, 1, 2, 3, 6, 7, 4, 5, 9, 8)
"""Exit codes from the worst on: the one of all targets is the worst of any."""


class Stoppable(Protocol):
    def stop(self, signal_number: int) -> None: ...


@dataclass
class Fleet:
    """How many, in which order, and how far. `open` gives the runner of a target, `act` is the command."""

    open: Callable[[str], AbstractContextManager[Stoppable]]
    act: Callable[[str, Stoppable], Result]
    monotonic: Callable[[], float]
    canary: int = 0
    parallel: int = 4
    keep_going: bool = False
    _working: dict[str, Stoppable] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _halted: threading.Event = field(default_factory=threading.Event)
    _signal: int = 0

    def stop(self, signal_number: int) -> None:
        """Nothing further begins, and what is under way stops at its next checkpoint."""
        with self._lock:
            self._signal = signal_number
            self._halted.set()
            working = list(self._working.values())
        for runner in working:
            runner.stop(signal_number)

    def go(self, names: Sequence[str]) -> tuple[TargetOutcome, ...]:
        """Every target's outcome, in the order of `names`; those that were not begun say so."""
        outcomes: dict[str, TargetOutcome] = {}
        first = names[: self.canary]
        for name in first:
            outcomes[name] = self._one(name)
        with ThreadPoolExecutor(max(1, self.parallel), thread_name_prefix="target") as pool:
            outcomes.update(zip(names[len(first) :], pool.map(self._one, names[len(first) :]), strict=True))
        return tuple(outcomes[name] for name in names)

    def _one(self, name: str) -> TargetOutcome:
        if self._halted.is_set():
            return TargetOutcome(name, "not-begun", 0, 0.0, "nothing was done")
        began = self.monotonic()
        try:
            with self.open(name) as runner, self._reachable(name, runner):
                result = self.act(name, runner)
            outcome = TargetOutcome(
                name, result.state, result.exit_code, self.monotonic() - began, summary(result), result=result
            )
        except MigratorError as exc:
            outcome = TargetOutcome(
                name, "error", exc.exit_code, self.monotonic() - began, exc.message, exc.code, exc.hint or ""
            )
        except Exception as exc:  # noqa: BLE001 - the other targets' outcomes must still be told
            outcome = TargetOutcome(name, "error", 1, self.monotonic() - began, said(exc), "internal")
        if outcome.exit_code not in CARRY_ON and not self.keep_going:
            self._halted.set()
        return outcome

    @contextmanager
    def _reachable(self, name: str, runner: Stoppable) -> Iterator[None]:
        with self._lock:
            self._working[name] = runner
            number = self._signal
        if number:
            runner.stop(number)
        try:
            yield
        finally:
            with self._lock:
                del self._working[name]


def together(outcomes: Sequence[TargetOutcome], *, again: str) -> TargetsResult:
    """The result of all. `again`: the command that does the rest."""
    codes = {one.exit_code for one in outcomes}
    exit_code = next((code for code in GRAVITY if code in codes), max(codes, default=0))
    left = [one.name for one in outcomes if one.state == "not-begun"]
    failed = [one for one in outcomes if one.exit_code not in CARRY_ON]
    reached = not failed and not left
    worst = next((one for one in failed if one.exit_code == exit_code), None)
    return TargetsResult(
        state="done" if reached else "failed" if len(failed) == len(outcomes) else "partly",
        exit_code=exit_code or (1 if left else 0),
        next="" if reached and exit_code == 0 else again,
        blocked_by="" if worst is None else f"target {worst.name}: {worst.says}",
        targets=tuple(outcomes),
        not_begun=tuple(left),
    )


def summary(result: Result) -> str:
    """What one line says of a target."""
    match result:
        case PlanResult(revisions=revisions):
            return ", ".join(one.revision for one in revisions) or "nothing pending"
        case RunResult(outcomes=outcomes, current=current):
            ran = ", ".join(f"{one.revision} {one.status}" for one in outcomes)
            return ran or f"at {', '.join(current) or 'base'}"
        case StatusResult(current=current):
            return result.blocked_by or f"at {', '.join(current) or 'base'}"
        case CheckResult(findings=findings, pending=pending):
            return findings[0].message if findings else ", ".join(pending) or "nothing pending"
        case _:
            return result.blocked_by
