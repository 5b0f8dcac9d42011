"""Table settings as values: TTL, stream, point-in-time recovery, deletion protection, billing mode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from migrator.core.schema import Throughput


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """Expire items by this attribute (epoch seconds); None is off."""

    name: ClassVar[str] = "time-to-live"
    attribute: str | None

    def __str__(self) -> str:
        return f"TTL on {self.attribute}" if self.attribute else "TTL off"


View: TypeAlias = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]


@dataclass(frozen=True, slots=True)
class Stream:
    """DynamoDB Stream with this view type; None is off."""

    name: ClassVar[str] = "stream"
    view: View | None

    def __str__(self) -> str:
        return f"stream of {self.view}" if self.view else "stream off"


@dataclass(frozen=True, slots=True)
class PointInTimeRecovery:
    name: ClassVar[str] = "point-in-time-recovery"
    enabled: bool

    def __str__(self) -> str:
        return f"point-in-time recovery {'on' if self.enabled else 'off'}"


@dataclass(frozen=True, slots=True)
class DeletionProtection:
    name: ClassVar[str] = "deletion-protection"
    enabled: bool

    def __str__(self) -> str:
        return f"deletion protection {'on' if self.enabled else 'off'}"


@dataclass(frozen=True, slots=True)
class BillingMode:
    """On demand, or provisioned with units for the table and for every one of its indexes (facts §1.8)."""

    name: ClassVar[str] = "billing-mode"
    mode: Literal["PAY_PER_REQUEST", "PROVISIONED"]
    table: Throughput | None = None
    indexes: tuple[tuple[str, Throughput], ...] = field(default=())

    def __str__(self) -> str:
        return "on-demand capacity" if self.mode == "PAY_PER_REQUEST" else f"provisioned {self.table}"


Setting: TypeAlias = TimeToLive | Stream | PointInTimeRecovery | DeletionProtection | BillingMode
SETTINGS: tuple[type[Setting], ...] = (
    TimeToLive,
    Stream,
    PointInTimeRecovery,
    DeletionProtection,
    BillingMode,
)
