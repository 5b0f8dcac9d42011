"""Many targets: who is begun when, what stops the rest, and which exit code stands for all."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count

import pytest

from migrator.errors import LockHeld, MigratorError
from migrator.runner.fleet import Fleet, Stoppable, together
from migrator.runner.results import NoteResult, Result, TargetOutcome

NAMES = [f"t{number}" for number in range(8)]


class Runner:
    def __init__(self) -> None:
        self.stopped: list[int] = []

    def stop(self, signal_number: int) -> None:
        self.stopped.append(signal_number)


class Recorded:
    """Targets that answer with an exit code, raise, or call a function."""

    def __init__(self, answers: Mapping[str, object] = {}):
        self.answers = answers
        self.begun: list[str] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        self.runners: dict[str, Runner] = {}

    @contextmanager
    def open(self, name: str) -> Iterator[Stoppable]:
        self.runners[name] = Runner()
        yield self.runners[name]

    def act(self, name: str, _: Stoppable) -> Result:
        with self._lock:
            self.begun.append(name)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            answer = self.answers.get(name, 0)
            if isinstance(answer, BaseException):
                raise answer
            if callable(answer):
                answer()
                answer = 0
            assert isinstance(answer, int)
            return NoteResult(state="done", exit_code=answer, lines=())
        finally:
            with self._lock:
                self._now -= 1


def fleet(recorded: Recorded, *, canary: int = 0, parallel: int = 1, keep_going: bool = False) -> Fleet:
    ticks = count()
    return Fleet(recorded.open, recorded.act, lambda: float(next(ticks)), canary, parallel, keep_going)


def states(outcomes: tuple[TargetOutcome, ...]) -> list[str]:
    return [one.state for one in outcomes]


def test_canaries_are_done_before_any_other_begins() -> None:
    meet = threading.Barrier(3, timeout=10)
    recorded = Recorded(dict.fromkeys(NAMES[2:5], meet.wait))
    outcomes = fleet(recorded, canary=2, parallel=3).go(NAMES[:5])
    assert recorded.begun[:2] == NAMES[:2]
    assert recorded.most_at_once == 3
    assert states(outcomes) == ["done"] * 5
    assert [one.name for one in outcomes] == NAMES[:5]


def test_never_more_than_so_many_at_once() -> None:
    recorded = Recorded()
    fleet(recorded, parallel=2).go(NAMES)
    assert recorded.most_at_once <= 2
    assert sorted(recorded.begun) == NAMES


@pytest.mark.parametrize(
    "failure", [1, 2, 3, 6, 7, MigratorError("x", "no"), LockHeld("lock-held", "no"), ValueError("no")]
)
def test_a_failure_begins_nothing_further(failure: object) -> None:
    recorded = Recorded({"t1": failure})
    outcomes = fleet(recorded).go(NAMES[:4])
    assert recorded.begun == ["t0", "t1"]
    assert states(outcomes)[2:] == ["not-begun", "not-begun"]
    result = together(outcomes, again="again")
    assert (result.state, result.not_begun, result.next) == ("partly", ("t2", "t3"), "again")
    assert result.exit_code == outcomes[1].exit_code != 0
    assert result.blocked_by.startswith("target t1: ")


@pytest.mark.parametrize("code", [5, 8, 9])
def test_an_index_still_building_a_gate_and_what_is_pending_are_no_failures(code: int) -> None:
    recorded = Recorded({"t0": code})
    outcomes = fleet(recorded, canary=1).go(NAMES[:3])
    assert recorded.begun == NAMES[:3]
    result = together(outcomes, again="again")
    assert (result.state, result.exit_code) == ("done", code)


def test_keep_going_begins_them_all() -> None:
    recorded = Recorded({"t0": 1, "t2": ValueError("a secret?")})
    outcomes = fleet(recorded, canary=1, keep_going=True).go(NAMES[:4])
    assert recorded.begun == NAMES[:4]
    assert [(one.exit_code, one.code) for one in outcomes] == [(1, ""), (0, ""), (1, "internal"), (0, "")]


def test_a_signal_reaches_every_target_under_way_and_begins_no_other() -> None:
    recorded = Recorded()
    made = fleet(recorded, parallel=2)
    begun, let_go = threading.Barrier(3, timeout=10), threading.Event()

    def work() -> None:
        begun.wait()
        let_go.wait(10)

    recorded.answers = {"t0": work, "t1": work}
    thread = threading.Thread(target=lambda: outcomes.extend(made.go(NAMES[:4])))
    outcomes: list[TargetOutcome] = []
    thread.start()
    begun.wait()
    made.stop(15)
    assert [recorded.runners[name].stopped for name in ("t0", "t1")] == [[15], [15]]
    let_go.set()
    thread.join()
    assert states(tuple(outcomes)) == ["done", "done", "not-begun", "not-begun"]
    assert together(outcomes, again="again").exit_code == 1


@pytest.mark.parametrize(
    ("codes", "worst"), [([0, 0], 0), ([8, 5], 5), ([9, 4, 6], 6), ([3, 1], 1), ([1, 143], 143), ([0, 9], 9)]
)
def test_the_worst_exit_code_stands_for_all(codes: list[int], worst: int) -> None:
    outcomes = [TargetOutcome(str(n), "x", code, 0.0, "") for n, code in enumerate(codes)]
    assert together(outcomes, again="").exit_code == worst
