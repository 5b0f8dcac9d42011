"""DynamoDB Streams as a port: shards, and records that say which items changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from migrator.core.item import Item, Key
from migrator.errors import MigratorError


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """A table's stream. `view` is KEYS_ONLY, NEW_IMAGE, OLD_IMAGE or NEW_AND_OLD_IMAGES."""

    arn: str
    view: str


@dataclass(frozen=True, slots=True)
class Shard:
    """A piece of a stream. `parent` is read to its end first; a closed one ends (facts §7)."""

    id: str
    parent: str = ""
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One change of one item: which it was, and the images where the stream has them."""

    key: Key
    old: Item | None
    new: Item | None
    sequence: str
    """Its place in the shard; opaque."""
    at: float
    """About when, in seconds since 1970, by the service's clock."""


@dataclass(frozen=True, slots=True)
class StreamPage:
    """Some records of a shard, and how to go on: `position` None is the end of a closed shard."""

    records: Sequence[ChangeRecord]
    position: str | None


class Trimmed(MigratorError):
    """The records after a position are gone: older than a day (facts §7)."""

    def __init__(self, message: str):
        super().__init__(
            "stream-trimmed", message, hint="what changed meanwhile was missed: compare both sides in full"
        )


class Streams(Protocol):
    """DynamoDB Streams: reads only, retried by the adapter. Records come at least once, each item's in order."""

    def stream(self, table: str) -> StreamInfo | None:
        """The table's enabled stream, or None."""
        ...

    def shards(self, arn: str) -> Sequence[Shard]:
        """All that are listed; the listing may lag behind a split."""
        ...

    def position(self, arn: str, shard: str, after: str | None = None) -> str:
        """Where to read on: after a sequence number, or from the shard's oldest record. Raises Trimmed."""
        ...

    def read(self, arn: str, position: str) -> StreamPage:
        """The next records. Raises Trimmed, or `stream-position-expired` for a position older than fifteen minutes."""
