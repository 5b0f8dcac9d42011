"""The thin layer in front of the engine: every request passes an ordered chain of rules.

A rule is one small object: it answers a request itself, or lets it proceed and may change what comes back.
The first rule of the chain is the outermost. Rules after the last one that may wait (see `sandbox.rules_of`)
run in one piece with the engine, since nothing there yields to the event loop.
"""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any, Protocol
from urllib.parse import parse_qsl

from migrator.sandbox.engine import Engine
from migrator.sandbox.wire import Drop, Reply, Request, Response

_log = logging.getLogger(__name__)

Proceed = Callable[[Request], Awaitable[Reply]]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Admin = Callable[[str, str, bytes], Response]
"""Answers method, path and body of a request to the sandbox itself."""


class Rule(Protocol):
    """Answers `request`, or returns `await proceed(request)`, changed or not."""

    async def __call__(self, request: Request, proceed: Proceed) -> Reply: ...


class Layer:
    """An ASGI application: the rules, then ministack. `admin` answers what lies below its paths."""

    def __init__(
        self,
        engine: Engine,
        rules: Sequence[Rule],
        about: dict[str, Any],
        on_reset: Callable[[], None],
        admin: Mapping[str, Admin],
    ):
        self._engine = engine
        self._about = about
        self._scopes: set[tuple[str, str]] = set()
        self._on_reset = on_reset
        self._admin = admin
        proceed: Proceed = self._innermost
        for rule in reversed(rules):
            proceed = partial(rule, proceed=proceed)
        self._chain = proceed

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            # ministack's own start-up opens further ports and looks for Docker: none of that is wanted here.
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await self._engine.asgi(scope, receive, send)

    def reset(self) -> None:
        """Forget what was made through this layer and what the rules remember; only on the event loop."""
        self._on_reset()
        self._engine.forget(self._scopes)

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        raw = await _read(receive)
        if raw is None:
            return
        await _answer(send, await self._reply(scope, raw))

    async def _reply(self, scope: Message, raw: bytes) -> Reply:
        if scope["path"] == "/_sandbox":
            return Response.json(self._about)
        if scope["path"] == "/_sandbox/reset":
            self.reset()
            return Response.json({"reset": True})
        for path, admin in self._admin.items():
            if f"{scope['path']}/".startswith(f"{path}/"):
                return admin(scope["method"], scope["path"], raw)
        request = self._request(scope, raw)
        try:
            return await self._chain(request)
        except Exception as exc:  # noqa: BLE001 - the client is told, and the log tells the rest
            _log.exception("%s failed", request.operation or request.path)
            return Response.error("InternalServerError", f"the sandbox failed: {exc!r}", status=500)

    def _request(self, scope: Message, raw: bytes) -> Request:
        headers: dict[str, str] = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        account, region = self._engine.enter(headers)
        self._scopes.add((account, region))
        signed = re.search(r"Credential=[^/]+/\d+/[^/]+/([^/]+)/aws4_request", headers.get("authorization", ""))
        body = _decoded(headers.get("content-type", ""), raw)
        operation = headers.get("x-amz-target", "").rpartition(".")[2] or _operation(scope["path"], body)
        return Request(
            signed[1] if signed else "", operation, body, account, region, headers,
            scope["method"], scope["path"], scope["query_string"], raw,
        )  # fmt: skip

    async def _innermost(self, request: Request) -> Reply:
        if request.is_dynamodb:
            return self._engine.call(request)
        return await self._other_service(request)

    async def _other_service(self, request: Request) -> Response:
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
            "method": request.method, "path": request.path, "raw_path": request.path.encode(),
            "query_string": request.query, "client": ("127.0.0.1", 0), "server": ("127.0.0.1", 0),
            "headers": [(k.encode("latin-1"), v.encode("latin-1")) for k, v in request.headers.items()],
        }  # fmt: skip
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": request.raw, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await self._engine.asgi(scope, receive, send)
        raw = b"".join(message.get("body", b"") for message in sent[1:])
        headers = {bytes(k).decode("latin-1").lower(): bytes(v).decode("latin-1") for k, v in sent[0]["headers"]}
        return Response(sent[0]["status"], raw, headers)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        phase = (await receive())["type"]
        await send({"type": f"{phase}.complete"})
        if phase == "lifespan.shutdown":
            return


async def _read(receive: Receive) -> bytes | None:
    """The whole body; None if the client went away."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _decoded(content_type: str, raw: bytes) -> dict[str, Any]:
    if "json" in content_type:
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}
    if "form-urlencoded" in content_type:
        return dict(parse_qsl(raw.decode("utf-8", "replace")))
    return {}


def _operation(path: str, body: dict[str, Any]) -> str:
    """The operation of a request without a target header: in the path (CBOR) or in the form (query)."""
    named = re.search(r"/operation/([^/?]+)", path)
    return named[1] if named else str(body.get("Action", ""))


async def _answer(send: Send, reply: Reply) -> None:
    if isinstance(reply, Drop):
        # A body shorter than announced: the server closes the connection and the client sees it break.
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000000")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        return
    skipped = {"content-length", "x-amz-crc32", "transfer-encoding", "date"}
    headers = {k: v for k, v in reply.headers.items() if k not in skipped}
    headers |= {"content-length": str(len(reply.raw)), "x-amz-crc32": str(zlib.crc32(reply.raw))}
    encoded = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
    await send({"type": "http.response.body", "body": reply.raw})
