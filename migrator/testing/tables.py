"""Tables in memory, whose indexes live on the clock as the service's do (facts §1.2, §1.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from threading import RLock

from migrator.core.ports import Busy, Clock, LiveIndex, LiveTable
from migrator.core.schema import NO_MAXIMUM, Index, Table
from migrator.core.settings import BillingMode, Setting, Stream
from migrator.errors import ServiceError
from migrator.testing.hooks import Hook, Hooked
from migrator.testing.settings import never_set, with_setting

MAX_INDEXES = 20


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds that changes take; the defaults are the service's own on a small table."""

    create_table: float = 20
    allocation: float = 30
    backfill: float = 510
    delete_index: float = 5
    update_index: float = 3
    billing_mode: float = 60


@dataclass(slots=True)
class _Motion:
    """A change in flight, done at `done`; an index build backfills from `backfills` on. Monotonic seconds."""

    kind: str
    done: float
    backfills: float = 0.0


@dataclass(slots=True)
class _Stored:
    live: LiveTable
    motion: _Motion | None = None
    indexes: dict[str, _Motion] = field(default_factory=dict)
    settings: dict[type[Setting], Setting] = field(default_factory=dict)


class MemoryTables(Hooked):
    """The Tables port in memory. Operations for hooks: `tables.describe`, `tables.create`, `tables.create_index`, …

    `on_create` is told name and key names of each new table, so that items can be put there.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        durations: Durations | None = None,
        on_create: Callable[[str, Sequence[str]], None] = lambda _name, _keys: None,
        lock: RLock | None = None,
        on_call: list[Hook] | None = None,
    ):
        super().__init__(RLock() if lock is None else lock, on_call)
        self.durations = Durations() if durations is None else durations
        self._clock = clock
        self._on_create = on_create
        self._tables: dict[str, _Stored] = {}
        self._made = count(1)

    def as_another(self, on_call: list[Hook] | None = None) -> MemoryTables:
        """The same tables as another process reaches them: with hooks of its own. The clock is the service's."""
        other = MemoryTables(
            self._clock, durations=self.durations, on_create=self._on_create, lock=self.lock, on_call=on_call
        )
        other._tables, other._made = self._tables, self._made
        return other

    # --- for tests ----------------------------------------------------------------------------------------------------

    def add(self, name: str, shape: Table, *settings: Setting) -> LiveTable:
        """A table that has been there all along, ACTIVE with its indexes."""
        with self.lock:
            live = LiveTable(
                name=name,
                arn=f"arn:aws:dynamodb:eu-west-1:000000000000:table/{name}",
                table_id=f"00000000-0000-4000-8000-{next(self._made):012d}",
                status="ACTIVE",
                shape=replace(shape, alias=name),
                indexes={index.name: LiveIndex(index, "ACTIVE") for index in shape.indexes.values()},
            )
            stored = self._tables[name] = _Stored(live)
            self._on_create(name, shape.key_names)
            for setting in settings:
                self._set(stored, setting)
            return stored.live

    def alter(self, name: str, **changes: object) -> None:
        """Replace fields of the LiveTable: counts, `replicas`, `table_id` of a restored one, …"""
        with self.lock:
            stored = self._tables[name]
            stored.live = replace(stored.live, **changes)  # type: ignore[arg-type]

    def drop(self, name: str) -> None:
        with self.lock:
            del self._tables[name]

    def indexes_of(self, name: str) -> list[Index]:
        """The indexes that take writes: building or ready."""
        with self.lock:
            stored = self._tables.get(name)
            if stored is None:
                return []
            self._settle(stored)
            return [index.definition for index in stored.live.indexes.values() if index.status != "DELETING"]

    # --- the port -----------------------------------------------------------------------------------------------------

    def describe(self, name: str) -> LiveTable | None:
        def effect() -> LiveTable | None:
            stored = self._tables.get(name)
            if stored is None:
                return None
            self._settle(stored)
            return stored.live

        return self.call("tables.describe", effect, name=name)

    def create(self, name: str, table: Table, settings: Sequence[Setting] = ()) -> None:
        def effect() -> None:
            if name in self._tables:
                stored = self._tables[name]
                self._settle(stored)
                if stored.live.status == "CREATING":
                    raise Busy(f"table {name} is being created")
                raise ServiceError("table-exists", f"there is a table {name} already")
            self.add(name, table, *settings)
            stored = self._tables[name]
            stored.motion = _Motion("CREATING", self._clock.monotonic() + self.durations.create_table)
            stored.live = replace(
                stored.live,
                status="CREATING",
                indexes={key: replace(index, status="CREATING") for key, index in stored.live.indexes.items()},
            )

        self.call("tables.create", effect, name=name, table=table, settings=settings)

    def create_index(self, name: str, index: Index) -> None:
        def effect() -> None:
            stored = self._ready(name)
            live = stored.live.indexes.get(index.name)
            if live is not None and live.status == "ACTIVE":
                raise ServiceError("validation", f"index {index.name} of {name} exists already")
            self._no_other_index(stored)
            if len(stored.live.indexes) >= MAX_INDEXES:
                raise ServiceError("limit-exceeded", f"{name} has {MAX_INDEXES} indexes, the limit")
            known = stored.live.shape.index_key_types()
            for key in index.keys:
                for other, (kind, _) in known.get(key.name, {}).items():
                    if kind != key.type:
                        raise ServiceError("validation", f"attribute {key.name} is {kind} in index {other}")
            now = self._clock.monotonic()
            backfills = now + self.durations.allocation
            stored.indexes[index.name] = _Motion("CREATING", backfills + self.durations.backfill, backfills)
            self._show_index(stored, LiveIndex(index, "CREATING", backfilling=False))

        self.call("tables.create_index", effect, name=name, index=index)

    def delete_index(self, name: str, index: str) -> None:
        def effect() -> None:
            stored = self._ready(name, while_index_changes=True)
            live = self._index(stored, index)
            motion = stored.indexes.get(index)
            if live.status == "CREATING" and not live.backfilling:
                raise Busy(f"index {index} of {name} is in its allocation phase, which cannot be cancelled")
            if live.status == "DELETING" or (motion is not None and motion.kind == "UPDATING"):
                raise Busy(f"index {index} of {name} is {live.status}")
            self._no_other_index(stored, besides=index)
            stored.indexes[index] = _Motion("DELETING", self._clock.monotonic() + self.durations.delete_index)
            self._show_index(stored, replace(live, status="DELETING", backfilling=None))

        self.call("tables.delete_index", effect, name=name, index=index)

    def update_index(self, name: str, index: Index) -> None:
        def effect() -> None:
            stored = self._ready(name, while_index_changes=True)
            live = self._index(stored, index.name)
            if live.status in ("DELETING", "UPDATING") or live.backfilling is False:
                raise Busy(f"index {index.name} of {name} is {live.status}")
            definition = live.definition
            maximum = index.on_demand_maximum or definition.on_demand_maximum
            changed = replace(
                definition,
                provisioned=index.provisioned or definition.provisioned,
                on_demand_maximum=None if maximum == NO_MAXIMUM else maximum,
                warm=index.warm or definition.warm,
            )
            if changed == definition:
                raise ServiceError("validation", f"the throughput of index {index.name} will not change")
            if live.status == "ACTIVE":
                stored.indexes[index.name] = _Motion("UPDATING", self._clock.monotonic() + self.durations.update_index)
                live = replace(live, status="UPDATING")
            self._show_index(stored, replace(live, definition=changed))

        self.call("tables.update_index", effect, name=name, index=index)

    def setting(self, name: str, kind: type[Setting]) -> Setting:
        def effect() -> Setting:
            stored = self._known(name)
            self._settle(stored)
            return stored.settings.get(kind) or never_set(kind, stored.live)

        return self.call("tables.setting", effect, name=name, kind=kind)

    def change_setting(self, name: str, setting: Setting) -> None:
        def effect() -> None:
            stored = self._ready(name, while_index_changes=True)
            moving = next((key for key, motion in stored.indexes.items() if motion.kind != "UPDATING"), None)
            if moving is not None and isinstance(setting, Stream | BillingMode):
                raise Busy(f"index {moving} of {name} is being created or deleted")
            if isinstance(setting, BillingMode):
                stored.motion = _Motion("UPDATING", self._clock.monotonic() + self.durations.billing_mode)
                stored.live = replace(stored.live, status="UPDATING")
            self._set(stored, setting)

        self.call("tables.change_setting", effect, name=name, setting=setting)

    # --- how ----------------------------------------------------------------------------------------------------------

    def _known(self, name: str) -> _Stored:
        stored = self._tables.get(name)
        if stored is None:
            raise ServiceError("table-not-found", f"there is no table {name}")
        return stored

    def _ready(self, name: str, while_index_changes: bool = False) -> _Stored:
        stored = self._known(name)
        self._settle(stored)
        if stored.motion is not None:
            raise Busy(f"table {name} is {stored.live.status}")
        if not while_index_changes and any(motion.kind == "UPDATING" for motion in stored.indexes.values()):
            raise Busy(f"an index of {name} is being updated")
        return stored

    def _index(self, stored: _Stored, index: str) -> LiveIndex:
        live = stored.live.indexes.get(index)
        if live is None:
            raise ServiceError("index-not-found", f"{stored.live.name} has no index {index}")
        return live

    def _no_other_index(self, stored: _Stored, besides: str = "") -> None:
        for index, motion in stored.indexes.items():
            if index != besides and motion.kind in ("CREATING", "DELETING"):
                raise Busy(
                    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
                )

    def _show_index(self, stored: _Stored, index: LiveIndex | None, gone: str = "") -> None:
        indexes = {key: live for key, live in stored.live.indexes.items() if key != gone}
        if index is not None:
            indexes[index.definition.name] = index
        shape = replace(stored.live.shape, indexes={key: live.definition for key, live in indexes.items()})
        stored.live = replace(stored.live, indexes=indexes, shape=shape, status=self._status(stored))

    def _status(self, stored: _Stored) -> str:
        if stored.motion is not None:
            return stored.motion.kind
        now = self._clock.monotonic()
        for motion in stored.indexes.values():
            if motion.kind == "DELETING" or (motion.kind == "CREATING" and now < motion.backfills):
                return "UPDATING"
        return "ACTIVE"

    def _settle(self, stored: _Stored) -> None:
        """Bring the table to what time has made of it."""
        now = self._clock.monotonic()
        if stored.motion is not None and now >= stored.motion.done:
            if stored.motion.kind == "CREATING":
                indexes = {key: replace(index, status="ACTIVE") for key, index in stored.live.indexes.items()}
                stored.live = replace(stored.live, indexes=indexes)
            stored.motion = None
        for name, motion in list(stored.indexes.items()):
            live = stored.live.indexes[name]
            if now >= motion.done:
                del stored.indexes[name]
                if motion.kind == "DELETING":
                    self._show_index(stored, None, gone=name)
                else:
                    self._show_index(stored, replace(live, status="ACTIVE", backfilling=None))
            elif motion.kind == "CREATING" and now >= motion.backfills:
                self._show_index(stored, replace(live, backfilling=True))
        stored.live = replace(stored.live, status=self._status(stored))

    def _set(self, stored: _Stored, setting: Setting) -> None:
        stored.settings[type(setting)] = setting
        stored.live = with_setting(stored.live, setting)
