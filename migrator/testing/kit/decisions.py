"""What a data step does to one item, in Python values: no engine, no table, no sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never

from migrator.core.item import AttributeValue, Item, Key, from_python, key_of, key_text, same_item, to_python
from migrator.core.plan import Operation
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.core.steps import TransformItems
from migrator.core.transform import Decided, Decider, Failed, NotSelected, Skipped, Transform, Unchanged
from migrator.errors import UsageError

PythonItem = Mapping[str, Any]
_TABLE = "table"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided. Items and values are Python values: numbers are Decimals, which equal ints.

    `outcome` "changed" comes with `set` and `remove`; "skipped" and "failed" with `reason`, the latter with its stable
    `code` too. `item` is the item afterwards, which is the given one unless it changed.
    """

    outcome: Literal["changed", "unchanged", "not-selected", "skipped", "failed"]
    item: dict[str, Any]
    set: dict[str, Any] = field(default_factory=dict)
    remove: frozenset[str] = frozenset()
    guarded: frozenset[str] = frozenset()
    """Attributes that must be as they were read when the write arrives."""
    looked_up: tuple[str, ...] = ()
    """Keys of other items that must be as they were read, or absent as they were."""
    code: str = ""
    reason: str = ""


def decide(
    step: Operation | Transform | Callable[..., Mapping[str, Any] | None],
    item: PythonItem,
    *,
    beside: Iterable[PythonItem] = (),
    key: Sequence[str] = ("PK", "SK"),
    indexes: Iterable[Operation] = (),
    elsewhere: Mapping[str, tuple[Sequence[str], Iterable[PythonItem]]] | None = None,
) -> Decision:
    """What an operation (a Backfill, a RenameAttribute, …), or a function for one, does to `item`.

    `key` names the table's key. A lookup finds the items of `beside`, which are in the same table, and those of
    `elsewhere`: alias -> (names of its key, items). `indexes` are AddIndex operations whose key types the result must
    satisfy. Raises UsageError where `step` changes no items one by one, or an item lacks its key.
    """
    table = Table(_TABLE, KeyAttribute(key[0]), KeyAttribute(key[1]) if len(key) > 1 else None)
    schema = Schema({_TABLE: table}, _TABLE)
    for index in indexes:
        schema = index.plan(_called(schema, index)).after
    others = {_TABLE: _Others(tuple(key), tuple(map(_wire, [item, *beside])))}
    for alias, (names, items) in (elsewhere or {}).items():
        others[alias] = _Others(tuple(names), tuple(map(_wire, items)))
    for alias, one in others.items():
        one.refuse_incomplete(alias)
    wire = _wire(item)
    index_keys = schema.table(_TABLE).index_key_types()
    found = Decider(_transform(step, schema), _TABLE, tuple(key), index_keys, _Reads(others)).decide(wire)
    before = _python(wire)
    match found:
        case Decided(change):
            return Decision(
                "changed",
                _python(change.applied_to(wire)),
                set=_python(change.set),
                remove=change.remove,
                guarded=frozenset(change.guard),
                looked_up=tuple(key_text(check.key) for check in change.checks),
            )
        case Unchanged():
            return Decision("unchanged", before)
        case NotSelected():
            return Decision("not-selected", before)
        case Skipped(absent):
            return Decision("skipped", before, reason=f"it has no {absent}")
        case Failed(code, message):
            return Decision("failed", before, code=code, reason=message)
    assert_never(found)


def _transform(step: object, schema: Schema) -> Transform:
    if isinstance(step, Transform):
        return step
    if isinstance(step, Operation):
        found = [one.transform for one in step.plan(_called(schema, step)).apply if isinstance(one, TransformItems)]
        if len(found) == 1:
            return found[0]
    elif callable(step):
        return Transform(function=step)
    raise UsageError(
        "nothing-to-decide",
        f"{type(step).__name__} does not change items one by one",
        hint="give decide() a Backfill, RenameAttribute or RemoveAttributes, or the function of a Backfill",
    )


def _called(schema: Schema, operation: Operation) -> Schema:
    """The same table, also under the alias by which the operation calls it."""
    alias = getattr(operation, "table", "") or _TABLE
    return Schema({**schema.tables, alias: schema.table(_TABLE)}, _TABLE)


def _wire(item: PythonItem) -> dict[str, AttributeValue]:
    return {name: from_python(value, name) for name, value in item.items()}


def _python(item: Item) -> dict[str, Any]:
    return {name: to_python(value) for name, value in item.items()}


@dataclass(frozen=True, slots=True)
class _Others:
    """The items of one table, for lookups."""

    key: tuple[str, ...]
    items: tuple[Item, ...]

    def refuse_incomplete(self, alias: str) -> None:
        for item in self.items:
            missing = [name for name in self.key if name not in item]
            if missing:
                raise UsageError(
                    "no-key",
                    f"an item of {alias} has no {', '.join(missing)}: {sorted(item)}",
                    hint='decide(…, key=("id",)) names the key of the table, which is ("PK", "SK") otherwise',
                )

    def under(self, partition: Key) -> list[Item]:
        name = self.key[0]
        found = [item for item in self.items if same_item({name: item[name]}, partition)]
        return sorted(found, key=lambda item: to_python(item[self.key[-1]]))


@dataclass(frozen=True, slots=True)
class _Reads:
    """ReadItems over the given items."""

    tables: Mapping[str, _Others]

    def _table(self, alias: str) -> _Others:
        if alias not in self.tables:
            raise UsageError(
                "unknown-table",
                f"the function looks into table {alias!r}",
                hint=f"give its key and its items: decide(…, elsewhere={{{alias!r}: (('PK', 'SK'), [...])}})",
            )
        return self.tables[alias]

    def get(self, alias: str, key: Key) -> Item | None:
        table = self._table(alias)
        return next((item for item in table.items if same_item(key_of(item, table.key), key)), None)

    def collection(self, alias: str, partition: Key, most: int) -> Sequence[Item]:
        return self._table(alias).under(partition)[:most]

    def key_names(self, alias: str) -> tuple[str, ...]:
        return self._table(alias).key

    def physical(self, alias: str) -> str:
        return alias
