"""What IAM and STS refuse (facts §8, §9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from migrator.sandbox.actions import Action
from migrator.sandbox.faults.kind import Kind, Situation
from migrator.sandbox.layer import Proceed
from migrator.sandbox.trouble import Trouble
from migrator.sandbox.wire import Reply, Request

_OF_VERB = {
    "Get": "GetItem", "Query": "Query", "Scan": "Scan", "Put": "PutItem", "Update": "UpdateItem",
    "Delete": "DeleteItem", "Check": "ConditionCheckItem",
}  # fmt: skip
_OF_STATEMENT = {
    "Query": "PartiQLSelect", "Check": "PartiQLSelect", "Put": "PartiQLInsert", "Update": "PartiQLUpdate",
    "Delete": "PartiQLDelete",
}  # fmt: skip
_ENCLOSING = frozenset(
    {"TransactWriteItems", "TransactGetItems", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"}
)
"""Operations that IAM knows only by the actions inside them."""
IAM_ONLY = frozenset({"ConditionCheckItem", *_OF_STATEMENT.values()})
"""Actions that are no operations."""


@dataclass
class AccessDenied(Kind):
    """Denies actions to `user`. --operation names IAM's: UpdateItem is denied inside a transaction too."""

    user: str = "migrator"

    decides: ClassVar[bool] = True
    by_action: ClassVar[bool] = True

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        asked = here.match.operations
        for name, resource in self._needed(here):
            if (not asked or name in asked) and here.dice.falls():
                return self._denied(here.request, name, resource)
        return await proceed(here.request)

    def _needed(self, here: Situation) -> Iterator[tuple[str, str]]:
        """Each action that IAM is asked about, and the resource."""
        request = here.request
        if request.service != "dynamodb":
            yield request.operation, "*"
        elif request.operation in _ENCLOSING:
            for position in here.chosen:
                action = here.actions[position]
                yield _name(action), here.arn(action.table, action.index)
        else:
            found = [here.actions[position] for position in here.chosen]
            for table, index in dict.fromkeys((action.table, action.index) for action in found) or {("*", ""): None}:
                yield request.operation, here.arn(table, index)

    def _denied(self, request: Request, name: str, resource: str) -> Reply:
        service = "cloudwatch" if request.service == "monitoring" else request.service or "dynamodb"
        action = f"{service}:{name}"
        text = (
            f"User: arn:aws:iam::{request.account}:user/{self.user} is not authorized to perform: {action} on "
            f"resource: {resource} because no identity-based policy allows the {action} action"
        )
        return Trouble("AccessDeniedException", text, 400 if request.service == "dynamodb" else 403).response(request)


def _name(action: Action) -> str:
    return (_OF_STATEMENT if action.is_statement else _OF_VERB).get(action.verb, action.verb)


@dataclass
class ExpiredToken(Kind):
    """Refuses the access key that it meets first, until the requests are signed with another one."""

    decides: ClassVar[bool] = True
    everywhere: ClassVar[bool] = True
    expired: str = field(default="", init=False)
    """The access key whose token has expired."""

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        signed = re.search(r"Credential=([^/,\s]+)/", here.request.headers.get("authorization", ""))
        key = signed[1] if signed else ""
        if (self.expired and key != self.expired) or not here.dice.falls():
            return await proceed(here.request)
        self.expired = key
        text = "The security token included in the request is expired"
        status = 400 if here.request.service == "dynamodb" else 403
        return Trouble("ExpiredTokenException", text, status).response(here.request)
