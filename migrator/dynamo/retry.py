"""The one retry layer: for reads, the control plane and control records. Guarded data writes do not pass here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import tenacity

from migrator.core.ports import Clock, Entropy
from migrator.dynamo.errors import Conflict, Unreachable, translated
from migrator.errors import AnswerLost, MigratorError, Throttled

T = TypeVar("T")
Told = Callable[[MigratorError, float], None]
"""Called before each wait with what went wrong and the seconds to wait."""


def _quiet(_error: MigratorError, _seconds: float) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Again after throttles, conflicts, lost answers and failed connections: exponential, full jitter, capped.

    `base` and `cap` are seconds. `lost_attempts` bounds what may fail for good: some 500s are deterministic
    (facts §8), and an endpoint may be down.
    """

    clock: Clock
    entropy: Entropy
    attempts: int = 12
    lost_attempts: int = 5
    base: float = 0.05
    cap: float = 3.0
    told: Told = field(default=_quiet)

    def call(self, function: Callable[[], T]) -> T:
        """What `function` returns in the end; raises its last error when the attempts are used up."""
        retrying = tenacity.Retrying(
            sleep=self.clock.sleep,
            stop=self._is_enough,
            wait=self._wait,
            retry=tenacity.retry_if_exception_type((Throttled, Conflict, AnswerLost, Unreachable)),
            before_sleep=self._tell,
            reraise=True,
        )
        return retrying(function)

    def request(self, action: str, resource: str, function: Callable[[], T], hint: str | None = None) -> T:
        """`call`, with what botocore raises translated: `action` is IAM's name, `resource` a table or its like."""

        def attempt() -> T:
            with translated(action, resource, hint):
                return function()

        return self.call(attempt)

    def _is_enough(self, state: tenacity.RetryCallState) -> bool:
        passing = isinstance(_error(state), Throttled | Conflict)
        return state.attempt_number >= (self.attempts if passing else self.lost_attempts)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        return self.entropy.uniform(0.0, min(self.cap, self.base * 2.0**state.attempt_number))

    def _tell(self, state: tenacity.RetryCallState) -> None:
        error = _error(state)
        if isinstance(error, MigratorError):
            self.told(error, state.upcoming_sleep)


def _error(state: tenacity.RetryCallState) -> BaseException | None:
    return None if state.outcome is None else state.outcome.exception()
