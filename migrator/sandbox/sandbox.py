"""The sandbox as tests use it: an engine, its rules and its port, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import TracebackType
from typing import Any

from migrator.errors import MigratorError
from migrator.sandbox.capacity import ReadCapacity
from migrator.sandbox.clients import open_client
from migrator.sandbox.clock import Clock, WallClock
from migrator.sandbox.conflicts import Conflicts
from migrator.sandbox.engine import Engine
from migrator.sandbox.extra import extra
from migrator.sandbox.faults import Faults, FaultSwitch, Spec, Told
from migrator.sandbox.faults.admin import PATH, administer
from migrator.sandbox.index_items import IndexItems
from migrator.sandbox.interception import After, Before, Interception, Interceptions, Logged
from migrator.sandbox.layer import Layer, Rule
from migrator.sandbox.life import Lives, Timing
from migrator.sandbox.metrics import BuildMetrics
from migrator.sandbox.partiql import PartiQL
from migrator.sandbox.reads import Reads
from migrator.sandbox.server import ServerThread, listen
from migrator.sandbox.tables import Tables

ACCOUNT = "000000000000"
REGION = "eu-west-1"
TRANSACTION_WINDOW = 0.001
"""Seconds for which a transaction holds its items before it runs."""


def build_layer(
    lives: Lives,
    outermost: Interceptions,
    about: dict[str, Any],
    *,
    transaction_window: float = TRANSACTION_WINDOW,
    faults: Faults,
    further: Sequence[Rule] = (),
) -> Layer:
    """The ASGI application: ministack behind the rules, in their order."""
    engine = Engine()
    faults.start(engine)
    rules: list[Rule] = [
        outermost,
        *further,
        faults,
        Conflicts(engine, transaction_window),
        # From here on nothing waits: these run in one piece with the engine.
        BuildMetrics(engine, lives),
        Tables(engine, lives),
        Reads(engine, lives),
        ReadCapacity(engine),
        IndexItems(engine),
        PartiQL(engine),
    ]

    def reset() -> None:
        lives.clear()
        faults.reset()

    return Layer(engine, rules, about, reset, {PATH: partial(administer, faults)})


class Sandbox:
    """DynamoDB on a loopback port, started by `with` or `start()`.

    `index_build` is the length of an index build in seconds of `clock`; `table_build` that of a table's
    creation and deletion (0: at once); `transaction_window` how many real seconds a transaction holds its
    items before it runs. `faults` are those that a reset comes back to (see `read_spec`), and further
    rules outside of the sandbox's own; `faults.add` and `fault` add more while it runs.

    The engine's state belongs to the process: two sandboxes at once see the same tables unless their clients
    differ in region or in a 12-digit access key. A reset or a stop empties the regions and accounts that this
    sandbox was used with.
    """

    def __init__(
        self,
        port: int = 0,
        index_build: float = 0.2,
        clock: Clock | None = None,
        host: str = "127.0.0.1",
        *,
        table_build: float = 0.0,
        transaction_window: float = TRANSACTION_WINDOW,
        faults: Sequence[Rule | Spec] = (),
    ) -> None:
        self.host = host
        self.port = port
        self.clock: Clock = clock or WallClock()
        self._lives = Lives(self.clock, Timing.of(index_build, table_build))
        self._transaction_window = transaction_window
        self._rules = tuple(rule for rule in faults if not isinstance(rule, Spec))
        self._faults = Faults(self.clock, [spec for spec in faults if isinstance(spec, Spec)])
        self.faults = FaultSwitch(self._faults, self._on_loop)
        self._wire = Interceptions(log=True)
        self._server: ServerThread | None = None
        self._clients: list[Any] = []

    @property
    def endpoint_url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def requests(self) -> list[Logged]:
        """Every request since the start or the last `clear()`: operation and body."""
        return self._wire.requests

    def start(self) -> Sandbox:
        if self._server is not None:
            raise MigratorError("sandbox-running", f"the sandbox already runs at {self.endpoint_url}")
        extra("hypercorn.asyncio")
        about = {"sandbox": "dynamodb-migrations", "pid": os.getpid()}
        layer = build_layer(
            self._lives,
            self._wire,
            about,
            transaction_window=self._transaction_window,
            faults=self._faults,
            further=self._rules,
        )
        listener = listen(self.host, self.port)
        self.port = listener.getsockname()[1]
        self._server = ServerThread(layer, listener)
        self._reset = layer.reset
        return self

    def stop(self) -> None:
        """Close the clients, forget all state but the request log, and close the port."""
        for client in self._clients:
            client.close()
        self._clients.clear()
        if self._server is not None:
            self._server.run(self._reset)
            self._server.stop()
            self._server = None

    def __enter__(self) -> Sandbox:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def reset(self) -> None:
        """Forget all tables and metrics, what is in flight, and the request log."""
        if self._server is not None:
            self._server.run(self._reset)
        self.requests.clear()

    def client(
        self,
        service: str = "dynamodb",
        *,
        region: str = REGION,
        account: str = ACCOUNT,
        unseen: bool = False,
        **config: Any,
    ) -> Any:
        """A boto3 client of this sandbox, closed with it.

        The requests of an `unseen` one are neither logged nor intercepted: it plays the application beside
        the tool, and is what a hook should use. `config` are further members of botocore's Config.
        """
        options = {"retries": {"total_max_attempts": 1}, "max_pool_connections": 32, **config}
        client = open_client(self.endpoint_url, region, service, account=account, unseen=unseen, **options)
        self._clients.append(client)
        return client

    @contextmanager
    def fault(self, kind: str, **members: Any) -> Iterator[Told]:
        """A fault for the length of the `with`: see `FaultSwitch.add`."""
        told = self.faults.add(kind, **members)
        try:
            yield told
        finally:
            self.faults.clear(told.id)

    def _on_loop(self, work: Callable[[], Any]) -> Any:
        if self._server is None:
            raise MigratorError("sandbox-not-running", "faults are added to a sandbox that runs", hint="start it first")
        return self._server.run(work)

    def intercept(
        self,
        before: Before | None = None,
        *,
        after: After | None = None,
        operation: str | None = None,
        nth: int | None = None,
    ) -> AbstractContextManager[Interception]:
        """Run code before the engine sees a request, or after it has answered, while the `with` lasts.

        `before(request)` returns None to go on, a Response to answer in the engine's place, or Drop() to
        break the connection with nothing applied. `after(request, response)` returns None to pass the answer
        on, another Response, or Drop() to lose the answer of what was applied. `operation` and `nth` (from 1)
        narrow it down.
        """
        return self._wire.installed(Interception(before, after, operation, nth))

    def on(
        self, operation: str, do: Callable[[], object], *, nth: int | None = None
    ) -> AbstractContextManager[Interception]:
        """Run `do()` just before each (or the nth) request of `operation`, and let the request go on."""

        def before(_: object) -> None:
            do()

        return self.intercept(before, operation=operation, nth=nth)
