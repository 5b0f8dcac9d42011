"""Throttles with their reasons, and what comes back of a batch (facts §6, §8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from migrator.sandbox.actions import Action
from migrator.sandbox.engine import Engine
from migrator.sandbox.faults.kind import ITEMS, Kind, Share, Situation
from migrator.sandbox.index_updates import mode_of
from migrator.sandbox.layer import Proceed
from migrator.sandbox.trouble import Trouble, hold_back
from migrator.sandbox.wire import Reply

Reason = Literal[
    "ProvisionedThroughputExceeded",
    "AccountLimitExceeded",
    "KeyRangeThroughputExceeded",
    "MaxOnDemandThroughputExceeded",
]
Code = Literal["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
StatementCode = Literal[
    "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded", "TransactionConflict",
    "InternalServerError",
]  # fmt: skip

_HOT = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or "
    "index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
)
_PROVISIONED = (
    "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning "
    "level with the UpdateTable API."
)
_PROVISIONED_INDEX = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table was "
    "exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes with "
    "the UpdateTable API"
)
_ACCOUNT = "Throughput exceeds the current throughput limit for your account. Please contact AWS Support."
_MAXIMUM = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
_OF_STATEMENT = {
    "ThrottlingError": _HOT,
    "ProvisionedThroughputExceeded": _PROVISIONED,
    "RequestLimitExceeded": _ACCOUNT,
    "TransactionConflict": "Transaction is ongoing for the item",
    "InternalServerError": "Internal server error",
}


def throttled(
    engine: Engine, action: Action, arn: str, index: str, reason: Reason, code: Code | None = None
) -> Trouble:
    """One action throttled on its table or on `index`, whose ARN is `arn`.

    Without a `code` it is the one that a table of this billing mode gives.
    """
    table = engine.table(action.table) or {}
    code = code or ("ProvisionedThroughputExceededException" if _is_provisioned(table) else "ThrottlingException")
    match reason:
        case "AccountLimitExceeded":
            text = _ACCOUNT
        case "MaxOnDemandThroughputExceeded":
            text = _MAXIMUM
        case _ if code == "ThrottlingException":
            text = _HOT
        case _:
            text = _PROVISIONED_INDEX if index else _PROVISIONED
    member = "throttlingReasons" if code == "ThrottlingException" else "ThrottlingReasons"
    told = f"{'Index' if index else 'Table'}{'Write' if action.writes else 'Read'}{reason}"
    return Trouble(code, text, members={member: [{"reason": told, "resource": arn}]})


def _is_provisioned(table: dict[str, object]) -> bool:
    return bool(table) and mode_of({}, table) == "PROVISIONED"


def _usual(table: dict[str, object]) -> Reason:
    return "ProvisionedThroughputExceeded" if _is_provisioned(table) else "KeyRangeThroughputExceeded"


@dataclass
class Throttle(Kind):
    """Refuses reads and writes for capacity; with --index for that of an index. A control-plane call has no reasons.

    Without `reason` it is that of a full table in provisioned mode, that of a hot key on demand.
    """

    code: Code | None = None
    reason: Reason | None = None

    by_default: ClassVar[frozenset[str] | None] = ITEMS

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        if here.request.operation not in ITEMS:
            return Trouble("ThrottlingException", "Rate exceeded").response(here.request)
        index = here.match.index
        troubles = {}
        for position in here.chosen:
            action = here.actions[position]
            arn = here.arn(action.table, index)
            reason = self.reason or _usual(here.engine.table(action.table) or {})
            troubles[position] = throttled(here.engine, action, arn, index, reason, self.code)
        return await here.refuse(troubles, proceed)


@dataclass
class Unprocessed(Kind):
    """Gives `share` of a batch back as UnprocessedItems or UnprocessedKeys, and does the rest."""

    share: Share = 0.5

    happens_to: ClassVar[frozenset[str] | None] = frozenset({"BatchWriteItem", "BatchGetItem"})
    by_default: ClassVar[frozenset[str] | None] = happens_to

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        return await hold_back(here.request, here.dice.share(here.chosen, self.share), proceed)


@dataclass
class Statement(Kind):
    """Refuses `share` of the statements of a BatchExecuteStatement, whose answer is a 200 all the same."""

    code: StatementCode = "ThrottlingError"
    share: Share = 0.5

    happens_to: ClassVar[frozenset[str] | None] = frozenset({"BatchExecuteStatement"})
    by_default: ClassVar[frozenset[str] | None] = happens_to

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        trouble = Trouble(self.code, _OF_STATEMENT[self.code])
        return await here.refuse(dict.fromkeys(here.dice.share(here.chosen, self.share), trouble), proceed)
