"""A client that only reads refuses everything else before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from migrator.dynamo.client import Clients, connect
from migrator.dynamo.credentials import Connection
from migrator.dynamo.readonly import READS
from migrator.errors import MigratorError
from migrator.sandbox import Sandbox

SERVICES = ["dynamodb", "cloudwatch", "sts"]


@pytest.fixture
def reader(sandbox: Sandbox) -> Iterator[Clients]:
    with connect(Connection(endpoint_url=sandbox.endpoint_url, read_only=True), {}) as clients:
        yield clients


def client_of(clients: Clients, service: str) -> Any:
    return {"dynamodb": clients.items, "cloudwatch": clients.cloudwatch, "sts": clients.sts}[service]


def refusal_of(call: Callable[[], object]) -> MigratorError | None:
    """Why a call without any parameter is refused; None where it gets past that, whatever becomes of it then."""
    try:
        call()
    except MigratorError as exc:
        return exc
    except Exception:  # noqa: BLE001 - botocore's own opinion of a call without parameters
        return None
    return None


@pytest.mark.parametrize("service", SERVICES)
def test_every_operation_of_the_model_that_is_not_known_to_read_is_refused_unsent(
    reader: Clients, sandbox: Sandbox, service: str
) -> None:
    client = client_of(reader, service)
    refusals = {
        operation: refusal_of(getattr(client, method))
        for method, operation in client.meta.method_to_api_mapping.items()
    }
    refused = {operation for operation, refusal in refusals.items() if refusal is not None}
    assert refused == set(client.meta.service_model.operation_names) - READS[service]
    assert {refusal.code for refusal in refusals.values() if refusal is not None} <= {"read-only-client"}
    assert {operation for operation, _ in sandbox.requests} <= READS[service]


def test_no_operation_that_changes_something_is_known_to_read() -> None:
    # IAM's simulator says what a policy would allow, and changes nothing.
    verbs = ("Get", "BatchGet", "TransactGet", "Describe", "List", "Query", "Scan", "Simulate")
    assert [name for names in READS.values() for name in names if not name.startswith(verbs)] == []
    assert not {"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"} & READS["dynamodb"]


def test_all_clients_of_the_connection_are_guarded_those_of_other_regions_too(reader: Clients) -> None:
    for client in (reader.tables, reader.items, reader.tables_in("eu-central-1")):
        with pytest.raises(MigratorError, match="was not sent"):
            client.delete_table(TableName="app")


def test_nothing_that_changes_can_be_presigned(reader: Clients) -> None:
    with pytest.raises(MigratorError, match="was not sent"):
        reader.items.generate_presigned_url("delete_item", Params={"TableName": "app", "Key": {}})
