"""What happens to a stream and to expired items (facts §7)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from migrator.sandbox.engine import Engine, Item
from migrator.sandbox.faults.kind import Act
from migrator.sandbox.faults.match import Match
from migrator.sandbox.faults.shards import Shards

NO_STREAM = "it has no stream"


def _stream(engine: Engine, table: str) -> str:
    """The ARN of a table's stream; empty where it is not enabled."""
    record = engine.table(table) or {}
    enabled = (record.get("StreamSpecification") or {}).get("StreamEnabled")
    return str(record.get("LatestStreamArn") or "") if enabled else ""


@dataclass
class StreamTrim(Act):
    """Forgets all records of a table's stream as if 24 hours had passed: an iterator before them is refused."""

    def act(self, engine: Engine, shards: Shards, match: Match) -> str:
        del shards
        if not _stream(engine, match.table):
            return NO_STREAM
        engine.trim_stream(match.table)
        return ""


@dataclass
class ShardSplit(Act):
    """Closes each open shard of a table's stream and opens two children."""

    def act(self, engine: Engine, shards: Shards, match: Match) -> str:
        arn = _stream(engine, match.table)
        if not arn:
            return NO_STREAM
        shards.split(arn, engine.last_sequence_number(match.table))
        return ""


@dataclass
class TtlDelete(Act):
    """Deletes the items whose Time to Live has passed; with --key those of them that have it."""

    def act(self, engine: Engine, shards: Shards, match: Match) -> str:
        del shards
        table, attribute = engine.table(match.table), engine.ttl_attribute(match.table)
        if table is None or not attribute:
            return "it has no Time to Live"
        now = datetime.now(UTC).timestamp()  # noqa: TID251 - the attribute holds the time of the day
        due = [key for key, item in engine.items(table) if _is_due(item, attribute, now) and match.has_key(item)]
        for key in due:
            engine.expire(table, key)
        return ""


def _is_due(item: Item, attribute: str, now: float) -> bool:
    """Whether it has expired: a number of seconds that has passed, not more than five years ago."""
    value = item.get(attribute, {}).get("N")
    return value is not None and now - 5 * 365 * 86_400 < float(value) <= now
