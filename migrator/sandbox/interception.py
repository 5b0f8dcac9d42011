"""What a test hooks into the wire: a log of the requests, and code run before or after one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from migrator.sandbox.layer import Proceed
from migrator.sandbox.wire import Drop, Reply, Request, Response

UNSEEN = "sandbox/unseen"
"""In the user agent of a client whose requests are neither logged nor intercepted."""

Before = Callable[[Request], Reply | None]
After = Callable[[Request, Response], Reply | None]


class Logged(NamedTuple):
    """One request that reached the sandbox."""

    operation: str
    body: dict[str, Any]


@dataclass(eq=False)
class Interception:
    """Two callbacks on the requests of one operation or of all: on each of them, or only on the `nth`."""

    before: Before | None = None
    after: After | None = None
    operation: str | None = None
    nth: int | None = None
    seen: int = field(default=0, init=False)
    failure: BaseException | None = field(default=None, init=False)
    """What a callback raised; raised again where the interception ends."""

    def matches(self, request: Request) -> bool:
        if self.operation is not None and request.operation != self.operation:
            return False
        self.seen += 1
        return self.nth is None or self.seen == self.nth

    async def run(self, callback: Callable[..., Reply | None], *arguments: object) -> Reply | None:
        """The callback's reply; a server error if it fails."""
        try:
            # In a thread of its own: a callback may call the sandbox, whose event loop must stay free.
            return await asyncio.to_thread(callback, *arguments)
        except asyncio.CancelledError:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised again by the test that installed the callback
            self.failure = exc
            return Response.error("InternalServerError", f"a callback failed: {exc!r}", status=500)


class Interceptions:
    """The outermost rule: logs, then lets the hooks of the running test answer, refuse, delay or drop."""

    def __init__(self, *, log: bool) -> None:
        self.requests: list[Logged] = []
        self._log = log
        self._hooks: tuple[Interception, ...] = ()

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        if not request.operation or UNSEEN in request.headers.get("user-agent", ""):
            return await proceed(request)
        if self._log:
            self.requests.append(Logged(request.operation, request.body))
        hooks = [hook for hook in self._hooks if hook.matches(request)]
        for hook in hooks:
            if hook.before and (reply := await hook.run(hook.before, request)) is not None:
                return reply
        reply = await proceed(request)
        for hook in hooks:
            if hook.after and not isinstance(reply, Drop):
                reply = await hook.run(hook.after, request, reply) or reply
        return reply

    @contextmanager
    def installed(self, hook: Interception) -> Iterator[Interception]:
        self._hooks = (*self._hooks, hook)
        try:
            yield hook
        finally:
            self._hooks = tuple(h for h in self._hooks if h is not hook)
            if hook.failure is not None:
                raise hook.failure
