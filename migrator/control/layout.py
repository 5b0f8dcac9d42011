"""Where control records live: hot ones have a partition each, many are spread, checkpoints stay with their step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from migrator.core.item import AttributeValue, Item, Key, fingerprint
from migrator.core.ports import Address
from migrator.core.rows import RowsOfTexts

SPREAD = 16
"""Partitions over which failed items, and journal records, are spread by the hash of their key."""

LOCK = Address("lock", "lock")
BEAT = Address("beat", "beat")
REQUESTS = Address("requests", "requests")


@dataclass(frozen=True, slots=True)
class LockPlace:
    """Where a lock lives: its record and its beat, in partitions of their own."""

    lock: Address
    beat: Address


RUN = LockPlace(LOCK, BEAT)
"""The lock of an environment: of the run that applies revisions."""
HISTORY = "history"
IDENTITY = "identity"


def history(revision: str) -> Address:
    return Address(HISTORY, revision)


def identity(alias: str) -> Address:
    return Address(IDENTITY, alias)


def checkpoints(revision: str, step: str) -> str:
    """The partition of a step's checkpoints."""
    return f"checkpoints#{revision}#{step}"


def checkpoint_head(revision: str, step: str) -> Address:
    return Address(checkpoints(revision, step), "head")


def checkpoint(revision: str, step: str, segment: int) -> Address:
    return Address(checkpoints(revision, step), f"{SEGMENT_PREFIX}{segment:07d}")


def attempt_at(revision: str, step: str, segment: int) -> Address:
    """Says which attempt at a segment is the last one, where there may be several."""
    return Address(checkpoints(revision, step), f"{ATTEMPT_PREFIX}{segment:07d}")


SEGMENT_PREFIX = "segment#"
ATTEMPT_PREFIX = "attempt#"


def failure(revision: str, step: str, key: Key) -> Address:
    return _spread("failures", revision, step, key)


def failures_head(revision: str) -> Address:
    """Says that a revision has, or had, failed items: one read instead of one for each partition."""
    return Address("failures", revision)


def failure_partitions() -> tuple[str, ...]:
    return tuple(f"failures#{number:x}" for number in range(SPREAD))


def journal(revision: str, step: str, key: Key) -> Address:
    return _spread("journal", revision, step, key)


def journal_partitions() -> tuple[str, ...]:
    return tuple(f"journal#{number:x}" for number in range(SPREAD))


def phase_partition(revision: str, slot: str) -> str:
    """The partition of a rewrite's phase record: instances of the application read it."""
    return f"phase#{revision}#{slot}"


def phase(revision: str, slot: str) -> Address:
    return Address(phase_partition(revision, slot), "phase")


def mirror(revision: str, slot: str) -> LockPlace:
    """The lock of a rewrite's mirror: one worker at a time reads the streams."""
    partition = mirror_partition(revision, slot)
    return LockPlace(Address(partition, "lock"), Address(f"{partition}#beat", "beat"))


def mirror_partition(revision: str, slot: str) -> str:
    """The partition of a mirror's records: its lock, how far it has read each shard, what it acknowledges."""
    return f"mirror#{revision}#{slot}"


def by_revision(revision: str, step: str | None = None) -> str:
    """What the sort of spread records begins with."""
    return f"{revision}#" if step is None else f"{revision}#{step}#"


def _spread(kind: str, revision: str, step: str, key: Key) -> Address:
    digest = fingerprint(key)
    return Address(f"{kind}#{digest[0]}", by_revision(revision, step) + digest)


def application_items(items: Iterable[Item], partition_key_name: str, prefix: str | None) -> Sequence[Item]:
    """The items that are no control records; `prefix` is None for a table that holds none of those."""
    if isinstance(items, Sequence) and (
        prefix is None or (isinstance(items, RowsOfTexts) and items.surely_lacks(prefix))
    ):
        return items
    if prefix is None:
        return list(items)
    return [item for item in items if not str((item.get(partition_key_name) or _NONE).get("S", "")).startswith(prefix)]


_NONE: AttributeValue = {}


def is_control_key(item: Item, partition_key_name: str, prefix: str) -> bool:
    """Whether an item, or a key, is a control record: its partition key is a string under the reserved prefix."""
    value = item.get(partition_key_name)
    return value is not None and str(value.get("S", "")).startswith(prefix)
