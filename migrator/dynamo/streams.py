"""DynamoDB Streams over boto3: shards and their records, as hints of what changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from migrator.core.item import key_of
from migrator.core.streams import ChangeRecord, Shard, StreamInfo, StreamPage, Trimmed
from migrator.dynamo.client import Clients
from migrator.dynamo.retry import Retry
from migrator.errors import MigratorError, ServiceError

MOST_RECORDS = 1000


class DynamoStreams:
    """The Streams port. A position is a shard iterator, good for fifteen minutes."""

    def __init__(self, clients: Clients, retry: Retry):
        self._clients = clients
        self._retry = retry

    def stream(self, table: str) -> StreamInfo | None:
        answer = self._retry.request(
            "dynamodb:DescribeTable",
            table,
            lambda: self._clients.tables.describe_table(TableName=table),
            self._clients.access.hint,
        )
        described = answer["Table"]
        specification: Any = described.get("StreamSpecification") or {}
        arn = described.get("LatestStreamArn")
        if not specification.get("StreamEnabled") or arn is None:
            return None
        return StreamInfo(arn, str(specification.get("StreamViewType", "")))

    def shards(self, arn: str) -> Sequence[Shard]:
        found: list[Shard] = []
        start: dict[str, Any] = {}
        while True:
            answer = self._request(
                "dynamodb:DescribeStream",
                arn,
                partial(self._clients.streams.describe_stream, StreamArn=arn, Limit=100, **start),
            )
            described = answer["StreamDescription"]
            for one in described.get("Shards", ()):
                is_closed = "EndingSequenceNumber" in one.get("SequenceNumberRange", {})
                found.append(Shard(one["ShardId"], one.get("ParentShardId", ""), is_closed))
            last = described.get("LastEvaluatedShardId")
            if last is None:
                return found
            start = {"ExclusiveStartShardId": last}

    def position(self, arn: str, shard: str, after: str | None = None) -> str:
        where: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        if after is not None:
            where = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
        answer = self._request(
            "dynamodb:GetShardIterator",
            arn,
            lambda: self._clients.streams.get_shard_iterator(StreamArn=arn, ShardId=shard, **where),
        )
        return str(answer["ShardIterator"])

    def read(self, arn: str, position: str) -> StreamPage:
        answer = self._request(
            "dynamodb:GetRecords",
            arn,
            lambda: self._clients.streams.get_records(ShardIterator=position, Limit=MOST_RECORDS),
        )
        return StreamPage([_change(one["dynamodb"]) for one in answer["Records"]], answer.get("NextShardIterator"))

    def _request(self, action: str, arn: str, function: Any) -> Any:
        try:
            return self._retry.request(action, arn, function, self._clients.access.hint)
        except ServiceError as exc:
            # The exceptions of this service alone, which end the message of what was refused.
            if "TrimmedDataAccess" in exc.message:
                raise Trimmed(exc.message) from exc
            if "ExpiredIterator" in exc.message:
                raise MigratorError(
                    "stream-position-expired", exc.message, hint="the position is asked for anew"
                ) from exc
            raise


def _change(record: Any) -> ChangeRecord:
    key = record["Keys"]
    at = record["ApproximateCreationDateTime"]
    return ChangeRecord(
        key_of(key, sorted(key)),
        record.get("OldImage"),
        record.get("NewImage"),
        record["SequenceNumber"],
        at.timestamp() if hasattr(at, "timestamp") else float(at),
    )
