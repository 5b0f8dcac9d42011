"""Answers that are errors, as the very errors that the boto3 path raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from migrator.dynamo.errors import answered
from migrator.errors import AnswerLost, MigratorError
from migrator.wire.channel import Answer
from migrator.wire.lazy import item_from_wire

STATEMENT_CODES = {
    "AccessDenied": "AccessDeniedException",
    "ConditionalCheckFailed": "ConditionalCheckFailedException",
    "InternalServerError": "InternalServerError",
    "ItemCollectionSizeLimitExceeded": "ItemCollectionSizeLimitExceededException",
    "ProvisionedThroughputExceeded": "ProvisionedThroughputExceededException",
    "RequestLimitExceeded": "RequestLimitExceeded",
    "ResourceNotFound": "ResourceNotFoundException",
    "ThrottlingError": "ThrottlingException",
    "TransactionConflict": "TransactionConflictException",
    "ValidationError": "ValidationException",
}
"""What a statement in a batch calls its error -> what a request of its own would."""


def of_answer(answer: Answer, operation: str, table: str) -> MigratorError:
    """The error of an answer whose status is not 200."""
    try:
        body = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        body = None
    if not isinstance(body, dict):
        # A proxy or a balancer speaks, not the service.
        if answer.status >= 500:
            return AnswerLost(f"dynamodb:{operation} on {table}: HTTP {answer.status}")
        body = {}
    kind = str(body.get("__type") or answer.error_type or answer.status)
    # `com.amazonaws.dynamodb.v20120810#ThrottlingException`, and sometimes `…:http://…` behind it.
    code = kind.rsplit("#", 1)[-1].split(":", 1)[0]
    message = str(body.get("message") or body.get("Message") or "")
    return answered(code, message, answer.status, f"dynamodb:{operation}", table, _decoded(body))


def of_statement(error: Mapping[str, Any], operation: str, table: str) -> MigratorError:
    """The error of one statement of a batch that was answered with 200."""
    code = str(error.get("Code", ""))
    status = 500 if code == "InternalServerError" else 400
    return answered(
        STATEMENT_CODES.get(code, code), str(error.get("Message", "")), status, f"dynamodb:{operation}", table, {}
    )


def _decoded(body: dict[str, Any]) -> dict[str, Any]:
    if isinstance(body.get("Item"), dict):
        body["Item"] = item_from_wire(body["Item"])
    for reason in body.get("CancellationReasons") or ():
        if reason.get("Item"):
            reason["Item"] = item_from_wire(reason["Item"])
    return body
