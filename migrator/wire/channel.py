"""One keep-alive connection that carries one request and its answer at a time: as much HTTP/1.1 as DynamoDB speaks."""

from __future__ import annotations

import re
import select
import socket
import zlib
from dataclasses import dataclass

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHECKSUM = re.compile(rb"\r\nx-amz-crc32:[ \t]*(\d+)", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection:[ \t]*close", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.IGNORECASE)
_ENCODED = re.compile(rb"\r\ncontent-encoding:[ \t]*(?!identity)(\S+)", re.IGNORECASE)
_ERROR_TYPE = re.compile(rb"\r\nx-amzn-errortype:[ \t]*([^\r:]+)", re.IGNORECASE)
_READ = 65_536
_MOST_HEAD = 65_536


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

    __slots__ = ("_sock", "is_reusable")

    def __init__(self, sock: socket.socket):
        self._sock = sock
        self.is_reusable = True

    def is_stale(self) -> bool:
        """Whether the other side has closed an idle connection, or said what nobody asked."""
        if not self.is_reusable:
            return True
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._sock, select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([self._sock], [], [], 0)[0])

    def send(self, request: bytes, seconds: float) -> None:
        self.is_reusable = False
        self._sock.settimeout(seconds)
        self._sock.sendall(request)

    def receive(self, seconds: float) -> Answer:
        """The answer; `seconds` is how long each piece of it may be waited for."""
        self.is_reusable = False
        self._sock.settimeout(seconds)
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
        found = _CHECKSUM.search(head)
        if found is not None and zlib.crc32(body) != int(found[1]):
            raise Garbled("the answer does not match its checksum (x-amz-crc32)")
        if (encoding := _ENCODED.search(head)) is not None:
            raise Garbled(f"the answer is encoded ({encoding[1].decode('ascii', 'replace')}), which nobody asked for")
        self.is_reusable = _CLOSES.search(head) is None and head.startswith(b"HTTP/1.1")
        status = int(head[9:12])
        kind = None if status == 200 else _ERROR_TYPE.search(head)
        return Answer(status, body, "" if kind is None else kind[1].decode("ascii", "replace"))

    def _body(self, head: bytes, data: bytes) -> bytes | bytearray:
        found = _LENGTH.search(head)
        if found is None:
            if _CHUNKED.search(head) is not None:
                return self._chunks(data)
            raise Garbled("the answer does not say how long it is")
        length = int(found[1])
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
