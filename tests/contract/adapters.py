"""The adapters that the contract is held against, each with what a test needs beside the ports."""

from __future__ import annotations

import os
import random
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from urllib.parse import urlsplit

import pytest

from migrator.core.item import Item
from migrator.core.ports import Clock, Items, LiveTable, Queries, Records, Tables
from migrator.core.schema import KeyAttribute, Table
from migrator.core.settings import Setting
from migrator.dynamo.client import connect
from migrator.dynamo.credentials import Connection
from migrator.dynamo.items import DynamoItems
from migrator.dynamo.layout import Layout
from migrator.dynamo.queries import DynamoQueries
from migrator.dynamo.records import DynamoRecords
from migrator.dynamo.retry import Retry
from migrator.dynamo.tables import DynamoTables
from migrator.sandbox import Sandbox
from migrator.testing.memory import Durations, World
from migrator.wire.items import FastItems

CONTROL = Table("control", KeyAttribute("PK"), KeyAttribute("SK"))
LAYOUT = Layout("contract-control", "PK", "SK")
_made = count(1)


class WallClock:
    """Real time, for engines that live on it."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Chance:
    """Real randomness."""

    def nonce(self) -> str:
        return secrets.token_hex(16)

    def integer(self, bits: int) -> int:
        return secrets.randbits(bits)

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)

    def shuffled(self, values: Sequence[int]) -> list[int]:
        return random.sample(values, len(values))


@dataclass
class Adapter:
    """The ports of one engine. `poll` is how many seconds of its clock pass between two looks.

    An engine that is not complete builds indexes at once and has no keys of several attributes and no backups.
    """

    items: Items
    queries: Queries
    records: Records
    tables: Tables
    clock: Clock
    poll: float
    is_complete: bool = True
    put: Callable[[str, Item], object] = lambda table, item: None

    def make(self, shape: Table, *settings: Setting) -> str:
        """A new ACTIVE table of that shape; its name."""
        name = f"contract-{next(_made)}"
        self.tables.create(name, shape, settings)
        self.until(name, lambda live: live.status == "ACTIVE")
        return name

    def until(self, name: str, holds: Callable[[LiveTable], bool]) -> LiveTable:
        for _ in range(400):
            live = self.tables.describe(name)
            if live is not None and holds(live):
                return live
            self.clock.sleep(self.poll)
        raise AssertionError(f"{name} never came to that: {live}")

    def all(self, table: str) -> list[Item]:
        found: list[Item] = []
        start = None
        while True:
            page = self.items.scan(table, start=start)
            found += page.items
            start = page.next
            if start is None:
                return found


@contextmanager
def in_memory() -> Iterator[Adapter]:
    world = World(durations=Durations(backfill=60))
    yield Adapter(world.items, world.queries, world.records, world.tables, world.clock, 1.0, put=world.items.put)


@contextmanager
def on_sandbox() -> Iterator[Adapter]:
    with Sandbox() as sandbox, over_boto3(sandbox.endpoint_url) as adapter:
        yield adapter


@contextmanager
def fast_on_sandbox() -> Iterator[Adapter]:
    with Sandbox() as sandbox, over_boto3(sandbox.endpoint_url) as adapter, over_wire(adapter, sandbox.endpoint_url):
        yield adapter


@contextmanager
def on_dynamodb_local() -> Iterator[Adapter]:
    with dynamodb_local() as url, over_boto3(url) as adapter:
        adapter.is_complete = False
        yield adapter


@contextmanager
def fast_on_dynamodb_local() -> Iterator[Adapter]:
    with dynamodb_local() as url, over_boto3(url) as adapter, over_wire(adapter, url):
        adapter.is_complete = False
        yield adapter


@contextmanager
def over_wire(adapter: Adapter, url: str) -> Iterator[None]:
    """The same tables and records, the items by the fast transport."""
    clock, chance = WallClock(), Chance()
    with (
        connect(Connection(endpoint_url=url), {}, workers=4) as clients,
        FastItems(clients, Retry(clock, chance), clock, chance, LAYOUT) as adapter.items,
    ):
        yield


@contextmanager
def over_boto3(url: str) -> Iterator[Adapter]:
    clock, chance = WallClock(), Chance()
    with connect(Connection(endpoint_url=url), {}, workers=4) as clients:
        retry = Retry(clock, chance)
        tables = DynamoTables(clients, retry)
        with DynamoItems(clients, retry, chance, LAYOUT) as items:
            records = DynamoRecords(clients, retry, chance, LAYOUT)
            adapter = Adapter(items, DynamoQueries(clients, retry), records, tables, clock, 0.05)
            adapter.put = lambda table, item: clients.items.put_item(TableName=table, Item=item)
            # A container's port is open before the engine behind it answers: the retry layer waits for it.
            tables.create(LAYOUT.table, CONTROL)
            adapter.until(LAYOUT.table, lambda live: live.status == "ACTIVE")
            yield adapter


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """The endpoint of a DynamoDB Local of its own; skips where Docker cannot be reached, unless it is required."""
    if os.environ.get("MIGRATOR_REQUIRE_DOCKER") != "1" and not docker_listens():
        pytest.skip("Docker cannot be reached (MIGRATOR_REQUIRE_DOCKER=1 makes this a failure)")
    container = pytest.importorskip("testcontainers.core.container").DockerContainer("amazon/dynamodb-local:latest")
    container.with_exposed_ports(8000).with_command("-jar DynamoDBLocal.jar -inMemory -sharedDb")
    with container:
        # A loopback address, whatever name Docker gives its host: credentials are made up there.
        yield f"http://127.0.0.1:{container.get_exposed_port(8000)}"


def docker_listens() -> bool:
    """Whether something listens where Docker should: asked plainly, for its client leaves sockets open on failure."""
    host = urlsplit(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
    unix = host.scheme == "unix"
    with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as probe:
        probe.settimeout(2)
        try:
            probe.connect(host.path if unix else (host.hostname, host.port or 2375))
        except OSError:
            return False
    return True


ADAPTERS = {
    "memory": in_memory,
    "sandbox": on_sandbox,
    "fast": fast_on_sandbox,
    "dynamodb-local": on_dynamodb_local,
    "fast-dynamodb-local": fast_on_dynamodb_local,
}
