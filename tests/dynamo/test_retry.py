"""The one retry layer: what it repeats, how long it waits, when it gives up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from migrator.core.ports import Busy
from migrator.dynamo.errors import Conflict, Unreachable
from migrator.dynamo.retry import Retry
from migrator.errors import AnswerLost, MigratorError, ServiceError, Throttled
from migrator.sandbox import Response
from migrator.testing.clock import SeededEntropy, VirtualClock
from tests.dynamo.conftest import Rig


def failing(error: MigratorError, times: int) -> tuple[Callable[[], str], list[int]]:
    attempts: list[int] = []

    def attempt() -> str:
        attempts.append(1)
        if len(attempts) <= times:
            raise error
        return "done"

    return attempt, attempts


@pytest.mark.parametrize("error", [Throttled("slow"), Conflict("busy"), AnswerLost("gone"), Unreachable("down")])
def test_what_passes_is_repeated(error: MigratorError) -> None:
    attempt, attempts = failing(error, 3)
    assert Retry(VirtualClock(), SeededEntropy()).call(attempt) == "done"
    assert len(attempts) == 4


@pytest.mark.parametrize("error", [ServiceError("access-denied", "no"), Busy("wait"), ServiceError("validation", "no")])
def test_what_does_not_pass_by_itself_is_raised_at_once(error: MigratorError) -> None:
    attempt, attempts = failing(error, 1)
    with pytest.raises(type(error)):
        Retry(VirtualClock(), SeededEntropy()).call(attempt)
    assert len(attempts) == 1


@pytest.mark.parametrize(("error", "most"), [(Throttled("slow"), 12), (AnswerLost("gone"), 5), (Unreachable("x"), 5)])
def test_it_gives_up_with_the_last_error(error: MigratorError, most: int) -> None:
    attempt, attempts = failing(error, 1000)
    with pytest.raises(type(error)):
        Retry(VirtualClock(), SeededEntropy()).call(attempt)
    assert len(attempts) == most


def test_waits_are_jittered_grow_and_are_capped() -> None:
    class Widest(SeededEntropy):
        def uniform(self, low: float, high: float) -> float:
            assert low == 0.0
            return high

    clock = VirtualClock()
    told: list[float] = []
    retry = Retry(clock, Widest(), told=lambda _, seconds: told.append(seconds))
    attempt, _ = failing(Throttled("slow"), 9)
    retry.call(attempt)
    assert told == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0, 3.0, 3.0])
    assert clock.true_seconds == pytest.approx(sum(told))


def test_a_throttled_read_is_repeated_and_said(rig: Rig) -> None:
    slow = Response.error("ThrottlingException", "slow down")
    with rig.sandbox.intercept(lambda _: slow, operation="Scan", nth=1):
        assert rig.items.scan("app").items == []
    assert len(rig.sent("Scan")) == 2
    assert [error.code for error, _ in rig.told] == ["throttled"]


def test_a_read_throttled_without_end_says_so(rig: Rig) -> None:
    slow = Response.error("ProvisionedThroughputExceededException", "slow down", ThrottlingReasons=[{"reason": "r"}])
    with rig.sandbox.intercept(lambda _: slow, operation="Query"), pytest.raises(Throttled) as caught:
        rig.items.query("app", {"PK": {"S": "a"}}, most=1)
    assert caught.value.reasons == (("r", ""),)
