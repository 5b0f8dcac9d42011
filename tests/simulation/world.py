"""One environment in memory: files, tables, items and control records, and any number of runs on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from migrator.config import ControlConfig, Limits, Settings, TableConfig
from migrator.control.history import Entry
from migrator.core.change import Write
from migrator.core.events import Event
from migrator.core.graph import Graph
from migrator.core.item import Item, fingerprint, from_python, key_of, same_item, to_python
from migrator.core.plan import Migration, Operation
from migrator.core.ports import PutRecord, Record
from migrator.core.schema import Index, KeyAttribute, Table
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.runner.runner import Runner
from migrator.runner.session import Caller, Ports, Session
from migrator.testing.memory import Call, Durations, Hook, World

TABLE = "test-app"
KEY = ("PK", "SK")
SETTINGS: tuple[type[Setting], ...] = (TimeToLive, Stream, PointInTimeRecovery, DeletionProtection, BillingMode)


def migration(
    revision: str, *operations: Operation, after: Sequence[str] = (), message: str = "", content: str = "1"
) -> Migration:
    """A migration file as loaded; `content` stands for the file's text: another one is an edited file."""
    return Migration(
        revision,
        tuple(after),
        operations,
        message or f"revision {revision}",
        f"migrations/{revision}.py",
        f"checksum-{revision}-{content}",
        f"content-{revision}-{content}",
    )


def chain(*migrations: Migration) -> tuple[Migration, ...]:
    """The migrations, each building on the one before it."""
    found: list[Migration] = []
    for one in migrations:
        found.append(replace(one, down_revisions=(found[-1].revision,) if found else ()))
    return tuple(found)


def wire(item: Mapping[str, Any]) -> Item:
    return {name: from_python(value) for name, value in item.items()}


def plain(item: Item) -> dict[str, Any]:
    return {name: to_python(value) for name, value in item.items()}


def person(number: int, **more: Any) -> dict[str, Any]:
    """An item as an application writes it, in Python values."""
    return {"PK": f"P#{number}", "SK": "person", "name": f"n{number}", "team": f"t{number % 3}", **more}


SHAPE = Table("app", KeyAttribute("PK"), KeyAttribute("SK"))


@dataclass
class Site:
    """The environment. Each `runner` is a process of its own; they share everything but their hooks."""

    migrations: tuple[Migration, ...]
    world: World = field(default_factory=lambda: quick_world())
    limits: Limits = field(
        default_factory=lambda: Limits(workers=1, segments=2, lease=60.0, poll_interval=10.0, settle_time=900.0)
    )
    tables: Mapping[str, str] = field(default_factory=lambda: {"app": TABLE})
    control: ControlConfig = field(default_factory=ControlConfig)
    protected: bool = False
    events: list[Event] = field(default_factory=list)
    runs: int = 0

    def with_table(
        self, *items: Mapping[str, Any], indexes: Iterable[Index] = (), settings: Sequence[Setting] = ()
    ) -> Site:
        """The table with these items, as it stood before anybody migrated it."""
        shape = replace(SHAPE, indexes={index.name: index for index in indexes})
        self.world.tables.add(TABLE, shape, *settings)
        self.put(*items)
        return self

    # --- runs

    def runner(self, *hooks: Hook, name: str = "", migrations: Sequence[Migration] | None = None) -> Runner:
        """Another process: its own nonce, and hooks that see only its calls."""
        self.runs += 1
        process = self.world.as_another()
        process.on_call.extend(hooks)
        settings = Settings(
            env="test",
            project_root=Path("/project"),
            script_location=Path("/project/migrations"),
            file_template="{rev}_{slug}",
            default_table="app",
            tables={alias: TableConfig(table) for alias, table in self.tables.items()},
            control=self.control,
            protected=self.protected,
            limits=self.limits,
        )
        ports = Ports(
            process.tables,
            process.metrics,
            lambda _place: process.items,
            lambda _place: process.records,
            process.clock,
            process.entropy,
            process.queries,
        )
        caller = Caller("000000000000", "arn:test", "eu-west-1", "", name or f"run-{self.runs}", "host", "", "0")
        graph = Graph(self.migrations if migrations is None else migrations)
        return Runner(Session(settings, graph, ports, caller, self.events.append, heartbeat=False))

    # --- the application

    def put(self, *items: Mapping[str, Any]) -> None:
        self.world.items.put(TABLE, *(wire(item) for item in items))

    def get(self, number: int) -> dict[str, Any] | None:
        found = self.world.items.as_another().get(TABLE, wire({"PK": f"P#{number}", "SK": "person"}))
        return None if found is None else plain(found)

    def update(self, number: int, **changes: Any) -> None:
        """Set attributes of an item that is there; None removes one."""
        current = self.get(number)
        assert current is not None
        self.put({name: value for name, value in {**current, **changes}.items() if value is not None})

    def remove(self, number: int) -> None:
        self.world.items.remove(TABLE, wire({"PK": f"P#{number}", "SK": "person"}))

    @property
    def items(self) -> list[dict[str, Any]]:
        return sorted((plain(item) for item in self.world.items.all(TABLE)), key=lambda item: (item["PK"], item["SK"]))

    # --- what stands

    @property
    def records(self) -> list[Record]:
        return self.world.records.all()

    @property
    def history(self) -> dict[str, Entry]:
        return {one.revision: one for one in (Entry.of(record) for record in self.kept("history"))}

    def kept(self, partition: str) -> list[Record]:
        """Control records whose partition begins so: `checkpoints`, `failures`, `journal`, `history`."""
        return [record for record in self.records if record.address.partition.startswith(partition)]

    @property
    def indexes(self) -> dict[str, str]:
        live = self.world.tables.as_another().describe(TABLE)
        return {} if live is None else {name: index.status for name, index in live.indexes.items()}

    def setting(self, kind: type[Setting]) -> Setting:
        return self.world.tables.as_another().setting(TABLE, kind)

    def standing(self) -> dict[str, Any]:
        """All that a command brings about, without times, tokens, names and counts."""
        live = self.world.tables.as_another().describe(TABLE)
        return {
            "items": self.items,
            "other items": {
                name: sorted((plain(item) for item in self.world.items.all(name)), key=repr)
                for name in self.tables.values()
                if name != TABLE
            },
            "indexes": None if live is None else {n: (i.definition, i.status) for n, i in live.indexes.items()},
            "settings": None if live is None else [self.setting(kind) for kind in SETTINGS],
            "history": {
                revision: (
                    entry.status,
                    entry.way,
                    # Whether a table made before the lock was ours cannot be told after a crash; nothing rests on it.
                    sorted(
                        (name, known["fate"]) for name, known in entry.objects.items() if not name.startswith("table:")
                    ),
                    sorted(entry.steps),
                    entry.error,
                    entry.checksum,
                )
                for revision, entry in self.history.items()
            },
            "records": sorted(
                (record.address.partition, record.address.sort)
                for record in self.records
                if record.address.partition not in ("lock", "beat")
            ),
            "journal": [record.items for record in self.kept("journal")],
        }


def quick_world(page_bytes: int = 400, seed: int = 0, **durations: float) -> World:
    """A world whose index builds take a minute and whose pages hold a few items."""
    chosen: dict[str, float] = {"create_table": 20, "allocation": 15, "backfill": 30, **durations}
    return World(durations=Durations(**chosen), page_bytes=page_bytes, seed=seed)


@dataclass
class Effects:
    """A hook for every run of a site: what was really done, by whoever did it. It must come before hooks that raise."""

    site: Site
    changed: Counter[str] = field(default_factory=Counter)
    """Item key -> how often a run changed it."""
    accepted: Counter[str] = field(default_factory=Counter)
    """Control-plane operation and object -> how often the service took it."""
    applied: Counter[str] = field(default_factory=Counter)
    """Revision -> how often its record turned to `applied`."""
    moments: int = 0
    _before: dict[int, Item | None] = field(default_factory=dict)
    _status: dict[str, str] = field(default_factory=dict)

    def __call__(self, call: Call) -> None:
        self.moments += 1
        match call.operation:
            case "items.write" | "items.transact":
                self._item(call, call.arguments["table"], call.arguments["write"])
            case "items.together":
                for table, write in call.arguments["writes"]:
                    self._item(call, table, write)
            case "tables.create_index" | "tables.update_index" if call.moment == "after":
                self.accepted[f"{call.operation} {call.arguments['index'].name}"] += 1
            case "tables.delete_index" if call.moment == "after":
                self.accepted[f"{call.operation} {call.arguments['index']}"] += 1
            case "tables.create" if call.moment == "after":
                self.accepted[f"{call.operation} {call.arguments['name']}"] += 1
            case "records.write" if call.moment == "after":
                self._records(call.arguments["actions"])

    def _item(self, call: Call, table: str, write: Write) -> None:
        now = self.site.world.items.as_another().get(table, write.key)
        if call.moment == "before":
            self._before[id(write)] = now
        elif not same_item(self._before.pop(id(write)), now):
            place = "" if table == TABLE else table
            self.changed[place + fingerprint(key_of(write.key, tuple(write.key)))] += 1

    def _records(self, actions: Sequence[Any]) -> None:
        for action in actions:
            if isinstance(action, PutRecord) and action.record.address.partition == "history":
                revision, status = action.record.address.sort, action.record.body["status"]
                if status == "applied" and self._status.get(revision) != "applied":
                    self.applied[revision] += 1
                self._status[revision] = status

    @property
    def most_changed(self) -> int:
        return max(self.changed.values(), default=0)


Command = Callable[[Runner], Any]
