"""Application items in memory: guarded writes, transactions with control records, segments, consumed capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from migrator.core.change import (
    Check,
    ChecksLost,
    Delete,
    Guard,
    GuardLost,
    Outcome,
    Put,
    Refused,
    TryAgain,
    Unknown,
    Update,
    Write,
    Written,
)
from migrator.core.costs import index_units, is_indexed, read_units, write_units
from migrator.core.expression import guard_is_too_large
from migrator.core.item import Item, Key, item_size, key_of, same, same_item
from migrator.core.ports import Consumed, Joint, Outcomes, Page, Permit, RecordAction
from migrator.core.schema import Index
from migrator.core.together import refuse_reads, refuse_writes
from migrator.errors import AnswerLost, ServiceError, Throttled
from migrator.testing.capacity import refusal
from migrator.testing.hooks import Answer, Call, Hook, Hooked
from migrator.testing.records import MAX_ACTIONS, MemoryRecords, check_actions
from migrator.testing.rows import Rows, segment_of


@dataclass(frozen=True, slots=True)
class _Effect:
    """What one write comes to: its outcome and the images of the item around it."""

    outcome: Outcome
    before: Item | None
    after: Item | None


class MemoryItems(Hooked):
    """The Items port in memory, over several tables, given with the names of their keys.

    Operations for hooks: `items.get`, `items.scan`, `items.scan_index`, `items.query`, one `items.write` for each write
    of a batch, `items.transact`, `items.get_together` and `items.together`. Around a write a hook may raise Answer,
    AnswerLost (Unknown) or Throttled (TryAgain). `put`, `remove` and `all` are the application's own: unguarded, and
    without hooks. `page_bytes` is the size of a page. `indexes` gives the indexes of a table, for capacity and for
    values that an index key refuses.
    """

    def __init__(
        self,
        keys: Mapping[str, Sequence[str]],
        records: MemoryRecords | None = None,
        *,
        indexes: Callable[[str], Iterable[Index]] = lambda _: (),
        page_bytes: int = 1_048_576,
        on_call: list[Hook] | None = None,
    ):
        self.records = MemoryRecords() if records is None else records
        super().__init__(self.records.lock, on_call)
        self.page_bytes = page_bytes
        self._indexes = indexes
        self._tables = {table: Rows(names) for table, names in keys.items()}

    def as_another(self, records: MemoryRecords | None = None, on_call: list[Hook] | None = None) -> MemoryItems:
        """The same items as another process reaches them: with hooks of its own."""
        other = MemoryItems(
            {},
            self.records.as_another() if records is None else records,
            indexes=self._indexes,
            page_bytes=self.page_bytes,
            on_call=on_call,
        )
        other._tables = self._tables
        return other

    # --- the application's own writes ---------------------------------------------------------------------------------

    def add_table(self, table: str, key_names: Sequence[str]) -> None:
        """Make an empty table, unless it is there."""
        with self.lock:
            self._tables.setdefault(table, Rows(key_names))

    def watch(self, table: str, on_change: Callable[[Item | None, Item | None], None]) -> None:
        """Be told of each change of a table, whoever makes it, under the lock: a stream."""
        with self.lock:
            self._rows(table).on_change = on_change

    def put(self, table: str, *items: Item) -> None:
        with self.lock:
            for item in items:
                self._rows(table).put(item)

    def remove(self, table: str, key: Key) -> Item | None:
        with self.lock:
            return self._rows(table).remove(key)

    def key_names(self, table: str) -> tuple[str, ...]:
        return self._rows(table).key_names

    def all(self, table: str) -> list[Item]:
        """Every item, in the order of a scan."""
        with self.lock:
            return list(self._rows(table).segment())

    # --- the port -----------------------------------------------------------------------------------------------------

    @property
    def most_writes(self) -> int:
        return 100

    def get(self, table: str, key: Key) -> Item | None:
        return self.call("items.get", lambda: self._rows(table).get(key), table=table, key=key)

    def scan(
        self,
        table: str,
        *,
        segment: int = 0,
        total: int = 1,
        start: Key | None = None,
        limit: int | None = None,
    ) -> Page:
        if not 0 <= segment < total <= 1_000_000:
            raise ServiceError("validation", f"segment {segment} of {total}")

        def effect() -> Page:
            rows = self._rows(table)
            if start is not None and segment_of(start[rows.key_names[0]], total) != segment:
                raise ServiceError("validation", "The provided starting key is invalid: use it with its own segment")
            taken: list[Item] = []
            size = 0
            for item in rows.segment(segment, total, start):
                taken.append(item)
                size += item_size(item)
                if size >= self.page_bytes or (limit is not None and len(taken) >= limit):
                    # As the service does: a page that is full names a next one, which may be empty.
                    return Page(taken, key_of(item, rows.key_names), Consumed({table: read_units(size)}))
            return Page(taken, None, Consumed({table: read_units(size)}))

        return self.call("items.scan", effect, table=table, segment=segment, total=total, start=start, limit=limit)

    def scan_index(self, table: str, index: str, names: Sequence[str], *, start: Key | None = None) -> Page:
        def effect() -> Page:
            rows = self._rows(table)
            definition = next((one for one in self._indexes(table) if one.name == index), None)
            if definition is None:
                raise ServiceError("index-not-found", f"{table} has no index {index}")
            taken: list[Item] = []
            size = 0
            for item in rows.segment(0, 1, None if start is None else key_of(start, rows.key_names)):
                if not is_indexed(definition, item):
                    continue
                taken.append({name: item[name] for name in names if name in item})
                size += item_size(item)
                if size >= self.page_bytes:
                    # As the service does: the key to go on from has the index's attributes too.
                    more = key_of(item, (*rows.key_names, *(key.name for key in definition.keys)))
                    return Page(taken, more, Consumed({f"{table}/{index}": read_units(size)}))
            return Page(taken, None, Consumed({f"{table}/{index}": read_units(size)}))

        return self.call("items.scan_index", effect, table=table, index=index, names=names, start=start)

    def query(self, table: str, partition: Key, *, most: int) -> Sequence[Item]:
        def effect() -> list[Item]:
            (value,) = partition.values()
            return list(islice(self._rows(table).collection(value), most + 1))

        return self.call("items.query", effect, table=table, partition=partition, most=most)

    def write(self, table: str, writes: Sequence[Write], permit: Permit) -> Outcomes:
        if any(isinstance(write, Update) and write.change.checks for write in writes):
            raise ValueError("an Update with checks is for transact")
        results = [self._one("items.write", table, write, (), permit) for write in writes]
        return Outcomes([outcome for outcome, _ in results], _added([consumed for _, consumed in results]))

    def transact(self, table: str, write: Write, records: Sequence[RecordAction], permit: Permit) -> Outcomes:
        outcome, consumed = self._one("items.transact", table, write, tuple(records), permit)
        return Outcomes([outcome], consumed)

    def get_together(self, places: Sequence[tuple[str, Key]]) -> Sequence[Item | None]:
        refuse_reads(places)
        return self.call(
            "items.get_together", lambda: [self._rows(table).get(key) for table, key in places], places=places
        )

    def together(
        self,
        writes: Sequence[tuple[str, Write]],
        checks: Sequence[Check],
        records: Sequence[RecordAction],
        permit: Permit,
    ) -> Joint:
        refuse_writes(writes, checks)
        permit.check()
        arguments = {"writes": writes, "checks": checks, "records": records}
        try:
            self.tell(Call("items.together", "before", arguments))
            with self.lock:
                joint = self._joint(writes, checks, tuple(records))
            self.tell(Call("items.together", "after", arguments))
        except Answer as answer:
            return Joint(answer.outcome)
        except AnswerLost as lost:
            return Joint(Unknown(lost.message))
        except Throttled as throttled:
            return Joint(TryAgain("throttled", throttled.message, throttled.reasons))
        return joint

    # --- how ----------------------------------------------------------------------------------------------------------

    def _one(
        self, operation: str, table: str, write: Write, records: tuple[RecordAction, ...], permit: Permit
    ) -> tuple[Outcome, Consumed]:
        permit.check()
        factor = 2.0 if operation == "items.transact" else 1.0
        arguments = {"table": table, "write": write, "records": records}
        consumed = Consumed()
        try:
            self.tell(Call(operation, "before", arguments))
            with self.lock:
                effect = self._transaction(table, write, records)
                consumed = self._consumed(table, effect, factor)
            self.tell(Call(operation, "after", arguments))
        except Answer as answer:
            return answer.outcome, consumed
        except AnswerLost as lost:
            return Unknown(lost.message), Consumed()
        except Throttled as throttled:
            return TryAgain("throttled", throttled.message, throttled.reasons), Consumed()
        return effect.outcome, consumed

    def _transaction(self, table: str, write: Write, records: tuple[RecordAction, ...]) -> _Effect:
        checks = write.change.checks if isinstance(write, Update) else ()
        if records:
            check_actions(records)
        refused = self._refused(table, write, checks, records)
        if refused is not None:
            return _Effect(refused, None, None)
        effect = self._effect(table, write)
        if not isinstance(effect.outcome, Written):
            return effect
        reason = self._lost_check(checks)
        if reason is None:
            failed = self.records.store.first_failed(records)
            reason = None if failed is None else f"control record {failed[0].partition} {failed[0].sort}"
        if reason is not None:
            return _Effect(ChecksLost(reason), effect.before, effect.before)
        self.records.store.apply(records, self.records.entropy)
        self._store(table, write, effect)
        return effect

    def _joint(
        self, writes: Sequence[tuple[str, Write]], checks: Sequence[Check], records: tuple[RecordAction, ...]
    ) -> Joint:
        if records:
            check_actions(records)
        number = len(writes) + len(checks) + len(records)
        if not 1 <= number <= MAX_ACTIONS:
            return Joint(Refused("too-many-actions", f"{number} actions in one transaction"))
        effects = [self._judged(table, write) for table, write in writes]
        lost = [n for n, effect in enumerate(effects) if isinstance(effect.outcome, GuardLost)]
        lost += [len(writes) + n for n, check in enumerate(checks) if self._lost_check([check]) is not None]
        held = (self.records.store.first_failed([record]) is None for record in records)
        lost += [len(writes) + len(checks) + n for n, holds in enumerate(held) if not holds]
        if lost:
            return Joint(ChecksLost(f"of {number} actions, those at {lost}"), tuple(lost))
        for position, effect in enumerate(effects):
            if not isinstance(effect.outcome, Written):
                return Joint(effect.outcome, (position,))
        self.records.store.apply(records, self.records.entropy)
        for (table, write), effect in zip(writes, effects, strict=True):
            self._store(table, write, effect)
        consumed = [self._consumed(table, effect, 2.0) for (table, _), effect in zip(writes, effects, strict=True)]
        return Joint(Written(), (), _added(consumed))

    def _judged(self, table: str, write: Write) -> _Effect:
        refused = self._refused(table, write, (), ())
        return self._effect(table, write) if refused is None else _Effect(refused, None, None)

    def _store(self, table: str, write: Write, effect: _Effect) -> None:
        if effect.after is None:
            self._rows(table).remove(write.key)
        else:
            self._rows(table).put(effect.after)

    def _effect(self, table: str, write: Write) -> _Effect:
        stored = self._rows(table).get(write.key)
        lost = _Effect(GuardLost(stored), stored, stored)
        match write:
            case Put(item=item):
                return lost if stored is not None else _Effect(Written(), None, item)
            case Update(change=change):
                if stored is None or not _as_guarded(stored, change.guard):
                    return lost
                after = change.applied_to(stored)
                refused = refusal(self._indexes(table), after, change.set)
                return _Effect(refused or Written(), stored, stored if refused else after)
            case Delete(guard=guard):
                if stored is None or not _as_guarded(stored, guard):
                    return lost
                return _Effect(Written(before=stored), stored, None)

    def _refused(
        self, table: str, write: Write, checks: tuple[Check, ...], records: tuple[RecordAction, ...]
    ) -> Refused | None:
        names = self._rows(table).key_names
        if set(write.key) != set(names):
            return Refused("validation", f"The provided key element does not match the schema of {table}")
        items = [(check.table, self._rows(check.table).address(check.key)) for check in checks]
        items.append((table, self._rows(table).address(write.key)))
        if len(set(items)) < len(items):
            return Refused("validation", "Transaction request cannot include multiple operations on one item")
        if len(items) + len(records) > MAX_ACTIONS:
            return Refused("validation", f"Member must have length less than or equal to {MAX_ACTIONS}")
        match write:
            case Update(change=change):
                moved = sorted({*change.set, *change.remove} & set(names))
                if moved:
                    return Refused("validation", f"Cannot update attribute {moved[0]}: it is part of the key")
                if guard_is_too_large(change, names):
                    return Refused("validation", "Expression size has exceeded the maximum allowed size")
                if set(change.set) & change.remove:
                    return Refused("validation", "Two document paths overlap with each other")
            case Put(item=item, key=key):
                if not same_item(key_of(item, names), key):
                    return Refused("validation", "the item's key is not the key of the Put")
                return refusal(self._indexes(table), item)
            case Delete():
                pass
        return None

    def _lost_check(self, checks: Iterable[Check]) -> str | None:
        for check in checks:
            stored = self._rows(check.table).get(check.key)
            if (stored is not None) != check.present or (stored is not None and not _as_guarded(stored, check.guard)):
                return f"an item of {check.table} that was looked up"
        return None

    def _consumed(self, table: str, effect: _Effect, factor: float) -> Consumed:
        """Of what was written: a failed condition costs too, but no answer says what (facts §4.1)."""
        if not isinstance(effect.outcome, Written):
            return Consumed()
        units = {table: factor * write_units(effect.before, effect.after)}
        names = self._rows(table).key_names
        for index in self._indexes(table):
            spent = factor * index_units(index, effect.before, effect.after, names)
            if spent:
                units[f"{table}/{index.name}"] = spent
        return Consumed(write=units)

    def _rows(self, table: str) -> Rows:
        try:
            return self._tables[table]
        except KeyError:
            raise ServiceError("table-not-found", f"there is no table {table}") from None


def _as_guarded(item: Item, guard: Guard) -> bool:
    return all(same(item.get(name), value) for name, value in guard.items())


def _added(parts: Sequence[Consumed]) -> Consumed:
    write: dict[str, float] = {}
    for part in parts:
        for resource, units in part.write.items():
            write[resource] = write.get(resource, 0.0) + units
    return Consumed(write=write)
