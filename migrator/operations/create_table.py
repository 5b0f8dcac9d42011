"""CreateTable: a new table with all its indexes in one call, or the adoption of one that is equal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Index, KeyAttribute, Schema, Table, differences, key_attribute
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.errors import UsageError
from migrator.operations.add_index import AddIndex
from migrator.operations.arguments import Units, assign, attribute_name, choice, units
from migrator.operations.index_rules import MAX_KEY_NAME_BYTES, index_findings
from migrator.operations.tables import error, note

StreamView: TypeAlias = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
STREAM_VIEWS = ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")


@dataclass(frozen=True, slots=True, init=False)
class CreateTable:
    """Create a table with its indexes. Its way back leaves the table: this tool never deletes one.

    On demand unless `provisioned=(read, write)` is given. `ttl` names the attribute that items expire by. A setting
    that is left out stays as the service makes it.
    """

    shape: Table
    settings: tuple[Setting, ...] = ()

    def __init__(
        self,
        table: str = "",
        *,
        partition_key: str | KeyAttribute,
        sort_key: str | KeyAttribute | None = None,
        indexes: Iterable[Index | AddIndex] = (),
        provisioned: Units | None = None,
        ttl: str | None = None,
        stream: StreamView | None = None,
        point_in_time_recovery: bool | None = None,
        deletion_protection: bool | None = None,
    ):
        settings: list[Setting] = []
        if ttl is not None:
            attribute_name("ttl", ttl)
            settings.append(TimeToLive(ttl))
        if stream is not None:
            choice("stream", stream, STREAM_VIEWS)
            settings.append(Stream(stream))
        if point_in_time_recovery is not None:
            settings.append(PointInTimeRecovery(point_in_time_recovery))
        if deletion_protection is not None:
            settings.append(DeletionProtection(deletion_protection))
        throughput = units("provisioned", provisioned)
        shape = Table(
            alias=table,
            partition_key=key_attribute(partition_key),
            sort_key=None if sort_key is None else key_attribute(sort_key),
            indexes=_by_name(table, indexes),
            billing_mode="PAY_PER_REQUEST" if throughput is None else "PROVISIONED",
            provisioned=throughput,
        )
        assign(self, shape=shape, settings=tuple(settings))

    @property
    def table(self) -> str:
        return self.shape.alias

    def _resolved(self, schema: Schema) -> Table:
        return replace(self.shape, alias=schema.alias(self.shape.alias))

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        wanted = self._resolved(schema)
        if not wanted.alias:
            return (error("unknown-table", "the operation names no table and the project has no default_table"),)
        existing = schema.tables.get(wanted.alias)
        if existing is not None:
            return _compared(existing, wanted)
        found = list(_key_findings(wanted))
        grown = replace(wanted, indexes={})
        for index in wanted.indexes.values():
            found += index_findings(grown, index)
            grown = grown.with_index(index)
        return tuple(found)

    def plan(self, schema: Schema) -> Plan:
        wanted = self._resolved(schema)
        existing = schema.tables.get(wanted.alias)
        return Plan(
            after=schema.with_table(wanted if existing is None else existing),
            apply=(steps.CreateTable(wanted.alias, wanted, self.settings),),
            notes=("the way back leaves the table and everything in it: this tool never deletes a table",),
        )


def _by_name(table: str, indexes: Iterable[Index | AddIndex]) -> dict[str, Index]:
    found: dict[str, Index] = {}
    for given in indexes:
        if isinstance(given, AddIndex) and given.table not in ("", table):
            raise UsageError(
                "bad-option", f"index {given.name} names table {given.table!r} inside CreateTable {table!r}"
            )
        index = given.index if isinstance(given, AddIndex) else given
        if index.name in found:
            raise UsageError("bad-option", f"CreateTable: index {index.name} is given twice")
        found[index.name] = index
    return found


def _key_findings(table: Table) -> tuple[Finding, ...]:
    found = []
    if len(set(table.key_names)) < len(table.key_names):
        found.append(
            error("repeated-key-attribute", f"table {table.alias} has {table.key_names[0]!r} twice in its key")
        )
    found += [
        error("key-attribute-name", f"table {table.alias}: a key attribute's name has 1 to 255 bytes, not {name!r}")
        for name in table.key_names
        if not 1 <= len(name.encode()) <= MAX_KEY_NAME_BYTES
    ]
    return tuple(found)


def _compared(existing: Table, wanted: Table) -> tuple[Finding, ...]:
    different = []
    if existing.key != wanted.key:
        shown = [", ".join(map(str, table.key)) for table in (existing, wanted)]
        different.append(f"key: live [{shown[0]}], wanted [{shown[1]}]")
    for name, index in sorted(wanted.indexes.items()):
        live = existing.indexes.get(name)
        if live is None:
            different.append(f"index {name} is missing")
        else:
            different += [f"index {name} {one}" for one in differences(live, index, existing.key_names)]
    if different:
        return (
            error(
                "table-differs",
                f"table {wanted.alias} exists and is not as wanted: {'; '.join(different)}",
                "a table's key cannot be changed: use another table; a missing index is added by AddIndex",
            ),
        )
    return (note("adopt", f"table {wanted.alias} exists as wanted and will be adopted"),)
