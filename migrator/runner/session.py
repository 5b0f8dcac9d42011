"""One command's view of the world: configuration, files, ports, and the control records it works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from migrator.config import Settings, read_patterns
from migrator.control.failures import Failures
from migrator.control.history import Entry, History
from migrator.control.holder import Holder
from migrator.control.identity import Identity
from migrator.control.lock import Lock
from migrator.control.phases import Phases
from migrator.core.events import Report
from migrator.core.exports import Export
from migrator.core.graph import Graph
from migrator.core.patterns.pattern import AccessPattern
from migrator.core.plan import Migration, Plan
from migrator.core.ports import Clock, Entropy, Items, LiveTable, Metrics, Queries, Records, Tables
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.core.steps import CreateTable
from migrator.core.streams import Streams
from migrator.core.surroundings import Surroundings
from migrator.engine.crew import Crew
from migrator.engine.orders import Orders
from migrator.engine.pacing.budgets import Capacities
from migrator.engine.work import Stop, Work
from migrator.errors import MigratorError, UsageError
from migrator.runner.results import Where


@dataclass(frozen=True, slots=True)
class Place:
    """Where control records live."""

    table: str
    """Physical."""
    partition_name: str
    sort_name: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Workers:
    """Who works on data steps: so many processes beside the run, or the executors of a Spark master."""

    processes: int = 1
    """1: this one alone."""
    spark: str | None = None
    """Spark's master, "" for the one that the platform sets; None: no Spark."""

    @property
    def are_elsewhere(self) -> bool:
        return self.processes > 1 or self.spark is not None


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside world of one run. Items and control records open once the place of the records is known."""

    tables: Tables
    metrics: Metrics
    items_at: Callable[[Place], Items]
    records_at: Callable[[Place], Records]
    clock: Clock
    entropy: Entropy
    queries: Queries
    close: Callable[[], None] = lambda: None
    crew: Callable[[Work, Place, Capacities, Workers], Crew | None] = lambda *_: None
    """Who works on the data steps of a revision in this process's stead; None where nobody does."""
    streams: Streams | None = None
    surroundings: Surroundings | None = None
    """None where nobody can be asked."""
    read_export: Callable[[Path], Export] | None = None
    """Opens the export in a folder. Raises `bad-export`."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who runs this, for the lock and the history."""

    account: str
    arn: str
    region: str
    endpoint: str
    name: str
    host: str
    run: str
    """The CI run, or ""."""
    tool: str
    """This tool's version."""


@dataclass
class Session:
    """Everything a command reads before it decides. Values are read once and kept; `refresh` forgets what moves."""

    settings: Settings
    graph: Graph
    ports: Ports
    caller: Caller
    report: Report
    stop: Stop = field(default_factory=Stop)
    heartbeat: bool = True
    """Whether a thread renews the lease; without it the lease is renewed while waiting and before writes."""

    orders: Orders | None = None
    """What operators ask of this run, while it holds the lock."""

    # --- names

    @property
    def names(self) -> dict[str, str]:
        return {alias: table.name for alias, table in self.settings.tables.items()}

    @property
    def where(self) -> Where:
        caller = self.caller
        role = self.settings.role_arn or caller.arn
        return Where(self.settings.env, caller.account, caller.region, caller.endpoint, role, self.names)

    @cached_property
    def patterns(self) -> tuple[AccessPattern, ...]:
        """What the application asks. Raises `bad-patterns`."""
        return () if self.settings.access_patterns is None else read_patterns(self.settings.access_patterns)

    # --- tables

    @cached_property
    def live(self) -> dict[str, LiveTable]:
        """The configured tables that exist, by alias."""
        found = {alias: self.ports.tables.describe(name) for alias, name in self.names.items()}
        return {alias: live for alias, live in found.items() if live is not None}

    def refresh(self) -> None:
        """Forget what was read of tables and history: after the lock was taken they are read anew."""
        for name in ("live", "entries"):
            self.__dict__.pop(name, None)

    def base_schema(self, *, with_indexes: bool = True) -> Schema:
        """The live tables as a schema to fold migrations on, with or without the indexes they have."""
        tables = {}
        for alias, live in self.live.items():
            indexes = {name: index.definition for name, index in live.indexes.items()} if with_indexes else {}
            tables[alias] = replace(live.shape, alias=alias, indexes=indexes)
        return Schema(tables, self.settings.default_table)

    # --- control records

    @cached_property
    def place(self) -> Place:
        """Where control records live. Raises `control-table-needed` where the default place will not do."""
        control = self.settings.control
        if control.name is not None:
            live = self.ports.tables.describe(control.name)
            if live is None:
                return Place(control.name, "PK", "SK", control.key_prefix)
            return self._place_in(live.shape, control.name, live)
        alias = control.table or self.settings.default_table
        if alias not in self.settings.tables:
            raise UsageError(
                "no-control-table",
                f"no table to keep the history in: [control] table = {alias!r} is none of [tables]",
                hint="set default_table, or [control] table or name, in migrator.toml",
            )
        live_table = self.live.get(alias)
        shape = live_table.shape if live_table is not None else self._declared(alias)
        return self._place_in(shape, self.names[alias], live_table)

    def _declared(self, alias: str) -> Table:
        """The shape that a CreateTable in the files gives a table that does not exist yet."""
        for migration in self.graph.order():
            for step in first_steps(migration, Schema({}, self.settings.default_table)):
                if isinstance(step, CreateTable) and (step.table or self.settings.default_table) == alias:
                    return step.shape
        raise MigratorError(
            "table-missing",
            f"table {self.names[alias]} ({alias}) does not exist, and no migration creates it",
            hint="check env, region and account; or begin with a CreateTable, or `migrator init --from-table NAME`",
        )

    def _place_in(self, shape: Table, table: str, live: LiveTable | None) -> Place:
        why = None
        stream = live.stream if live is not None else None
        if shape.sort_key is None:
            why = "has a partition key only"
        elif shape.partition_key.type != "S" or shape.sort_key.type != "S":
            why = "has a number or binary key"
        elif live is not None and live.has_strong_replicas:
            why = "is a global table with strong consistency, which has no transactions"
        elif stream is not None and not self.settings.control.allow_stream:
            why = f"has a stream ({stream}): its consumers would meet control records"
        if why is not None:
            raise MigratorError(
                "control-table-needed",
                f"table {table} cannot hold the history and the lock: it {why}",
                hint=f'give them a table of their own, which is then made: [control] name = "{table}-migrator"'
                + ("; or allow_stream = true" if why.startswith("has a stream") else ""),
                exit_code=2,
            )
        (partition, sort) = shape.key_names
        return Place(table, partition, sort, self.settings.control.key_prefix)

    def control_shape(self) -> Table:
        """The shape of a control table of its own."""
        return Table("control", KeyAttribute("PK"), KeyAttribute("SK"))

    @property
    def has_own_control_table(self) -> bool:
        return self.settings.control.name is not None

    @property
    def control_table_exists(self) -> bool:
        return self.ports.tables.describe(self.place.table) is not None

    @property
    def control_prefixes(self) -> dict[str, str]:
        return {self.place.table: self.place.prefix}

    @cached_property
    def items(self) -> Items:
        return self.ports.items_at(self.place)

    @cached_property
    def records(self) -> Records:
        return self.ports.records_at(self.place)

    @cached_property
    def history(self) -> History:
        return History(self.records)

    @cached_property
    def failures(self) -> Failures:
        return Failures(self.records, self.ports.clock)

    @cached_property
    def phases(self) -> Phases:
        return Phases(self.records)

    @cached_property
    def identity(self) -> Identity:
        return Identity(self.records)

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """The history, by revision; empty where its table does not exist yet."""
        return self.history.entries() if self.control_table_exists else {}

    @property
    def applied(self) -> frozenset[str]:
        """Revisions whose effects stand: applied, or at their gate."""
        return frozenset(revision for revision, entry in self.entries.items() if entry.stands)

    @property
    def gated(self) -> tuple[str, ...]:
        return tuple(sorted(revision for revision, entry in self.entries.items() if entry.status == "at-gate"))

    @property
    def unfinished(self) -> frozenset[str]:
        """Revisions that began and came to no end."""
        return frozenset(revision for revision, entry in self.entries.items() if entry.is_unfinished)

    @cached_property
    def lock(self) -> Lock:
        caller = self.caller
        holder = Holder(self.ports.entropy.nonce(), caller.name, caller.host, caller.run)
        return Lock(self.records, self.ports.clock, self.ports.entropy, holder, self.settings.limits.lease, self.report)

    def missing_files(self) -> tuple[str, ...]:
        """Revisions that the history has and no file does."""
        return tuple(sorted(revision for revision in self.entries if revision not in self.graph))


def fold(schema: Schema, migration: Migration) -> Schema:
    """The schema after a migration."""
    for plan in plans(schema, migration):
        schema = plan.after
    return schema


def plans(schema: Schema, migration: Migration) -> tuple[Plan, ...]:
    """The plan of each operation of a migration, each on the schema that the ones before it leave."""
    found = []
    for operation in migration.operations:
        plan = operation.plan(schema)
        found.append(plan)
        schema = plan.after
    return tuple(found)


def first_steps(migration: Migration, schema: Schema) -> tuple[object, ...]:
    """The steps of a migration that can be planned without any table: its CreateTables."""
    steps: list[object] = []
    for operation in migration.operations:
        try:
            plan = operation.plan(schema)
        except UsageError:
            continue
        steps += [step for step in plan.apply if isinstance(step, CreateTable)]
        schema = plan.after
    return tuple(steps)
