"""What goes over the wire: a request of an operation, and the three ways to end it."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

JSON = "application/x-amz-json-1.0"


@dataclass(frozen=True, slots=True)
class Request:
    """One call of an AWS operation, as the engine is about to see it.

    `service` is the name in the signature's scope (`dynamodb` also for streams, `monitoring`, `sts`);
    `operation` is empty for what is no AWS call. `body` is the decoded JSON (or form) and must not be changed
    in place: send another one with `with_body`.
    """

    service: str
    operation: str
    body: dict[str, Any]
    account: str
    region: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    method: str = "POST"
    path: str = "/"
    query: bytes = b""
    raw: bytes = field(default=b"", repr=False)

    @property
    def table(self) -> str:
        """The table's name, also where an ARN was given; empty if the request names no single table."""
        return table_name(self.body.get("TableName"))

    @property
    def is_dynamodb(self) -> bool:
        return self.headers.get("x-amz-target", "").startswith("DynamoDB_")

    def with_body(self, body: dict[str, Any]) -> Request:
        return replace(self, body=body, raw=json.dumps(body).encode())


@dataclass(frozen=True, slots=True)
class Response:
    """An answer; make one with `Response.json` or `Response.error`."""

    status: int
    raw: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, body: Mapping[str, Any], status: int = 200) -> Response:
        headers = {"content-type": JSON, "x-amzn-requestid": str(uuid.uuid4())}
        return cls(status, json.dumps(body, ensure_ascii=False).encode(), headers)

    @classmethod
    def error(cls, code: str, message: str, *, status: int = 400, **members: Any) -> Response:
        """An error as the service words it; `members` are further ones, such as `Item`."""
        return cls.json({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **members}, status)

    @property
    def ok(self) -> bool:
        return self.status == 200

    @property
    def body(self) -> dict[str, Any]:
        """The decoded JSON, decoded anew each time."""
        decoded = json.loads(self.raw or b"{}")
        return decoded if isinstance(decoded, dict) else {}

    @property
    def error_code(self) -> str:
        """The error's code without its namespace; empty for a success."""
        return "" if self.ok else str(self.body.get("__type", "")).rpartition("#")[2]

    @property
    def error_message(self) -> str:
        """The error's text; empty for a success."""
        return "" if self.ok else str(self.body.get("message", ""))

    def with_body(self, body: Mapping[str, Any]) -> Response:
        return replace(self, raw=json.dumps(body, ensure_ascii=False).encode())


@dataclass(frozen=True, slots=True)
class Drop:
    """No answer: the connection breaks off, as when the network fails."""


Reply = Response | Drop


def table_name(value: object) -> str:
    """The name in `value`, which is a table's name or its ARN (or an ARN below it)."""
    text = value if isinstance(value, str) else ""
    if text.startswith("arn:") and ":table/" in text:
        return text.partition(":table/")[2].partition("/")[0]
    return text


def iterator(token: object) -> dict[str, str]:
    """What a shard iterator says of itself, such as the `arn` of its stream; nothing where it is none."""
    try:
        decoded = json.loads(base64.urlsafe_b64decode(str(token).encode("ascii")))
    except ValueError:
        return {}
    return decoded if isinstance(decoded, dict) else {}
