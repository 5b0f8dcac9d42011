"""SetBillingMode: on demand, or provisioned with units for the table and each of its indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema, Table, Throughput
from migrator.core.settings import BillingMode
from migrator.errors import UsageError
from migrator.operations.arguments import Units, assign, choice, units
from migrator.operations.setting_plan import setting_plan
from migrator.operations.tables import error, unknown_table


@dataclass(frozen=True, slots=True, init=False)
class SetBillingMode:
    """Switch a table to `PAY_PER_REQUEST`, or to `PROVISIONED` with (read, write) for it and for every index."""

    mode: Literal["PAY_PER_REQUEST", "PROVISIONED"]
    provisioned: Throughput | None = None
    indexes: tuple[tuple[str, Throughput], ...] = ()
    table: str = ""

    def __init__(
        self,
        mode: Literal["PAY_PER_REQUEST", "PROVISIONED"],
        *,
        provisioned: Units | None = None,
        indexes: Mapping[str, Units] = {},
        table: str = "",
    ):
        choice("mode", mode, ("PAY_PER_REQUEST", "PROVISIONED"))
        if mode == "PROVISIONED" and provisioned is None:
            raise UsageError("bad-option", "SetBillingMode: PROVISIONED needs provisioned=(read, write)")
        if mode == "PAY_PER_REQUEST" and (provisioned is not None or indexes):
            raise UsageError("bad-option", "SetBillingMode: PAY_PER_REQUEST takes no units")
        each = {name: units(f"indexes {name}", given) for name, given in indexes.items()}
        assign(
            self,
            mode=mode,
            provisioned=units("provisioned", provisioned),
            indexes=tuple(sorted((name, given) for name, given in each.items() if given is not None)),
            table=table,
        )

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing or self.mode == "PAY_PER_REQUEST":
            return missing
        table = schema.table(self.table)
        given = {name for name, _ in self.indexes}
        return (
            *(
                error(
                    "throughput-missing",
                    f"index {name} of {table.alias} needs units too: a table and its indexes switch together",
                    f"add indexes={{{name!r}: (read, write)}}",
                )
                for name in sorted(table.indexes.keys() - given)
            ),
            *(
                error("unknown-index", f"table {table.alias} has no index {name} at this revision")
                for name in sorted(given - table.indexes.keys())
            ),
        )

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        return setting_plan(
            schema,
            self.table,
            BillingMode(self.mode, self.provisioned, self.indexes),
            "a table may be switched to on demand four times in 24 hours; a switch takes a few minutes",
            "on-demand maximums are dropped by a switch to provisioned"
            if self.mode == "PROVISIONED"
            else "provisioned units, and what autoscaling made of them, are dropped by the switch",
            after=schema.with_table(self._switched(table)),
        )

    def _switched(self, table: Table) -> Table:
        given = dict(self.indexes)
        return replace(
            table,
            billing_mode=self.mode,
            provisioned=self.provisioned,
            indexes={
                name: replace(
                    index,
                    provisioned=given.get(name),
                    on_demand_maximum=index.on_demand_maximum if self.mode == "PAY_PER_REQUEST" else None,
                )
                for name, index in table.indexes.items()
            },
        )
