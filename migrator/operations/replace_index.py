"""ReplaceIndex: a new definition under a new name, ready before the readers move, and the old one dropped after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan, Stage
from migrator.core.schema import Schema
from migrator.errors import UsageError
from migrator.operations.add_index import AddIndex
from migrator.operations.arguments import Keys, Units, assign
from migrator.operations.tables import error, unknown_table


@dataclass(frozen=True, slots=True, init=False)
class ReplaceIndex:
    """Build `new` as given, ask whether the readers have moved, then delete `old`.

    An index cannot be changed in place but for its throughput: a change of key or projection is this.
    """

    old: str
    new: AddIndex

    def __init__(
        self,
        old: str,
        new: str,
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
        if old == new:
            raise UsageError(
                "bad-option",
                f"ReplaceIndex: the new definition needs a name of its own beside {old}",
                hint="readers move from one to the other while both stand",
            )
        made = AddIndex(
            new,
            partition_key=partition_key,
            sort_key=sort_key,
            projection=projection,
            provisioned=provisioned,
            on_demand_maximum=on_demand_maximum,
            warm_throughput=warm_throughput,
            unindexable=unindexable,
            table=table,
        )
        assign(self, old=old, new=made)

    @property
    def table(self) -> str:
        return self.new.table

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        found = list(self.new.lint(schema))
        if self.old not in table.indexes:
            known = ", ".join(sorted(table.indexes)) or "none"
            found.append(error("unknown-index", f"{table.alias} has no index {self.old} (known: {known})"))
        return tuple(found)

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        adding = self.new.plan(schema)
        after = adding.after.table(self.table).without_index(self.old)
        return Plan(
            after=adding.after.with_table(after),
            apply=adding.apply,
            rollback=adding.rollback,
            stages=(
                Stage(
                    "complete",
                    f"Does every running reader use {self.new.name}, and none {self.old}?",
                    (steps.DeleteIndex(table.alias, self.old),),
                    irreversible=f"{self.old} is deleted: another revision builds it anew",
                ),
            ),
            notes=adding.notes,
        )
