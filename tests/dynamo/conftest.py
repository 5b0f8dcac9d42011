"""A sandbox for the folder, and the adapters over it on a virtual clock: waits between attempts take no time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from migrator.core.item import Item
from migrator.core.ports import Items
from migrator.core.schema import KeyAttribute, Table
from migrator.dynamo.client import Clients, connect
from migrator.dynamo.credentials import Connection
from migrator.dynamo.items import DynamoItems
from migrator.dynamo.layout import Layout
from migrator.dynamo.records import DynamoRecords
from migrator.dynamo.retry import Retry
from migrator.dynamo.tables import DynamoTables
from migrator.errors import MigratorError
from migrator.sandbox import Sandbox
from migrator.testing.clock import SeededEntropy, VirtualClock

TABLE = Table("app", KeyAttribute("PK"), KeyAttribute("SK"))


def forget_aws_settings(patch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        patch.delenv(name)
    patch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(autouse=True)
def aws_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No AWS setting of this machine; `config` and `credentials` in this folder may be written by a test."""
    forget_aws_settings(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def _running() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(_running: Sandbox) -> Iterator[Sandbox]:
    yield _running
    _running.reset()


@pytest.fixture(scope="session")
def _connected(_running: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    with pytest.MonkeyPatch.context() as patch:
        forget_aws_settings(patch, tmp_path_factory.mktemp("aws"))
        clients = connect(Connection(endpoint_url=_running.endpoint_url), {}, workers=4)
    with clients:
        yield clients


@pytest.fixture
def clients(sandbox: Sandbox, _connected: Clients) -> Clients:
    """Shared by all tests: to load the models of the services anew for each takes a third of a second."""
    return _connected


@dataclass
class Rig:
    """The adapters over one sandbox with a table `app`, which also holds the control records."""

    sandbox: Sandbox
    clients: Clients
    clock: VirtualClock
    tables: DynamoTables
    items: Items
    records: DynamoRecords
    layout: Layout
    told: list[tuple[MigratorError, float]]
    """What the retry layer said before each wait."""

    def put(self, *items: Item) -> None:
        """As the application beside the tool."""
        for item in items:
            self.application().put_item(TableName="app", Item=item)

    def all(self) -> list[Item]:
        return list(self.application().scan(TableName="app", ConsistentRead=True)["Items"])

    def sent(self, *operations: str) -> list[dict[str, Any]]:
        """The bodies of the requests that reached the sandbox."""
        return [body for operation, body in self.sandbox.requests if operation in operations]

    def application(self) -> Any:
        return self.sandbox.client(region=self.clients.region, account="local", unseen=True)


@pytest.fixture
def rig(sandbox: Sandbox, clients: Clients) -> Iterator[Rig]:
    clock, entropy = VirtualClock(), SeededEntropy()
    told: list[tuple[MigratorError, float]] = []
    retry = Retry(clock, entropy, told=lambda error, seconds: told.append((error, seconds)))
    layout = Layout("app", "PK", "SK")
    tables = DynamoTables(clients, retry)
    tables.create("app", TABLE)
    with DynamoItems(clients, retry, entropy, layout) as items:
        records = DynamoRecords(clients, retry, entropy, layout)
        sandbox.requests.clear()
        yield Rig(sandbox, clients, clock, tables, items, records, layout, told)
