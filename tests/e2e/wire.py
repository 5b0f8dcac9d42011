"""What reached the sandbox, in order: who sent it, when, and how it was answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from migrator.sandbox import Proceed, Reply, Request, Response
from migrator.sandbox.interception import UNSEEN

READS = frozenset(
    {
        "BatchGetItem",
        "DescribeContinuousBackups",
        "DescribeKinesisStreamingDestination",
        "DescribeTable",
        "DescribeTimeToLive",
        "GetCallerIdentity",
        "GetItem",
        "GetMetricData",
        "GetMetricStatistics",
        "ListTables",
        "ListTagsOfResource",
        "Query",
        "Scan",
        "TransactGetItems",
    }
)
"""Operations that change nothing. Whatever is not named here counts as a change."""

CONTROL = "__migrator__"


@dataclass(frozen=True, slots=True)
class Sent:
    """One request and its answer. `at` is the machine's monotonic clock when it arrived, in seconds."""

    at: float
    account: str
    app: str
    """The application id of its user agent: which process sent it."""
    operation: str
    body: dict[str, Any]
    error: str
    """"" where it was applied."""

    @property
    def changes(self) -> bool:
        return self.operation not in READS

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The string keys of the items that it writes, as (PK, SK)."""
        return tuple(self._keys())

    @property
    def writes_items(self) -> bool:
        """Whether it is applied and writes an item that is no control record."""
        return not self.error and any(not key[0].startswith(CONTROL) for key in self.keys)

    def _keys(self) -> Iterator[tuple[str, ...]]:
        match self.operation:
            case "PutItem" | "UpdateItem" | "DeleteItem":
                yield _key(self.body.get("Key") or self.body["Item"])
            case "TransactWriteItems":
                for action in self.body["TransactItems"]:
                    for kind, what in action.items():
                        if kind != "ConditionCheck":
                            yield _key(what.get("Key") or what["Item"])
            case "BatchWriteItem":
                for requests in self.body["RequestItems"].values():
                    for request in requests:
                        for what in request.values():
                            yield _key(what.get("Key") or what["Item"])


def _key(item: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(next(iter(item[name].values()))) for name in ("PK", "SK") if name in item) or ("",)


class Wire:
    """A rule of the sandbox that only looks on."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        agent = request.headers.get("user-agent", "")
        if UNSEEN in agent:
            return await proceed(request)
        at = time.monotonic()
        reply = await proceed(request)
        error = (reply.error_code or "refused" if not reply.ok else "") if isinstance(reply, Response) else "lost"
        app = next((part.removeprefix("app/") for part in agent.split() if part.startswith("app/")), "")
        self.sent.append(Sent(at, request.account, app, request.operation, request.body, error))
        return reply

    def by(self, account: str, holds: Callable[[Sent], bool] = lambda one: True) -> list[Sent]:
        """What was sent with this account's credentials, oldest first."""
        return [one for one in list(self.sent) if one.account == account and holds(one)]
