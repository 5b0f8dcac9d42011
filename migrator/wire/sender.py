"""Requests over our own connections: signed here, sent side by side, their answers awaited in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from migrator.core.item import Item
from migrator.core.ports import Clock, Permit
from migrator.dynamo.client import ITEM_SECONDS, Clients, user_agent
from migrator.dynamo.errors import no_credentials, translated
from migrator.dynamo.retry import Retry
from migrator.dynamo.route import Route
from migrator.errors import AnswerLost, MigratorError, ServiceError
from migrator.wire.channel import Answer, Channel, Garbled
from migrator.wire.connections import Connections
from migrator.wire.errors import of_answer
from migrator.wire.lazy import LazyItem, encode, item_from_wire
from migrator.wire.signing import Secrets, Signer

WIDTH = 8
"""Requests of one caller under way at a time."""
_LEAST_SECONDS = 0.05
"""An answer that came while an earlier one was awaited is still to be taken from the socket."""

T = TypeVar("T")


_EMPTY = len(b"null")
"""An item has a key, and is longer."""


class _Got(msgspec.Struct):
    Item: msgspec.Raw = msgspec.Raw(b"")


class _Together(msgspec.Struct):
    Responses: list[_Got]


_together = msgspec.json.Decoder(_Together).decode


@dataclass(frozen=True, slots=True)
class Parcel:
    """A request that is ready to be signed."""

    operation: str
    table: str
    body: bytes


class WireSender:
    """The `Sender` of this room, and what it can do beyond: `exchange`. Close it."""

    def __init__(self, clients: Clients, retry: Retry, clock: Clock):
        route = Route.of(clients)
        connect, self._read_seconds = ITEM_SECONDS
        self._clients = clients
        self._retry = retry
        self._clock = clock
        self._hint = clients.access.hint
        agent = user_agent(clients.access.session.get_config_variable("user_agent_appid"))
        self._signer = Signer(route.host, route.path, clients.region, agent, route.request_target)
        self._connections = Connections(route, connect_seconds=connect, hint=self._hint)

    def close(self) -> None:
        self._connections.close()

    # --- one request

    def read(self, operation: str, table: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return plain(self.read_as(operation, table, request, msgspec.json.decode))

    def read_as(self, operation: str, table: str, request: Mapping[str, Any], decode: Callable[[Any], T]) -> T:
        """A read, whose answer `decode` makes sense of."""
        parcel = Parcel(operation, table, _encoded(request, operation, table))

        def once() -> T:
            body = self._one(parcel, None)
            try:
                return decode(body)
            except msgspec.MsgspecError as exc:
                raise AnswerLost(f"dynamodb:{operation} on {table}: the answer cannot be read: {exc}") from exc

        return self._retry.call(once)

    def read_together(self, tables: str, request: Mapping[str, Any]) -> Sequence[Item | None]:
        operation = "TransactGetItems"
        body = self._one(Parcel(operation, tables, _encoded(request, operation, tables)), None)
        try:
            found = _together(body).Responses
        except msgspec.MsgspecError as exc:
            raise AnswerLost(f"dynamodb:{operation} on {tables}: the answer cannot be read: {exc}") from exc
        return [None if len(one.Item) <= _EMPTY else LazyItem(one.Item) for one in found]

    def write(self, operation: str, table: str, request: Mapping[str, Any], permit: Permit) -> Mapping[str, Any]:
        self._clients.before_change(f"dynamodb:{operation}")
        body = self._one(Parcel(operation, table, _encoded(request, operation, table)), permit)
        try:
            return plain(msgspec.json.decode(body))
        except msgspec.MsgspecError as exc:
            raise AnswerLost(f"dynamodb:{operation} on {table}: the answer cannot be read: {exc}") from exc

    def _one(self, parcel: Parcel, permit: Permit | None) -> bytes | bytearray:
        channel = self._send(parcel, permit)
        return self._receive(channel, parcel, self._read_seconds)

    # --- many

    def exchange(
        self,
        parcels: Sequence[Parcel],
        permit: Permit | None,
        on_answer: Callable[[int, bytes | bytearray | MigratorError], None],
    ) -> None:
        """Send each once and tell `on_answer` the number of each and its body, or why it has none.

        At most WIDTH are under way. What the permit or `on_answer` raises ends it, once none is under way any more;
        what was answered meanwhile is still told.
        """
        under_way: deque[tuple[int, Channel, float]] = deque()
        waiting = deque(range(len(parcels)))
        stopped: BaseException | None = None
        try:
            while under_way or (waiting and stopped is None):
                while waiting and stopped is None and len(under_way) < WIDTH:
                    number = waiting.popleft()
                    try:
                        channel = self._send(parcels[number], permit)
                        under_way.append((number, channel, self._clock.monotonic() + self._read_seconds))
                    except ServiceError as exc:
                        stopped = _told(on_answer, number, exc)
                    except MigratorError as exc:
                        stopped = exc
                if not under_way:
                    continue
                number, channel, deadline = under_way.popleft()
                left = max(_LEAST_SECONDS, deadline - self._clock.monotonic())
                answer: bytes | bytearray | MigratorError
                try:
                    answer = self._receive(channel, parcels[number], left)
                except MigratorError as exc:
                    answer = exc
                stopped = _told(on_answer, number, answer) or stopped
        finally:
            # Interrupted in the middle: what is still to come on these connections belongs to nobody.
            for _, channel, _ in under_way:
                channel.close()
        if stopped is not None:
            raise stopped

    # --- sending and receiving

    def _send(self, parcel: Parcel, permit: Permit | None) -> Channel:
        """Raises Unreachable where nothing was sent, AnswerLost where something may have been."""
        channel = self._connections.take()
        try:
            # Refreshing credentials may take seconds: before the question, not between it and the signature.
            secrets = self._secrets()
            if permit is not None:
                permit.check()
        except BaseException:
            self._connections.give(channel)
            raise
        head = self._signer.head(parcel.operation, parcel.body, secrets, self._clock.now())
        try:
            channel.send(head + parcel.body, self._read_seconds)
        except OSError as exc:
            channel.close()
            raise _lost(parcel, exc) from exc
        except BaseException:
            channel.close()
            raise
        return channel

    def _receive(self, channel: Channel, parcel: Parcel, seconds: float) -> bytes | bytearray:
        try:
            answer = channel.receive(seconds)
        except (OSError, Garbled) as exc:
            channel.close()
            raise _lost(parcel, exc) from exc
        except BaseException:
            channel.close()
            raise
        self._connections.give(channel)
        return self._body(answer, parcel)

    def _body(self, answer: Answer, parcel: Parcel) -> bytes | bytearray:
        if answer.status == 200:
            return answer.body
        raise of_answer(answer, parcel.operation, parcel.table)

    def _secrets(self) -> Secrets:
        with translated("reading the credentials", ""):
            credentials = self._clients.access.session.get_credentials()
            if credentials is None:
                raise no_credentials()
            frozen = credentials.get_frozen_credentials()
        return Secrets(frozen.access_key or "", frozen.secret_key or "", frozen.token)


def _told(
    on_answer: Callable[[int, bytes | bytearray | MigratorError], None],
    number: int,
    answer: bytes | bytearray | MigratorError,
) -> MigratorError | None:
    """What `on_answer` raises stops the rest, and no sooner than what is under way has ended."""
    try:
        on_answer(number, answer)
    except MigratorError as exc:
        return exc
    return None


def _lost(parcel: Parcel, exc: Exception) -> AnswerLost:
    text = "no answer in time" if isinstance(exc, TimeoutError) else str(exc) or type(exc).__name__
    return AnswerLost(f"dynamodb:{parcel.operation} on {parcel.table}: {text}")


def _encoded(request: Mapping[str, Any], operation: str, table: str) -> bytes:
    try:
        return encode(request)
    except UnicodeEncodeError as exc:
        raise ServiceError("validation", f"dynamodb:{operation} on {table}: text that UTF-8 cannot hold") from exc


def plain(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as botocore gives it."""
    found = dict(answer)
    for name in ("Item", "Attributes", "LastEvaluatedKey"):
        if isinstance(found.get(name), Mapping):
            found[name] = item_from_wire(found[name])
    if "Items" in found:
        found["Items"] = [item_from_wire(item) for item in found["Items"]]
    if "Responses" in found:
        found["Responses"] = [
            {"Item": item_from_wire(one["Item"])} if one.get("Item") else one for one in found["Responses"]
        ]
    return found
