"""What rules look at: every operation in order, each with its plan on the schema before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from migrator.core.item import Item
from migrator.core.patterns.pattern import AccessPattern
from migrator.core.plan import Migration, Operation, Plan
from migrator.core.schema import Schema, Table
from migrator.core.settings import Setting
from migrator.core.steps import CreateIndex, DeleteIndex, Step, UpdateIndex
from migrator.errors import UsageError


@dataclass(frozen=True, slots=True)
class PlacedOperation:
    """An operation where it stands: in its file, and on the schema that the ones before it leave."""

    migration: Migration
    position: int
    """In the file's `operations`, from 0."""
    operation: Operation
    before: Schema
    plan: Plan | None
    """None where it cannot be planned on what is known, such as a table that is not there."""

    @property
    def alias(self) -> str:
        """The table that it names."""
        return self.before.alias(str(getattr(self.operation, "table", "")))

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.apply if self.plan is not None else ()

    @property
    def table(self) -> Table | None:
        return self.before.tables.get(self.alias)

    @property
    def after(self) -> Table | None:
        return self.plan.after.tables.get(self.alias) if self.plan is not None else None


@dataclass(frozen=True, slots=True)
class Sample:
    """Some items of a live table, without control records, and how large its items are on average."""

    items: tuple[Item, ...]
    average_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Release:
    """Every operation in order, and which of them are judged."""

    operations: tuple[PlacedOperation, ...]
    judged: frozenset[str]
    """Revisions."""
    is_one: bool = False
    """Whether what is judged is applied together; else each file is taken for a release of its own."""
    managers: Mapping[str, str] = field(default_factory=dict)
    """Alias -> who else owns the table's indexes."""
    reserved: str = "__migrator__"
    """What the partition keys of control records begin with."""
    control: str = ""
    """The alias of the table that control records share with items; "" where they have a table of their own."""
    settings: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    """Alias -> what is set on the live table; empty where no table is asked."""
    samples: Mapping[str, Sample] = field(default_factory=dict)
    """Alias -> some of its items; empty where no table is asked."""
    patterns: Mapping[str, tuple[AccessPattern, ...]] = field(default_factory=dict)
    """Revision -> the access patterns that are still asked after it."""

    def todo(self) -> Iterator[PlacedOperation]:
        """The operations that are judged."""
        return (one for one in self.operations if one.migration.revision in self.judged)

    def index_changes(self) -> Iterator[tuple[PlacedOperation, CreateIndex | DeleteIndex | UpdateIndex]]:
        """The index changes of the operations that are judged."""
        for one in self.todo():
            for step in one.steps:
                if isinstance(step, CreateIndex | DeleteIndex | UpdateIndex):
                    yield one, step


def fold(migrations: Iterable[Migration], schema: Schema) -> tuple[PlacedOperation, ...]:
    """The operations of the migrations, in order, each on the schema before it.

    What cannot be planned is passed over: the operation's own findings say why.
    """
    found = []
    for migration in migrations:
        for position, operation in enumerate(migration.operations):
            plan = _plan(operation, schema)
            found.append(PlacedOperation(migration, position, operation, schema, plan))
            schema = plan.after if plan is not None else schema
    return tuple(found)


def _plan(operation: Operation, schema: Schema) -> Plan | None:
    try:
        return operation.plan(schema)
    except UsageError:
        return None
