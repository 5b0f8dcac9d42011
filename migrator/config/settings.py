"""The configuration of one environment, with every variable filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from migrator.config.limits import Limits
from migrator.core.rules.policy import Policy

ManagedBy: TypeAlias = Literal["terraform", "cloudformation", "migrator"]
MANAGERS: tuple[ManagedBy, ...] = ("migrator", "terraform", "cloudformation")


@dataclass(frozen=True, slots=True)
class TableConfig:
    """A table: its physical name, and who else owns its indexes.

    `writer_region`: of a global table, the one Region that applications write in; None where it is not said.
    """

    name: str
    managed_by: ManagedBy = "migrator"
    writer_region: str | None = None


@dataclass(frozen=True, slots=True)
class ControlConfig:
    """Where control records live: in the table of an alias, in a table by physical name, or (both None) by default."""

    table: str | None = None
    name: str | None = None
    key_prefix: str = "__migrator__"
    allow_stream: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """What one environment says. Nothing here was read from the process's environment."""

    env: str
    project_root: Path
    """The folder of the configuration file: what lies under it is first-party code."""
    script_location: Path
    """Absolute."""
    file_template: str
    default_table: str
    """An alias, or "" where there is none."""
    tables: Mapping[str, TableConfig]
    control: ControlConfig
    endpoint_url: str | None = None
    region: str | None = None
    role_arn: str | None = None
    profile: str | None = None
    expected_account: str | None = None
    protected: bool = False
    transport: str = "boto3"
    limits: Limits = field(default_factory=Limits)
    lint: Policy = field(default_factory=Policy)
    prices: Path | None = None
    """Absolute; None: the package's own price file."""
    redact_keys: bool = False
    access_patterns: Path | None = None
    """The file of access patterns; None where the project has none."""
