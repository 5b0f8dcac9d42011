"""The sandbox in the foreground, and the few words it answers about itself."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from migrator.errors import MigratorError
from migrator.sandbox import server
from migrator.sandbox.clock import WallClock
from migrator.sandbox.extra import extra
from migrator.sandbox.faults import Faults, Spec
from migrator.sandbox.interception import Interceptions
from migrator.sandbox.life import Lives, Timing
from migrator.sandbox.sandbox import build_layer

PORT = 4566
INDEX_BUILD = 3.0
"""Seconds of an index build where a person watches."""


@dataclass(frozen=True, slots=True)
class Info:
    """A sandbox that runs as a process: `index_build` in seconds, `started` in ISO 8601."""

    pid: int
    port: int
    index_build: float
    started: str

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def serve(
    port: int = PORT,
    index_build: float = INDEX_BUILD,
    *,
    faults: Sequence[Spec] = (),
    ready: Callable[[Info], None] | None = None,
    ended: Callable[[Info], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; call `ready` once the port is open, `ended` when it is closed."""
    extra("hypercorn.asyncio")
    listener = server.listen("127.0.0.1", port)
    started = datetime.now(UTC).isoformat(timespec="seconds")  # noqa: TID251 - for a person to read
    info = Info(os.getpid(), listener.getsockname()[1], index_build, started)
    clock = WallClock()
    about = {"sandbox": "dynamodb-migrations", **asdict(info)}
    lives = Lives(clock, Timing.of(index_build))
    layer = build_layer(lives, Interceptions(log=False), about, faults=Faults(clock, faults))

    async def run() -> None:
        loop, stopping = asyncio.get_running_loop(), asyncio.Event()
        for number in previous:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stopping.set))
        if ready is not None:
            ready(info)

        async def until() -> None:
            await stopping.wait()
            # What a fault holds back is let go: nobody waits for it any more.
            layer.reset()

        await server.serve(layer, listener, until)

    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        asyncio.run(run())
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        if ended is not None:
            ended(info)


def _opener() -> urllib.request.OpenerDirector:
    """Without proxies: loopback is never reached through one."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(port: int, timeout: float = 1.0) -> Info | None:
    """What the sandbox on `port` says of itself; None if none answers there."""
    try:
        with _opener().open(f"http://127.0.0.1:{port}/_sandbox", timeout=timeout) as answer:
            about = json.load(answer)
    except (OSError, ValueError):
        return None
    if not isinstance(about, dict) or about.get("sandbox") != "dynamodb-migrations" or "started" not in about:
        return None
    return Info(int(about["pid"]), int(about["port"]), float(about["index_build"]), str(about["started"]))


def reset(endpoint_url: str) -> None:
    """Empty the sandbox at `endpoint_url`: tables, streams, metrics and what is in flight; begin its faults anew."""
    try:
        with _opener().open(f"{endpoint_url.rstrip('/')}/_sandbox/reset", data=b"", timeout=10):
            return
    except (OSError, ValueError) as exc:
        raise MigratorError(
            "sandbox-not-running",
            f"no sandbox answers at {endpoint_url}: {exc}",
            hint="start one with `migrator sandbox start --detach`",
        ) from exc
