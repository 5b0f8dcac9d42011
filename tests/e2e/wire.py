"""What reached the sandbox, in order: who sent it, when, and how it was answered."""

from __future__ import annotations

import re
import time
from collections import defaultdict
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
        "DescribeLimits",
        "DescribeScalableTargets",
        "DescribeTable",
        "DescribeTimeToLive",
        "GetCallerIdentity",
        "GetItem",
        "GetMetricData",
        "GetMetricStatistics",
        "GetServiceQuota",
        "ListEventSourceMappings",
        "ListTables",
        "ListTagsOfResource",
        "Query",
        "Scan",
        "SimulatePrincipalPolicy",
        "TransactGetItems",
    }
)
"""Operations that change nothing. Whatever is not named here counts as a change."""

CONTROL = "__migrator__"


@dataclass(frozen=True, slots=True)
class Sent:
    """One request and its answer. `at` is the machine's monotonic clock when it arrived, in seconds."""

    at: float
    app: str
    """The application id of its user agent: which process sent it."""
    operation: str
    body: dict[str, Any]
    error: str
    """"" where it was applied."""

    keys: tuple[tuple[str, ...], ...]
    """The keys of the items that it writes, as (PK, SK), control records left out."""

    @property
    def changes(self) -> bool:
        return self.operation not in READS

    @property
    def is_applied(self) -> bool:
        """Whether it had an effect: a batch, that at least one of its statements had."""
        return not self.error and (self.operation != "BatchExecuteStatement" or bool(self.keys))

    @property
    def writes_items(self) -> bool:
        """Whether it is applied and writes an item that is no control record."""
        return not self.error and bool(self.keys)


def _keys(operation: str, body: dict[str, Any], reply: Reply) -> Iterator[tuple[str, ...]]:
    match operation:
        case "BatchExecuteStatement":
            answers = reply.body.get("Responses", ()) if isinstance(reply, Response) else ()
            for number, statement in enumerate(body["Statements"]):
                if number >= len(answers) or "Error" not in answers[number]:
                    yield _key(_named(statement))
        case "PutItem" | "UpdateItem" | "DeleteItem":
            yield _key(body.get("Key") or body["Item"])
        case "TransactWriteItems":
            for action in body["TransactItems"]:
                for kind, what in action.items():
                    if kind != "ConditionCheck":
                        yield _key(what.get("Key") or what["Item"])
        case "BatchWriteItem":
            for requests in body["RequestItems"].values():
                for request in requests:
                    for what in request.values():
                        yield _key(what.get("Key") or what["Item"])


def updated(request: Request) -> list[dict[str, Any]]:
    """The keys of the application's items that a request is to update, alone or in a batch."""
    match request.operation:
        case "UpdateItem":
            keys = [request.body["Key"]]
        case "BatchExecuteStatement":
            keys = [{name: _named(one)[name] for name in ("PK", "SK")} for one in request.body["Statements"]]
        case _:
            keys = []
    return [key for key in keys if not key["PK"]["S"].startswith(CONTROL)]


def _named(statement: dict[str, Any]) -> dict[str, Any]:
    """The values that the WHERE of a statement compares with, by name."""
    sets, where = statement["Statement"].split(" WHERE ")
    names = re.findall(r'"([^"]+)"=\?', where)
    return dict(zip(names, statement["Parameters"][sets.count("=?") :], strict=True))


def _key(item: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(next(iter(item[name].values()))) for name in ("PK", "SK") if name in item) or ("",)


def app_of(request: Request) -> str:
    """The application id in the user agent of a request."""
    parts = request.headers.get("user-agent", "").split()
    return next((part.removeprefix("app/") for part in parts if part.startswith("app/")), "")


class Wire:
    """A rule of the sandbox that only looks on."""

    def __init__(self) -> None:
        self._sent: defaultdict[str, list[Sent]] = defaultdict(list)

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        agent = request.headers.get("user-agent", "")
        if UNSEEN in agent:
            return await proceed(request)
        at = time.monotonic()
        reply = await proceed(request)
        error = (reply.error_code or "refused" if not reply.ok else "") if isinstance(reply, Response) else "lost"
        app = app_of(request)
        keys = tuple(key for key in _keys(request.operation, request.body, reply) if not key[0].startswith(CONTROL))
        self._sent[request.account].append(Sent(at, app, request.operation, request.body, error, keys))
        return reply

    def by(self, account: str, holds: Callable[[Sent], bool] = lambda one: True) -> list[Sent]:
        """What was sent with this account's credentials, oldest first."""
        return [one for one in self._sent[account].copy() if holds(one)]
