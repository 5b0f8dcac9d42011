"""Connections to one endpoint, kept alive between requests."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections import deque
from typing import Any
from urllib.parse import unquote, urlsplit

from migrator.dynamo.errors import Unreachable, without_userinfo
from migrator.dynamo.route import Route
from migrator.errors import MigratorError
from migrator.wire.channel import Channel, Garbled


class Connections:
    """Open connections that nobody uses at the moment. Threads share it. Close it."""

    def __init__(self, route: Route, *, connect_seconds: float, hint: str | None):
        self._route = route
        self._seconds = connect_seconds
        self._hint = hint
        self._idle: deque[Channel] = deque()
        self._closed = False
        self._context = self._trust() if route.is_secure else None

    def _trust(self) -> ssl.SSLContext:
        bundle = self._route.ca_bundle
        try:
            return ssl.create_default_context(cafile=bundle)
        except OSError as exc:
            raise MigratorError(
                "bad-ca-bundle",
                f"the certificates of {bundle} cannot be read: {exc}",
                hint="check ca_bundle of the AWS profile, and AWS_CA_BUNDLE",
            ) from exc

    def take(self) -> Channel:
        """A connection, the one used last if any is idle. Raises Unreachable: nothing was sent."""
        while True:
            try:
                channel = self._idle.pop()
            except IndexError:
                return self._open()
            if not channel.is_stale():
                return channel
            channel.close()

    def give(self, channel: Channel) -> None:
        """Back again, for the next request; one that cannot be used again is closed."""
        if channel.is_reusable and not self._closed:
            self._idle.append(channel)
        else:
            channel.close()

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _open(self) -> Channel:
        try:
            return Channel(self._connected())
        except (OSError, Garbled) as exc:
            where = without_userinfo(self._route.url)
            by = f" by the proxy {without_userinfo(self._route.proxy)}" if self._route.proxy else ""
            raise Unreachable(f"Could not connect to the endpoint URL: {where!r}{by}: {exc}", self._hint) from exc

    def _connected(self) -> socket.socket:
        goal = urlsplit(self._route.url)
        first = urlsplit(self._route.proxy) if self._route.proxy else goal
        port = first.port or (443 if first.scheme == "https" else 80)
        sock = socket.create_connection((first.hostname or "", port), timeout=self._seconds)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self._context is None:
                return sock
            if self._route.proxy:
                self._tunnel(sock, f"{goal.hostname}:{goal.port or 443}")
            return self._context.wrap_socket(sock, server_hostname=unquote(goal.hostname or ""))
        except BaseException:
            with contextlib.suppress(OSError):
                sock.close()
            raise

    def _tunnel(self, sock: socket.socket, goal: str) -> None:
        headers: dict[str, Any] = {"Host": goal, **dict(self._route.proxy_headers)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        sock.sendall(f"CONNECT {goal} HTTP/1.1\r\n{lines}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            # One byte at a time: what follows the headers belongs to TLS.
            some = sock.recv(1)
            if not some or len(answer) > 16_384:
                raise Garbled("the proxy did not answer CONNECT")
            answer += some
        if answer[9:12] != b"200":
            raise Garbled(f"the proxy refused: {answer.splitlines()[0].decode('latin-1')}")
