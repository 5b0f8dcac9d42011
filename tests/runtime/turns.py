"""Every interleaving of a few actors, request by request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Turn = Callable[[], None]
Actor = Callable[[Turn], None]


@dataclass
class _Worker:
    act: Actor
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    paused: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ended: bool = False
    error: BaseException | None = None

    def run(self) -> None:
        self.go.acquire()
        try:
            self.act(self._turn)
        except BaseException as exc:  # noqa: BLE001 - raised by the driver, in its own thread
            self.error = exc
        self.ended = True
        self.paused.release()

    def _turn(self) -> None:
        self.paused.release()
        self.go.acquire()


def run(actors: Sequence[Actor], prefix: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Let the actors make one request a turn, in the order of `prefix`, then each to its end.

    Gives the whole order, and who could have been next each time. Raises what an actor raised.
    """
    workers = [_Worker(act) for act in actors]
    threads = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    order: list[int] = []
    choices: list[list[int]] = []
    while alive := [number for number, worker in enumerate(workers) if not worker.ended]:
        if len(order) < len(prefix):
            chosen = prefix[len(order)]
        else:
            chosen = order[-1] if order and order[-1] in alive else alive[0]
        order.append(chosen)
        choices.append(alive)
        workers[chosen].go.release()
        assert workers[chosen].paused.acquire(timeout=30), "an actor does not end"
    for thread in threads:
        thread.join()
    for worker in workers:
        if worker.error is not None:
            raise worker.error
    return order, choices


def orders(
    attempt: Callable[[Sequence[int]], tuple[list[int], list[list[int]]]], switches: int = 3
) -> Iterator[list[int]]:
    """Try every order in which an actor is interrupted by another at most `switches` times."""
    waiting: list[list[int]] = [[]]
    while waiting:
        prefix = waiting.pop()
        order, choices = attempt(prefix)
        yield order
        for position in range(len(prefix), len(order)):
            for other in choices[position]:
                if other == order[position]:
                    continue
                branch = [*order[:position], other]
                if _interruptions(branch, choices) <= switches:
                    waiting.append(branch)


def _interruptions(order: Sequence[int], choices: Sequence[Sequence[int]]) -> int:
    return sum(
        order[position] != order[position - 1] and order[position - 1] in choices[position]
        for position in range(1, len(order))
    )
