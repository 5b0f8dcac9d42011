"""One request to DynamoDB, however it travels: what the adapters of items are written against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from botocore import xform_name

from migrator.core.item import Item
from migrator.core.ports import Permit
from migrator.dynamo.client import under
from migrator.dynamo.errors import translated
from migrator.dynamo.retry import Retry


class Sender(Protocol):
    """Sends requests of the data plane. Operations are named as the service names them: `GetItem`.

    Requests and answers are as botocore's low-level client takes and gives them: binaries are bytes, numbers text.
    Raises MigratorErrors, the same from every sender.
    """

    def read(self, operation: str, table: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Tried again after throttles, lost answers and failed connections."""
        ...

    def read_together(self, tables: str, request: Mapping[str, Any]) -> Sequence[Item | None]:
        """One TransactGetItems, sent once: the items in its order."""
        ...

    def write(self, operation: str, table: str, request: Mapping[str, Any], permit: Permit) -> Mapping[str, Any]:
        """Sent once; `permit` is asked immediately before it is signed."""
        ...


class BotoSender:
    """A boto3 client. `hint` is for an endpoint that cannot be reached."""

    def __init__(self, client: Any, hint: str | None, retry: Retry):
        self._client = client
        self._hint = hint
        self._retry = retry

    def read(self, operation: str, table: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._retry.request(f"dynamodb:{operation}", table, lambda: self._call(operation, request), self._hint)

    def read_together(self, tables: str, request: Mapping[str, Any]) -> Sequence[Item | None]:
        with translated("dynamodb:TransactGetItems", tables, self._hint):
            answer = self._call("TransactGetItems", request)
        return [one.get("Item") for one in answer["Responses"]]

    def write(self, operation: str, table: str, request: Mapping[str, Any], permit: Permit) -> Mapping[str, Any]:
        with under(permit), translated(f"dynamodb:{operation}", table, self._hint):
            return self._call(operation, request)

    def _call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = getattr(self._client, xform_name(operation))(**request)
        return answer
