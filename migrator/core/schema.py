"""The expected shape of tables: folded from migrations, compared with what DescribeTable says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from migrator.errors import UsageError

KeyType: TypeAlias = Literal["S", "N", "B"]


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """An attribute used in a key, with its type."""

    name: str
    type: KeyType = "S"

    def __str__(self) -> str:
        return self.name if self.type == "S" else f"{self.type}({self.name})"


def N(name: str) -> KeyAttribute:  # noqa: N802 - DynamoDB's own letter for the type
    """A key attribute of type number."""
    return KeyAttribute(name, "N")


def B(name: str) -> KeyAttribute:  # noqa: N802 - DynamoDB's own letter for the type
    """A key attribute of type binary."""
    return KeyAttribute(name, "B")


def key_attribute(name: str | KeyAttribute) -> KeyAttribute:
    """A plain name is a string attribute."""
    return name if isinstance(name, KeyAttribute) else KeyAttribute(name)


def key_attributes(
    names: str | KeyAttribute | Iterable[str | KeyAttribute] | None,
) -> tuple[KeyAttribute, ...]:
    """One name, several, or none, as key attributes in order."""
    if names is None:
        return ()
    if isinstance(names, str | KeyAttribute):
        return (key_attribute(names),)
    return tuple(key_attribute(name) for name in names)


@dataclass(frozen=True, slots=True)
class Projection:
    """KEYS_ONLY, INCLUDE with its attributes, or ALL."""

    type: Literal["KEYS_ONLY", "INCLUDE", "ALL"] = "ALL"
    attributes: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"INCLUDE [{', '.join(sorted(self.attributes))}]" if self.type == "INCLUDE" else self.type


def projection(spec: str | Iterable[str]) -> Projection:
    """ "ALL", "KEYS_ONLY" or a list of attributes."""
    if isinstance(spec, str):
        if spec not in ("ALL", "KEYS_ONLY"):
            raise UsageError("bad-projection", f"projection {spec!r}: give 'ALL', 'KEYS_ONLY' or a list of attributes")
        return Projection("ALL" if spec == "ALL" else "KEYS_ONLY")
    return Projection("INCLUDE", frozenset(spec))


@dataclass(frozen=True, slots=True)
class Throughput:
    """Units per second, provisioned or as the on-demand maximum."""

    read: int
    write: int

    def __str__(self) -> str:
        return f"{self.read} read, {self.write} write units"

    def covers(self, other: Throughput) -> bool:
        """Whether it is at least the other: warm throughput is a floor that only rises (facts §1.8)."""
        return self.read >= other.read and self.write >= other.write


NO_MAXIMUM = Throughput(-1, -1)
"""An on-demand maximum of -1 is none, and is how one is lifted (facts §1.8)."""


@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index as wanted or as found."""

    name: str
    partition_key: tuple[KeyAttribute, ...]
    sort_key: tuple[KeyAttribute, ...] = ()
    projection: Projection = field(default_factory=Projection)
    provisioned: Throughput | None = None
    on_demand_maximum: Throughput | None = None
    warm: Throughput | None = None

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        return self.partition_key + self.sort_key


@dataclass(frozen=True, slots=True)
class Table:
    """A table's expected shape. `arn` and `table_id` are known only for a live one."""

    alias: str
    partition_key: KeyAttribute
    sort_key: KeyAttribute | None = None
    indexes: Mapping[str, Index] = field(default_factory=dict)
    billing_mode: Literal["PAY_PER_REQUEST", "PROVISIONED"] = "PAY_PER_REQUEST"
    provisioned: Throughput | None = None

    @property
    def key(self) -> tuple[KeyAttribute, ...]:
        return (self.partition_key,) if self.sort_key is None else (self.partition_key, self.sort_key)

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.key)

    def with_index(self, index: Index) -> Table:
        return replace(self, indexes={**self.indexes, index.name: index})

    def without_index(self, name: str) -> Table:
        return replace(self, indexes={key: index for key, index in self.indexes.items() if key != name})

    def index_key_types(self) -> dict[str, dict[str, tuple[KeyType, Literal["partition", "sort"]]]]:
        """Attribute -> index name -> (type, role) over all indexes."""
        found: dict[str, dict[str, tuple[KeyType, Literal["partition", "sort"]]]] = {}
        for index in self.indexes.values():
            for attribute in index.partition_key:
                found.setdefault(attribute.name, {})[index.name] = (attribute.type, "partition")
            for attribute in index.sort_key:
                found.setdefault(attribute.name, {})[index.name] = (attribute.type, "sort")
        return found


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables a project names, by alias. A table that no migration created comes from DescribeTable.

    An empty alias means the project's `default_table`.
    """

    tables: Mapping[str, Table] = field(default_factory=dict)
    default: str = ""

    def alias(self, alias: str) -> str:
        return alias or self.default

    def table(self, alias: str) -> Table:
        alias = self.alias(alias)
        try:
            return self.tables[alias]
        except KeyError:
            known = ", ".join(sorted(self.tables)) or "none"
            raise UsageError(
                "unknown-table",
                f"no table {alias!r} here (known: {known})",
                hint=f"add [tables.{alias}] to migrator.toml, or a CreateTable before this revision",
            ) from None

    def with_table(self, table: Table) -> Schema:
        return replace(self, tables={**self.tables, table.alias: table})


def differences(live: Index, wanted: Index, table_key: Iterable[str]) -> tuple[str, ...]:
    """What differs between two definitions of an index, field by field; empty when they are the same.

    Order of projected attributes, key attributes listed as projected, and throughput (autoscaling) do not count.
    """
    found = []
    for name, left, right in (
        ("partition key", live.partition_key, wanted.partition_key),
        ("sort key", live.sort_key, wanted.sort_key),
    ):
        if left != right:
            found.append(f"{name}: live [{', '.join(map(str, left))}], wanted [{', '.join(map(str, right))}]")
    implied = frozenset(table_key) | {attribute.name for attribute in live.keys}
    shown = [Projection(p.type, p.attributes - implied) for p in (live.projection, wanted.projection)]
    # INCLUDE of nothing but keys projects what KEYS_ONLY projects, but the service keeps them apart: so do we.
    if shown[0] != shown[1]:
        found.append(f"projection: live {live.projection}, wanted {wanted.projection}")
    return tuple(found)
