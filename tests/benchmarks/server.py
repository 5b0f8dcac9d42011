"""A process that answers like DynamoDB over TLS, without doing anything: only its client's CPU is of interest."""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
import sys

from tests.benchmarks.canned import Canned

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TARGET = re.compile(rb"\r\nx-amz-target: *\w+\.(\w+)", re.IGNORECASE)


class Answering(asyncio.Protocol):
    """One connection."""

    def __init__(self, canned: Canned):
        self._canned = canned
        self._data = bytearray()
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._data[: end + 2])
            length = _LENGTH.search(head)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._data) < whole:
                return
            body = bytes(self._data[end + 4 : whole])
            del self._data[:whole]
            target = _TARGET.search(head)
            self._transport.write(self._canned.answer(target[1].decode() if target else "", body))


async def serve(count: int, is_right: bool, certificate: str, key: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    canned = Canned(count, is_right=is_right)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answering(canned), "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    items, right, certificate_file, key_file = sys.argv[1:]
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(int(items), right == "right", certificate_file, key_file))
