"""SIGINT and SIGTERM: a running command checkpoints and stops, and a second signal does not abort that."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import Any, Protocol

from migrator.errors import AskedToEnd

STOPPING = (signal.SIGINT, signal.SIGTERM)


class Stoppable(Protocol):
    def stop(self, signal_number: int) -> None: ...


class Signalled(AskedToEnd):
    """A signal arrived while no run was under way: there is nothing to checkpoint."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


class Signals:
    """The process's signals. Outside the main thread, where Python takes none, it does nothing."""

    def __init__(self) -> None:
        self.received: int | None = None
        """The first one."""
        self._arrived: SimpleQueue[int | None] | None = None

    @contextmanager
    def handled(self) -> Iterator[None]:
        """SIGINT and SIGTERM come here until the end of the block."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._handle) for number in STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def reaching(self, runner: Stoppable, log: Any) -> Iterator[None]:
        """Signals go to this runner until the end of the block.

        The handler only queues: a SimpleQueue may be put to inside a signal handler, whereas `stop` may take a lock
        that the interrupted thread holds. A thread of its own passes the signal on.
        """
        arrived: SimpleQueue[int | None] = SimpleQueue()
        messenger = threading.Thread(target=_pass_on, args=(arrived, runner, log), name="signals", daemon=True)
        messenger.start()
        self._arrived = arrived
        try:
            yield
        finally:
            self._arrived = None
            arrived.put(None)
            messenger.join()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.received is None:
            self.received = number
        if self._arrived is None:
            raise Signalled(number)
        self._arrived.put(number)


def _pass_on(arrived: SimpleQueue[int | None], runner: Stoppable, log: Any) -> None:
    first = True
    while (number := arrived.get()) is not None:
        name = signal.Signals(number).name
        if first:
            log.warning("stopping at the next checkpoint", signal=name)
            runner.stop(number)
        else:
            log.warning("already stopping: the checkpoint is being saved", signal=name)
        first = False
