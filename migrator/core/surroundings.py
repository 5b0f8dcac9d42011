"""What surrounds the tables in an account, as a port: quotas, autoscaling, consumers of streams, permissions.

Everything here may be refused to a role that may run migrations: each question raises a MigratorError by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Limits:
    """Capacity units that the account and a single table may be given, provisioned."""

    account_read: int
    account_write: int
    table_read: int
    table_write: int


@dataclass(frozen=True, slots=True)
class Scaled:
    """One dimension of a table or an index that autoscaling moves: `resource` is `table/NAME` or `…/index/NAME`."""

    resource: str
    dimension: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a simulation says of one action on one resource. None: it depends on what was not told."""

    action: str
    resource: str
    is_allowed: bool | None


class Surroundings(Protocol):
    """Reads only."""

    def limits(self) -> Limits: ...

    def most_indexes(self) -> int:
        """Global secondary indexes that a table may have."""
        ...

    def scaled(self, table: str) -> Sequence[Scaled]:
        """What autoscaling moves of a table and its indexes."""
        ...

    def stream_consumers(self, table: str) -> Sequence[str]:
        """Functions that are fed from the table's stream, and Kinesis streams that it is copied to."""
        ...

    def simulate(
        self, principal: str, actions: Sequence[str], resources: Sequence[str], context: Mapping[str, Sequence[str]]
    ) -> Sequence[Verdict]:
        """What IAM's simulator says for a user or a role by its ARN."""
        ...
