"""What a revision does: the Operation protocol, its Plan, and the migration that holds operations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, get_args, runtime_checkable

from migrator.core.findings import Finding
from migrator.core.places import Allowance, Place
from migrator.core.schema import Schema
from migrator.core.steps import Step

StageName: TypeAlias = Literal["ready", "cutover", "complete"]
STAGES: tuple[StageName, ...] = get_args(StageName)
"""In order: `upgrade --app-ready`, `cutover`, `contract`."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps behind a gate: a command runs them, once an operator answers its question with yes."""

    name: StageName
    gate: str
    """The question."""
    steps: tuple[Step, ...]
    irreversible: str | None = None
    """Why there is no way back once it has begun."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one operation.

    `apply` runs on upgrade; each of `stages` waits behind its gate. `irreversible` says why there is no way back;
    `destructive` asks for `--yes`.
    """

    after: Schema
    apply: tuple[Step, ...]
    rollback: tuple[Step, ...] = ()
    stages: tuple[Stage, ...] = ()
    irreversible: str | None = None
    destructive: bool = False
    notes: tuple[str, ...] = ()

    def stage(self, name: StageName) -> Stage | None:
        return next((stage for stage in self.stages if stage.name == name), None)

    def on(self, way: str) -> tuple[Step, ...]:
        """The steps of one way: apply, rollback, or a stage's."""
        if way == "apply":
            return self.apply
        if way == "rollback":
            return self.rollback
        return tuple(step for stage in self.stages if stage.name == way for step in stage.steps)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every step of the way up, those behind gates included."""
        return (*self.apply, *(step for stage in self.stages for step in stage.steps))


@runtime_checkable
class Operation(Protocol):
    """A frozen value. It has no client and does no I/O."""

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        """Findings for this operation on a schema; an error stops the upgrade before the first write."""
        ...

    def plan(self, schema: Schema) -> Plan: ...


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration file."""

    revision: str
    down_revisions: tuple[str, ...]
    operations: tuple[Operation, ...]
    message: str
    path: str
    checksum: str
    """Of the file: revision, parents, operations, functions; unmoved by formatting, comments, docstrings, CRLF, BOM."""
    content_hash: str
    """Of the checksum and of every first-party module the file imports."""
    modules: tuple[str, ...] = ()
    """First-party modules that the file imports, with their digests: `name sha256`."""
    places: tuple[Place, ...] = field(default=(), compare=False)
    """Of each operation, its lines; empty where the migration comes from no file."""
    allowances: tuple[Allowance, ...] = field(default=(), compare=False)
    """What the file's comments allow."""
