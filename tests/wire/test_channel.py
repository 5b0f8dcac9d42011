"""What an answer may look like, and what makes it no answer."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Iterator

import pytest

from migrator.wire.channel import Channel, Garbled


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    here, there = socket.socketpair()
    channel = Channel(here)
    yield channel, there
    channel.close()
    there.close()


def answered(pair: tuple[Channel, socket.socket], *pieces: bytes) -> bytes:
    channel, there = pair
    for piece in pieces:
        there.sendall(piece)
    return bytes(channel.receive(2.0).body)


def test_an_answer_may_come_in_any_pieces(pair: tuple[Channel, socket.socket]) -> None:
    channel, there = pair
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Amz-Crc32: %d\r\n\r\nhello" % zlib.crc32(b"hello")
    for cut in range(1, len(whole)):
        there.sendall(whole[:cut])
        there.sendall(whole[cut:])
        answer = channel.receive(2.0)
        assert (answer.status, bytes(answer.body)) == (200, b"hello")
        assert channel.is_reusable


def test_a_large_body_is_read_to_its_end(pair: tuple[Channel, socket.socket]) -> None:
    body = b"x" * 150_000
    assert answered(pair, b"HTTP/1.1 200 OK\r\ncontent-length: 150000\r\n\r\n" + body) == body


def test_chunks_are_put_together(pair: tuple[Channel, socket.socket]) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert answered(pair, head, b"3\r\nabc\r\n", b"a;x=y\r\n0123456789\r\n0\r\n\r\n") == b"abc0123456789"


def test_an_interim_answer_is_passed_over(pair: tuple[Channel, socket.socket]) -> None:
    assert answered(pair, b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") == b"ok"


@pytest.mark.parametrize(
    "text",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nx-amz-crc32: 1\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n\r\n",
    ],
)
def test_an_answer_that_is_not_whole_is_none(pair: tuple[Channel, socket.socket], text: bytes) -> None:
    with pytest.raises(Garbled):
        answered(pair, text)
    assert not pair[0].is_reusable


@pytest.mark.parametrize("text", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"])
def test_an_answer_that_breaks_off_is_none(pair: tuple[Channel, socket.socket], text: bytes) -> None:
    channel, there = pair
    there.sendall(text)
    there.shutdown(socket.SHUT_WR)
    with pytest.raises(Garbled, match="closed"):
        channel.receive(2.0)


def test_an_answer_that_does_not_come_is_waited_for_no_longer(pair: tuple[Channel, socket.socket]) -> None:
    with pytest.raises(TimeoutError):
        pair[0].receive(0.05)
    assert pair[0].is_stale()


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nConnection: close\r\n", b"HTTP/1.0 200 OK\r\n"])
def test_a_connection_that_the_other_side_closes_is_not_used_again(
    pair: tuple[Channel, socket.socket], head: bytes
) -> None:
    assert answered(pair, head + b"Content-Length: 2\r\n\r\nok") == b"ok"
    assert pair[0].is_stale()


def test_a_connection_that_was_closed_while_idle_is_stale(pair: tuple[Channel, socket.socket]) -> None:
    channel, there = pair
    assert not channel.is_stale()
    there.close()
    assert channel.is_stale()


def test_between_a_request_and_its_answer_a_connection_is_nobody_else_s(pair: tuple[Channel, socket.socket]) -> None:
    channel, _ = pair
    channel.send(b"POST / HTTP/1.1\r\n\r\n", 1.0)
    assert channel.is_stale()
