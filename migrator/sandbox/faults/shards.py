"""Streams whose shards have split: a closed parent and two children that share its keys (facts §7).

The engine has one shard a stream. A record belongs to the shard that was open when it was written and that has its
item's key, so every item keeps its order from parent to child.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, replace
from typing import Any

from migrator.sandbox.layer import Proceed
from migrator.sandbox.trouble import Trouble
from migrator.sandbox.wire import Reply, Request, Response, iterator

SLOTS = 1 << 16
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shard:
    """Records after `after` and up to `until` (None: open), of items whose key falls into `slots`."""

    name: str
    parent: str = ""
    after: int = 0
    until: int | None = None
    slots: Range = (0, SLOTS)

    def holds(self, record: dict[str, Any]) -> bool:
        number = int(record["dynamodb"]["SequenceNumber"])
        if number <= self.after or (self.until is not None and number > self.until):
            return False
        key = json.dumps(record["dynamodb"]["Keys"], sort_keys=True)
        return self.slots[0] <= zlib.crc32(key.encode()) % SLOTS < self.slots[1]

    def shown(self) -> dict[str, Any]:
        numbers = {"StartingSequenceNumber": f"{self.after + 1:030d}"}
        if self.until is not None:
            numbers["EndingSequenceNumber"] = f"{self.until:030d}"
        return {"ShardId": self.name, "SequenceNumberRange": numbers} | (
            {"ParentShardId": self.parent} if self.parent else {}
        )


class Shards:
    """The rule for streams that were split; others go by unchanged."""

    FIRST = "shardId-00000000000000000000-00000000"

    def __init__(self) -> None:
        self._streams: dict[str, list[Shard]] = {}
        """By stream ARN."""
        self._made = 0

    def split(self, arn: str, end: int) -> None:
        """Close every open shard of a stream after the record numbered `end`, and open two children of each."""
        shards: list[Shard] = []
        for shard in self._streams.get(arn) or [Shard(self.FIRST)]:
            if shard.until is not None:
                shards.append(shard)
                continue
            until, (low, high) = max(end, shard.after), shard.slots
            middle = (low + high) // 2
            children = [self._child(shard.name, until, slots) for slots in ((low, middle), (middle, high))]
            shards += [replace(shard, until=until), *children]
        self._streams[arn] = shards

    def _child(self, parent: str, after: int, slots: Range) -> Shard:
        self._made += 1
        return Shard(f"shardId-{after:020d}-{self._made:08x}", parent, after, None, slots)

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        if not self._streams:
            return await proceed(request)
        match request.operation:
            case "DescribeStream" if request.body.get("StreamArn") in self._streams:
                return await self._describe(request, proceed)
            case "GetShardIterator" if request.body.get("StreamArn") in self._streams:
                return await self._iterator(request, proceed)
            case "GetRecords":
                return await self._records(request, proceed)
        return await proceed(request)

    async def _describe(self, request: Request, proceed: Proceed) -> Reply:
        body = request.body
        reply = await proceed(request.with_body({"StreamArn": body["StreamArn"]}))
        if not isinstance(reply, Response) or not reply.ok:
            return reply
        shards = self._streams[body["StreamArn"]]
        wanted = body.get("ShardFilter") or {}
        if wanted.get("Type") == "CHILD_SHARDS":
            shards = [shard for shard in shards if shard.parent == wanted.get("ShardId")]
        names = [shard.name for shard in shards]
        start = body.get("ExclusiveStartShardId")
        rest = shards[names.index(start) + 1 :] if start in names else shards
        page = rest[: min(int(body.get("Limit") or 100), 100)]
        described = {**reply.body["StreamDescription"], "Shards": [shard.shown() for shard in page]}
        if len(page) < len(rest):
            described["LastEvaluatedShardId"] = page[-1].name
        return reply.with_body({"StreamDescription": described})

    async def _iterator(self, request: Request, proceed: Proceed) -> Reply:
        body = request.body
        shard = self._shard(body["StreamArn"], str(body.get("ShardId", "")))
        if shard is None:
            text = f"Requested resource not found: Shard: {body.get('ShardId')} not found"
            return Trouble("ResourceNotFoundException", text).response(request)
        reply = await proceed(request.with_body({**body, "ShardId": self.FIRST}))
        if not isinstance(reply, Response) or not reply.ok:
            return reply
        return reply.with_body({"ShardIterator": _wrapped(body["StreamArn"], shard, reply.body["ShardIterator"])})

    async def _records(self, request: Request, proceed: Proceed) -> Reply:
        token = str(request.body.get("ShardIterator", ""))
        ours = iterator(token)
        # One that was given out before the split is the first shard's, and the engine's own.
        arn, name, inner = ours.get("arn", ""), ours.get("shard", self.FIRST), ours.get("token", token)
        shard = self._shard(arn, name)
        if shard is None:
            return await proceed(request)
        reply = await proceed(request.with_body({**request.body, "ShardIterator": inner}))
        if not isinstance(reply, Response) or not reply.ok:
            return reply
        body = reply.body
        read = body["Records"]
        body["Records"] = [record for record in read if shard.holds(record)]
        following = body.pop("NextShardIterator", None)
        last = int(read[-1]["dynamodb"]["SequenceNumber"]) if read else None
        is_drained = shard.until is not None and (last is None or last >= shard.until)
        if following is not None and not is_drained:
            body["NextShardIterator"] = _wrapped(arn, shard, following)
        return reply.with_body(body)

    def _shard(self, arn: str, name: str) -> Shard | None:
        return next((shard for shard in self._streams.get(arn, []) if shard.name == name), None)

    def clear(self) -> None:
        self._streams.clear()


def _wrapped(arn: str, shard: Shard, token: str) -> str:
    return base64.urlsafe_b64encode(json.dumps({"arn": arn, "shard": shard.name, "token": token}).encode()).decode()
