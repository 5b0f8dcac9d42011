"""The control plane over boto3: one concern a call, each compared with the live table first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from migrator.core.ports import Busy, LiveTable, Replica
from migrator.core.schema import NO_MAXIMUM, Index, Table
from migrator.core.settings import Setting
from migrator.dynamo import requests
from migrator.dynamo.client import Clients
from migrator.dynamo.describe import index_statuses, live_table, other_replicas
from migrator.dynamo.errors import NotFound, translated
from migrator.dynamo.retry import Retry
from migrator.dynamo.settings import TableSettings
from migrator.errors import AnswerLost, MigratorError, ServiceError

T = TypeVar("T")


class DynamoTables:
    """The Tables port. After a lost answer a change is asked for again, and "it is so already" is then a success."""

    def __init__(self, clients: Clients, retry: Retry):
        self._clients = clients
        self._retry = retry
        self._settings = TableSettings(clients, retry, self._live, self._update)

    def describe(self, name: str) -> LiveTable | None:
        """Eventually consistent: just after a change it may still show the state before (facts §1.2)."""
        description = self._describe(name, self._clients.region)
        if description is None:
            return None
        replicas = []
        for region, status in other_replicas(description, self._clients.region):
            # A replica's entry names its indexes but not their status: only its own Region tells (facts §1.9).
            elsewhere = self._describe(name, region)
            replicas.append(Replica(region, status, {} if elsewhere is None else index_statuses(elsewhere)))
        return live_table(description, replicas)

    def create(self, name: str, table: Table, settings: Sequence[Setting] = ()) -> None:
        """One CreateTable with all its indexes and the settings it can carry: stream, protection, billing mode.

        The others, TTL and recovery, need an ACTIVE table: `change_setting`.
        """
        request = requests.create_table(name, table, settings)
        try:
            self._change("dynamodb:CreateTable", name, lambda: self._clients.tables.create_table(**request))
        except Busy as exc:
            live = self.describe(name)
            if live is not None and live.status == "ACTIVE":
                raise ServiceError("table-exists", f"there is a table {name} already") from exc
            raise

    def create_index(self, name: str, index: Index) -> None:
        live = self._live(name)
        provisioned = None
        if live.shape.billing_mode == "PROVISIONED":
            # Left out of the migration: as much as the table has, since each of its writes may be one of the index.
            provisioned = index.provisioned or live.shape.provisioned
        self._update(
            name,
            AttributeDefinitions=requests.attribute_definitions([*live.shape.key, *index.keys]),
            GlobalSecondaryIndexUpdates=[{"Create": requests.index_creation(index, provisioned)}],
        )

    def delete_index(self, name: str, index: str) -> None:
        """Raises ServiceError `index-not-found` where there is no such index."""
        self._update(name, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": index}}])

    def update_index(self, name: str, index: Index) -> None:
        """Each throughput that `index` names and that differs, in a call of its own."""
        live = self._live(name)
        if index.name not in live.indexes:
            raise NotFound("index-not-found", f"table {name} has no index {index.name}")
        found = live.indexes[index.name].definition
        if index.provisioned is not None and index.provisioned != found.provisioned:
            self._update_index(name, index.name, {"ProvisionedThroughput": requests.capacity(index.provisioned)})
        if index.on_demand_maximum not in (None, found.on_demand_maximum or NO_MAXIMUM):
            self._update_index(name, index.name, {"OnDemandThroughput": requests.on_demand(index.on_demand_maximum)})
        if index.warm is not None and not (found.warm is not None and found.warm.covers(index.warm)):
            self._update_index(name, index.name, {"WarmThroughput": requests.warm(index.warm)})

    def setting(self, name: str, kind: type[Setting]) -> Setting:
        return self._settings.read(name, kind)

    def change_setting(self, name: str, setting: Setting) -> None:
        """Raises Busy where the way there needs a second call later: a TTL or stream that is first to be off."""
        self._settings.change(name, setting)

    def _live(self, name: str) -> LiveTable:
        live = self.describe(name)
        if live is None:
            raise NotFound("table-not-found", f"there is no table {name} in {self._clients.region}")
        return live

    def _describe(self, name: str, region: str) -> dict[str, Any] | None:
        client = self._clients.tables_in(region)
        try:
            answer = self._call("dynamodb:DescribeTable", name, lambda: client.describe_table(TableName=name))
        except NotFound:
            return None
        return dict(answer["Table"])

    def _update_index(self, name: str, index: str, change: dict[str, Any]) -> None:
        self._update(name, GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": index} | change}])

    def _update(self, name: str, **change: Any) -> None:
        self._change("dynamodb:UpdateTable", name, lambda: self._clients.tables.update_table(TableName=name, **change))

    def _change(self, action: str, name: str, function: Callable[[], object]) -> None:
        lost = False

        def attempt() -> None:
            nonlocal lost
            try:
                with translated(action, name, self._clients.access.hint):
                    function()
            except AnswerLost:
                lost = True
                raise
            except MigratorError as exc:
                if not _is_done(exc, after_a_lost_answer=lost):
                    raise

        self._retry.call(attempt)

    def _call(self, action: str, name: str, function: Callable[[], T]) -> T:
        return self._retry.request(action, name, function, self._clients.access.hint)


def _is_done(error: MigratorError, *, after_a_lost_answer: bool) -> bool:
    """Whether a refusal says that what is wanted is so already (facts §1.3, §1.8)."""
    if error.code == "validation" and "will not change" in error.message:
        return True
    return after_a_lost_answer and (
        isinstance(error, NotFound)
        or any(sign in error.message for sign in ("already", "is being created", "is being deleted"))
    )
