"""AddIndex: a global secondary index, built online and watched until it is ready."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Index, Schema, Table, differences
from migrator.operations import index_spec
from migrator.operations.arguments import Keys, Units, assign, choice
from migrator.operations.index_rules import index_findings
from migrator.operations.tables import error, note, unknown_table


@dataclass(frozen=True, slots=True, init=False)
class AddIndex:
    """Add a global secondary index. One that stands there with the same definition is adopted.

    `unindexable="refuse"` stops before the build where items hold key values that the index would leave out (wrong
    type, NULL, empty, too long); items that lack a key attribute are merely not in it.
    """

    index: Index
    unindexable: Literal["refuse", "allow"] = "refuse"
    table: str = ""

    def __init__(
        self,
        name: str,
        *,
        partition_key: Keys,
        sort_key: Keys | None = None,
        projection: str | Iterable[str] = "ALL",
        provisioned: Units | None = None,
        on_demand_maximum: Units | None = None,
        warm_throughput: Units | None = None,
        unindexable: Literal["refuse", "allow"] = "refuse",
        table: str = "",
    ):
        choice("unindexable", unindexable, ("refuse", "allow"))
        index = index_spec.Index(
            name,
            partition_key=partition_key,
            sort_key=sort_key,
            projection=projection,
            provisioned=provisioned,
            on_demand_maximum=on_demand_maximum,
            warm_throughput=warm_throughput,
        )
        assign(self, index=index, unindexable=unindexable, table=table)

    @property
    def name(self) -> str:
        return self.index.name

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        existing = table.indexes.get(self.name)
        if existing is None:
            return index_findings(table, self.index)
        different = differences(existing, self.index, table.key_names)
        if different:
            return (
                error(
                    "index-differs",
                    f"index {self.name} of {table.alias} exists with another definition: {'; '.join(different)}",
                    "an index cannot be changed in place: add it under another name, move the readers, drop the old",
                ),
            )
        return (note("adopt", f"index {self.name} of {table.alias} exists as wanted and will be adopted"),)

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        return Plan(
            after=schema.with_table(table.with_index(self.index)),
            apply=(steps.CreateIndex(table.alias, self.index, self.unindexable),),
            rollback=(steps.DeleteIndex(table.alias, self.name, undoes=True),),
            notes=self._notes(table),
        )

    def _notes(self, table: Table) -> tuple[str, ...]:
        own = [key for key in self.index.keys if key.name not in table.key_names]
        found = []
        if own:
            shown = ", ".join(f"{key.name} ({key.type})" for key in own)
            found.append(
                f"once {self.name} exists, DynamoDB refuses every write that stores another type, NULL, an empty or a "
                f"too long value in {shown}: check the writers first"
            )
            lacking = " or ".join(key.name for key in own)
            found.append(f"{self.name} is sparse: items without {lacking} are not in it")
        if self.unindexable == "allow":
            found.append(f"items whose key values cannot be indexed are listed and left out of {self.name}")
        found.append("a build takes minutes even on an empty table; writes to the index during it are charged to it")
        return tuple(found)
