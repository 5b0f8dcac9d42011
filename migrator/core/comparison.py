"""Two tables, field by field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from migrator.core.declared import DeclaredTable
from migrator.core.schema import Index, KeyAttribute, Projection

ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one object that is not the same on both sides."""

    alias: str
    object: str
    """`table`, `index NAME` or `setting NAME`."""
    field: str
    """"" where the object as a whole is on one side only."""
    left: str
    right: str


def compare(
    left: Mapping[str, DeclaredTable], right: Mapping[str, DeclaredTable], *, units: bool
) -> tuple[Difference, ...]:
    """Every difference, by alias. `units`: also throughput, which autoscaling may have moved.

    Of settings only those count of which both sides speak. Order of projected attributes and key attributes that are
    listed as projected are no difference.
    """
    found: list[Difference] = []
    for alias in sorted({*left, *right}):
        one, other = left.get(alias), right.get(alias)
        if one is None or other is None:
            found.append(
                Difference(alias, "table", "", *(ABSENT if side is None else "exists" for side in (one, other)))
            )
        else:
            found += _table(alias, one, other, units=units)
    return tuple(found)


def _table(alias: str, left: DeclaredTable, right: DeclaredTable, *, units: bool) -> Iterable[Difference]:
    pairs: list[tuple[str, object, object]] = [
        ("key", _keys(left.shape.key), _keys(right.shape.key)),
        ("billing mode", left.shape.billing_mode, right.shape.billing_mode),
    ]
    if units:
        pairs += [
            ("provisioned", left.shape.provisioned, right.shape.provisioned),
            ("local indexes", ", ".join(left.local_indexes), ", ".join(right.local_indexes)),
            ("replicas", ", ".join(left.replicas), ", ".join(right.replicas)),
        ]
    yield from _different(alias, "table", pairs)
    for name in sorted({*left.shape.indexes, *right.shape.indexes}):
        one, other = left.shape.indexes.get(name), right.shape.indexes.get(name)
        if one is None or other is None:
            yield Difference(alias, f"index {name}", "", _index(one), _index(other))
        else:
            yield from _different(alias, f"index {name}", _fields(one, other, left.shape.key_names, units=units))
    for name in sorted(left.settings.keys() & right.settings.keys()):
        if left.settings[name] != right.settings[name]:
            yield Difference(alias, f"setting {name}", "", str(left.settings[name]), str(right.settings[name]))


def _different(alias: str, name: str, pairs: Iterable[tuple[str, object, object]]) -> Iterable[Difference]:
    for field, one, other in pairs:
        if one != other:
            yield Difference(alias, name, field, _shown(one), _shown(other))


def _fields(
    left: Index, right: Index, table_key: tuple[str, ...], *, units: bool
) -> Iterable[tuple[str, object, object]]:
    yield "partition key", _keys(left.partition_key), _keys(right.partition_key)
    yield "sort key", _keys(left.sort_key), _keys(right.sort_key)
    implied = frozenset(table_key) | {key.name for key in left.keys}
    yield (
        "projection",
        Projection(left.projection.type, left.projection.attributes - implied),
        Projection(right.projection.type, right.projection.attributes - implied),
    )
    if units:
        yield "provisioned", left.provisioned, right.provisioned
        yield "on-demand maximum", left.on_demand_maximum, right.on_demand_maximum


def _index(index: Index | None) -> str:
    if index is None:
        return ABSENT
    keys = " / ".join(_keys(part) for part in (index.partition_key, index.sort_key) if part)
    return f"({keys}), {index.projection}"


def _keys(keys: Iterable[KeyAttribute]) -> str:
    return ", ".join(map(str, keys))


def _shown(value: object) -> str:
    return ABSENT if value is None or value == "" else str(value)
