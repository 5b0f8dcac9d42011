"""A refusal of some actions of a request, in the form that the request's operation has for it (facts §6, §8)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

from migrator.sandbox.index_items import cancelled
from migrator.sandbox.layer import Proceed
from migrator.sandbox.wire import Reply, Request, Response

_SHORT = {
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "ThrottlingError",
    "TransactionConflictException": "TransactionConflict",
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "ResourceNotFoundException": "ResourceNotFound",
    "AccessDeniedException": "AccessDenied",
}
THROTTLES = frozenset({"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"})
_NAMESPACES = {
    "ThrottlingException": "com.amazon.coral.availability",
    "ServiceUnavailable": "com.amazon.coral.availability",
    "AccessDeniedException": "com.amazon.coral.service",
    "ExpiredTokenException": "com.amazon.coral.service",
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """One refusal: the exception's name, its text, its HTTP status, and further members of its body."""

    code: str
    message: str
    status: int = 400
    members: Mapping[str, Any] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """The code inside a batch of statements and among the reasons of a cancelled transaction."""
        return _SHORT.get(self.code, self.code)

    def response(self, request: Request) -> Response:
        """As the only answer to the whole request, in the protocol of its service."""
        if "form-urlencoded" in request.headers.get("content-type", ""):
            text = (
                f"<ErrorResponse><Error><Type>Sender</Type><Code>{escape(self.code.removesuffix('Exception'))}</Code>"
                f"<Message>{escape(self.message)}</Message></Error></ErrorResponse>"
            )
            return Response(self.status, text.encode(), {"content-type": "text/xml"})
        namespace = _NAMESPACES.get(self.code, "com.amazonaws.dynamodb.v20120810")
        body = {"__type": f"{namespace}#{self.code}", "message": self.message, **self.members}
        return Response.json(body, self.status)


async def refuse(request: Request, length: int, troubles: Mapping[int, Trouble], proceed: Proceed) -> Reply:
    """What the service answers where these of the request's `length` actions, by position, are refused."""
    if not troubles:
        return await proceed(request)
    first = next(iter(troubles.values()))
    match request.operation:
        case "BatchWriteItem" | "BatchGetItem":
            # "If none of the items can be processed due to insufficient throughput": one error for all.
            if len(troubles) == length and first.code in THROTTLES:
                return first.response(request)
            return await hold_back(request, troubles.keys(), proceed)
        case "BatchExecuteStatement":
            return await _statements(request, troubles, proceed)
        case "TransactWriteItems" | "TransactGetItems" | "ExecuteTransaction":
            return cancelled(length, {position: (one.short, one.message) for position, one in troubles.items()})
        case _:
            return first.response(request)


async def hold_back(request: Request, positions: Collection[int], proceed: Proceed) -> Reply:
    """Run a BatchWriteItem or BatchGetItem without these of its items, which come back unprocessed."""
    member = "UnprocessedItems" if request.operation == "BatchWriteItem" else "UnprocessedKeys"
    kept: dict[str, Any] = {}
    held: dict[str, Any] = {}
    position = 0
    for name, asked in (request.body.get("RequestItems") or {}).items():
        listed = asked["Keys"] if isinstance(asked, dict) else asked
        for side, wanted in ((held, True), (kept, False)):
            chosen = [one for n, one in enumerate(listed, position) if (n in positions) is wanted]
            if chosen:
                side[name] = {**asked, "Keys": chosen} if isinstance(asked, dict) else chosen
        position += len(listed)
    if not kept:
        empty: dict[str, Any] = {} if member == "UnprocessedItems" else {"Responses": {}}
        return Response.json({**empty, member: held})
    reply = await proceed(request.with_body({**request.body, "RequestItems": kept}))
    if not isinstance(reply, Response) or not reply.ok:
        return reply
    body = reply.body
    return reply.with_body({**body, member: _joined(body.get(member) or {}, held)})


def _joined(ours: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    joined = dict(ours)
    for name, asked in more.items():
        there = joined.get(name)
        if isinstance(asked, dict):
            joined[name] = {**asked, "Keys": [*(there or {"Keys": []})["Keys"], *asked["Keys"]]}
        else:
            joined[name] = [*(there or []), *asked]
    return joined


async def _statements(request: Request, troubles: Mapping[int, Trouble], proceed: Proceed) -> Reply:
    """A 200 whose responses are parallel to the statements, an error in the place of each refused one."""
    statements = request.body.get("Statements") or []
    refused = {n: {"Error": {"Code": one.short, "Message": one.message}} for n, one in troubles.items()}
    free = [statement for n, statement in enumerate(statements) if n not in refused]
    if not free:
        return Response.json({"Responses": [refused[n] for n in range(len(statements))]})
    reply = await proceed(request.with_body({**request.body, "Statements": free}))
    if not isinstance(reply, Response) or not reply.ok:
        return reply
    answers = iter(reply.body["Responses"])
    responses = [refused[n] if n in refused else next(answers) for n in range(len(statements))]
    return reply.with_body({**reply.body, "Responses": responses})
