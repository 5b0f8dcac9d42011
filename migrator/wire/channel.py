"""One keep-alive connection that carries one request and its answer at a time: as much HTTP/1.1 as DynamoDB speaks."""

from __future__ import annotations

import select
import socket
import zlib
from dataclasses import dataclass

_HEAD_END = b"\r\n\r\n"
_LENGTH, _CHECKSUM, _CONNECTION, _TRANSFER, _ENCODING, _ERROR_TYPE = (
    b"\r\n" + name + b":"
    for name in (
        b"content-length",
        b"x-amz-crc32",
        b"connection",
        b"transfer-encoding",
        b"content-encoding",
        b"x-amzn-errortype",
    )
)
_READ = 65_536
_MOST_HEAD = 65_536
_ABOUT = 0.05
"""A wait may be longer by this part of it than was asked for."""


class Garbled(Exception):
    """What came is no whole answer: the request may have been carried out."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer whose checksum holds. `error_type` is the header that names an error, where there is one."""

    status: int
    body: bytes | bytearray
    error_type: str = ""


class Channel:
    """Not for two threads at a time. What OSErrors and Garbled mean is the caller's: then it must be closed."""

    __slots__ = ("_poll", "_seconds", "_sock", "is_reusable")

    def __init__(self, sock: socket.socket):
        self._sock = sock
        self._seconds: float | None = None
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(sock, select.POLLIN)
        self.is_reusable = True

    def is_stale(self) -> bool:
        """Whether the other side has closed an idle connection, or said what nobody asked."""
        if not self.is_reusable:
            return True
        if self._poll is not None:
            return bool(self._poll.poll(0))
        return bool(select.select([self._sock], [], [], 0)[0])

    def send(self, request: bytes, seconds: float) -> None:
        self.is_reusable = False
        self._patience(seconds)
        self._sock.sendall(request)

    def _patience(self, seconds: float) -> None:
        # A system call each time, so not for the milliseconds between a request and the one before.
        if self._seconds is None or not 0 <= self._seconds - seconds <= _ABOUT * self._seconds:
            self._sock.settimeout(seconds)
            self._seconds = seconds

    def receive(self, seconds: float) -> Answer:
        """The answer; `seconds` is how long each piece of it may be waited for."""
        self.is_reusable = False
        self._patience(seconds)
        data = self._some()
        while True:
            while (end := data.find(_HEAD_END)) < 0:
                if len(data) > _MOST_HEAD:
                    raise Garbled("headers without an end")
                data += self._some()
            head, data = data[: end + 2], data[end + 4 :]
            if not head.startswith(b"HTTP/1.") or not head[9:12].isdigit():
                raise Garbled("the answer is no HTTP")
            if head[9] != ord("1"):
                break
            data = data or self._some()
        body = self._body(head, data)
        fields = head.lower()
        checksum = _field(fields, _CHECKSUM)
        if checksum is not None and (not checksum.isdigit() or zlib.crc32(body) != int(checksum)):
            raise Garbled("the answer does not match its checksum (x-amz-crc32)")
        encoding = _field(fields, _ENCODING)
        if encoding not in (None, b"", b"identity"):
            raise Garbled(f"the answer is encoded ({encoding!r}), which nobody asked for")
        closes = _field(fields, _CONNECTION)
        self.is_reusable = (closes is None or b"close" not in closes) and head.startswith(b"HTTP/1.1")
        status = int(head[9:12])
        kind = None if status == 200 else _field(head, _ERROR_TYPE, fields)
        return Answer(status, body, "" if kind is None else kind.split(b":", 1)[0].decode("ascii", "replace"))

    def _body(self, head: bytes, data: bytes) -> bytes | bytearray:
        fields = head.lower()
        found = _field(fields, _LENGTH)
        if found is None:
            if (_field(fields, _TRANSFER) or b"").startswith(b"chunked"):
                return self._chunks(data)
            raise Garbled("the answer does not say how long it is")
        if not found.isdigit():
            raise Garbled("the answer does not say how long it is")
        length = int(found)
        have = len(data)
        if have == length:
            return data
        if have > length:
            raise Garbled("the answer is longer than it says")
        body = bytearray(length)
        body[:have] = data
        with memoryview(body) as view:
            while have < length:
                count = self._sock.recv_into(view[have:])
                if not count:
                    raise Garbled(f"the connection was closed after {have} of {length} bytes")
                have += count
        return body

    def _chunks(self, data: bytes) -> bytes:
        body = b""
        while True:
            while b"\r\n" not in data:
                data += self._some()
            line, data = data.split(b"\r\n", 1)
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError:
                raise Garbled("a chunk without a size") from None
            while len(data) < size + 2:
                data += self._some()
            body, data = body + data[:size], data[size + 2 :]
            if size == 0:
                return body

    def _some(self) -> bytes:
        data = self._sock.recv(_READ)
        if not data:
            raise Garbled("the connection was closed before the answer")
        return data

    def close(self) -> None:
        self.is_reusable = False
        self._sock.close()


def _field(head: bytes, name: bytes, folded: bytes | None = None) -> bytes | None:
    """The value of a header field, whose name is in lower case; `folded` is `head` in lower case, where it is not."""
    at = (head if folded is None else folded).find(name)
    if at < 0:
        return None
    at += len(name)
    return head[at : head.find(b"\r\n", at)].strip()
