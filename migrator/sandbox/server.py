"""An ASGI application served on one loopback port, in the foreground or on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from migrator.errors import MigratorError
from migrator.sandbox.extra import extra

T = TypeVar("T")
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_quiet = logging.getLogger("migrator.sandbox.http")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on a loopback address; port 0 takes a free one."""
    if host not in LOOPBACK:
        raise MigratorError(
            "sandbox-not-loopback",
            f"the sandbox listens on loopback only, not on {host!r}: it checks no credentials",
            hint="use 127.0.0.1, the default",
        )
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as exc:
        raise MigratorError(
            "sandbox-port-in-use",
            f"the sandbox cannot listen on {host}:{port}: {exc.strerror or exc}",
            hint="choose another port with --port, or stop what listens there",
        ) from exc


async def serve(app: Any, listener: socket.socket, until: Callable[[], Awaitable[Any]]) -> None:
    """Serve `app` on `listener`, which is taken over and closed, until `until()` returns."""
    config = extra("hypercorn.config").Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.errorlog = config.accesslog = _quiet
    config.graceful_timeout = 0.5
    config.keep_alive_timeout = 600
    config.keep_alive_max_requests = 10_000_000
    config.include_server_header = False
    await extra("hypercorn.asyncio").serve(app, config, shutdown_trigger=until, mode="asgi")


class ServerThread:
    """`app` served on a daemon thread with its own event loop, from construction until `stop`."""

    def __init__(self, app: Any, listener: socket.socket) -> None:
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(app, listener), name="sandbox", daemon=True)
        self._thread.start()
        self._started.wait()

    def _run(self, app: Any, listener: socket.socket) -> None:
        try:
            asyncio.run(self._serve(app, listener))
        except BaseException as exc:  # noqa: BLE001 - handed to the thread that stops the server
            self._failure = exc
        finally:
            self._started.set()

    async def _serve(self, app: Any, listener: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        # The socket listens already: a client that connects now is served as soon as the loop turns.
        self._started.set()
        await serve(app, listener, self._stopping.wait)

    def run(self, work: Callable[[], T]) -> T:
        """What `work` returns, run on the server's event loop between two operations."""

        async def on_loop() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        if self._failure is not None:
            raise self._failure
