"""An application's own client, used under a permit, and the errors that it would raise itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from botocore.exceptions import ClientError

from migrator.dynamo.client import ask_permit
from migrator.dynamo.errors import translated

T = TypeVar("T")


def ask_before_signing(client: Any) -> None:
    """From now on each request of this client that is sent `under` a permit asks it, every attempt anew.

    A client that has no events (a double in a test) is asked for once a call alone.
    """
    events = getattr(getattr(client, "meta", None), "events", None)
    if events is None:
        return

    def ask(**_: Any) -> None:
        # Refreshing credentials may take seconds: here it comes before the question, while signing after it.
        credentials = getattr(getattr(client, "_request_signer", None), "_credentials", None)
        ask_permit(None if credentials is None else credentials.get_frozen_credentials)

    events.register("before-sign.dynamodb", ask, unique_id="migrator-runtime-permit")


def attempt_seconds(client: Any) -> float | None:
    """For how long one attempt of this client may last; None where it does not say."""
    config = getattr(getattr(client, "meta", None), "config", None)
    parts = [getattr(config, name, None) for name in ("connect_timeout", "read_timeout")]
    return sum(parts) if all(isinstance(part, int | float) for part in parts) else None  # type: ignore[arg-type]


def send(method: Callable[..., T], request: Mapping[str, Any], action: str, resource: str) -> T:
    """Raises MigratorErrors, each with what the client raised as its cause."""
    with translated(action, resource):
        return method(**request)


def raise_as_client(
    client: Any, operation: str, code: str, message: str, further: Mapping[str, Any] | None = None
) -> NoReturn:
    """Raise what this client would for an answer of the service: also caught as `client.exceptions.…`."""
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": 400, "HTTPHeaders": {}, "RetryAttempts": 0},
        "message": message,
        **(further or {}),
    }
    exceptions = getattr(client, "exceptions", None)
    kind = ClientError if exceptions is None else exceptions.from_code(code)
    raise kind(response, operation)
